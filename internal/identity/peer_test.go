package identity

import (
	"crypto/tls"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// handshake connects a server and a client and returns the error of each. It includes the first
// message of the server, because only at its receipt does a client notice that the server
// rejected the client's certificate.
func handshake(t *testing.T, serverConfig, clientConfig *tls.Config) (serverErr, clientErr error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	served := make(chan error, 1)
	go func() {
		connection, err := listener.Accept()
		if err == nil {
			server := tls.Server(connection, serverConfig)
			if err = server.Handshake(); err == nil {
				_, err = server.Write([]byte("x"))
			}
			_ = server.Close()
		}
		served <- err
	}()
	connection, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	client := tls.Client(connection, clientConfig)
	if clientErr = client.Handshake(); clientErr == nil {
		_, clientErr = client.Read(make([]byte, 1))
	}
	require.NoError(t, connection.Close())
	return <-served, clientErr
}

func peer(t *testing.T, pass *Pass) *tls.Config {
	config, err := pass.PeerTLS()
	require.NoError(t, err)
	return config
}

func TestPeersOfOneApplicationConnect(t *testing.T) {
	encoded := newIdentity(t).Pass()
	serverErr, clientErr := handshake(t, peer(t, parse(t, encoded)), peer(t, parse(t, encoded)))
	require.NoError(t, serverErr)
	require.NoError(t, clientErr)
}

func TestPeersOfOtherApplicationsAreRefused(t *testing.T) {
	id := newIdentity(t)
	ours := peer(t, parse(t, id.Pass()))
	pass := parse(t, id.Pass())
	pass.secret[31] ^= 1
	theirs := peer(t, pass)
	// If one end does not verify the certificate of its peer, the peer's verification must
	// fail.
	careless := theirs.Clone()
	careless.VerifyConnection = nil
	_, clientErr := handshake(t, careless, ours)
	require.ErrorIs(t, clientErr, errOtherApplication)
	serverErr, clientErr := handshake(t, ours, careless)
	require.ErrorIs(t, serverErr, errOtherApplication)
	require.ErrorContains(t, clientErr, "bad certificate")

	// The certificate is public. A process that sends it must have the private key too.
	stolen := careless.Clone()
	stolen.Certificates = []tls.Certificate{{Certificate: ours.Certificates[0].Certificate, PrivateKey: theirs.Certificates[0].PrivateKey}}
	_, clientErr = handshake(t, stolen, ours)
	require.ErrorContains(t, clientErr, "invalid signature")
	serverErr, _ = handshake(t, ours, stolen)
	require.ErrorContains(t, serverErr, "invalid signature")

	none := careless.Clone()
	none.Certificates = nil
	serverErr, _ = handshake(t, ours, none)
	require.ErrorContains(t, serverErr, "didn't provide a certificate")

	old := ours.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	serverErr, _ = handshake(t, ours, old)
	require.ErrorContains(t, serverErr, "unsupported versions")
}
