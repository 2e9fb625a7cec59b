package protocol

import (
	"context"
	"net"

	"google.golang.org/grpc/credentials"
)

// transport makes connections secure with certificates as they are when each is
// made: gRPC would go on with those of the first.
type transport struct {
	credentials *Credentials
	server      bool
}

func (c *Credentials) transport(server bool) credentials.TransportCredentials {
	if c.files == nil {
		return transport{c, server}.now()
	}
	return transport{c, server}
}

func (t transport) now() credentials.TransportCredentials {
	if t.server {
		return credentials.NewTLS(t.credentials.serverConfig())
	}
	return credentials.NewTLS(t.credentials.clientConfig())
}

func (t transport) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := t.now().ClientHandshake(ctx, authority, raw)
	return secured, info, t.credentials.files.explain(err)
}

func (t transport) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := t.now().ServerHandshake(raw)
	return secured, info, t.credentials.files.explain(err)
}

func (t transport) Info() credentials.ProtocolInfo { return t.now().Info() }

func (t transport) Clone() credentials.TransportCredentials { return t }

// OverrideServerName is not used: masters are known by the names by which they
// are reached.
func (t transport) OverrideServerName(string) error { return nil }
