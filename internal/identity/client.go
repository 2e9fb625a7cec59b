package identity

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// errOtherDriver is the error of a TLS handshake with a server other than the driver.
var errOtherDriver = errors.New("the server at the driver's address is not this application's driver " +
	"(its certificate is another one): the driver may have ended and its port been taken")

// DialOptions returns the options of a gRPC client that connects only to the driver whose
// certificate is in the pass, and sends the pass's secret with every call.
func (p *Pass) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
			ServerName:       serverName,
			MinVersion:       tls.VersionTLS13,
			CurvePreferences: keyExchange,
			// The certificate has no chain to check: VerifyConnection compares it with the
			// certificate in the pass. In TLS 1.3's handshake, the server proves that it has
			// the private key.
			InsecureSkipVerify:          true,
			VerifyConnection:            p.verify,
			DynamicRecordSizingDisabled: true,
		})),
		grpc.WithPerRPCCredentials(bearerSecret{p}),
	}
}

func (p *Pass) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) != 1 || !bytes.Equal(state.PeerCertificates[0].Raw, p.certificate) {
		return errOtherDriver
	}
	return nil
}

// bearerSecret sends the pass's secret with each call, as a bearer token.
type bearerSecret struct{ pass *Pass }

func (b bearerSecret) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{authorization: bearer + base64.StdEncoding.EncodeToString(b.pass.secret[:])}, nil
}

func (bearerSecret) RequireTransportSecurity() bool { return true }
