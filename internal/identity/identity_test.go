package identity

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type echo struct{ wire.UnimplementedDriverServer }

func (echo) Bootstrap(_ context.Context, request *wire.BootstrapRequest) (*wire.BootstrapReply, error) {
	return &wire.BootstrapReply{ApplicationId: request.GetExecutorId()}, nil
}

func (echo) Attach(stream grpc.BidiStreamingServer[wire.ExecutorMessage, wire.DriverMessage]) error {
	return stream.Send(&wire.DriverMessage{Registered: &wire.Registered{}})
}

func serve(t *testing.T, id *Identity) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(id.ServerOptions()...)
	wire.RegisterDriverServer(server, echo{})
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); <-ended })
	return listener.Addr().String()
}

// calls makes a unary and a streaming gRPC call and returns their errors.
func calls(t *testing.T, address string, options ...grpc.DialOption) (unary, stream error) {
	connection, err := grpc.NewClient(address, options...)
	require.NoError(t, err)
	defer func() { require.NoError(t, connection.Close()) }()
	client := wire.NewDriverClient(connection)
	_, unary = client.Bootstrap(t.Context(), &wire.BootstrapRequest{ExecutorId: "1"})
	attached, err := client.Attach(t.Context())
	if err != nil {
		return unary, err
	}
	_, stream = attached.Recv()
	return unary, stream
}

func newIdentity(t *testing.T) *Identity {
	id, err := New()
	require.NoError(t, err)
	return id
}

func parse(t *testing.T, encoded []byte) *Pass {
	pass, err := ParsePass(encoded)
	require.NoError(t, err)
	return pass
}

func TestPassGivesAccess(t *testing.T) {
	id := newIdentity(t)
	unary, stream := calls(t, serve(t, id), parse(t, id.Pass()).DialOptions()...)
	require.NoError(t, unary)
	require.NoError(t, stream)
}

func TestOtherSecretIsRefused(t *testing.T) {
	id := newIdentity(t)
	pass := parse(t, id.Pass())
	pass.secret[31] ^= 1
	unary, stream := calls(t, serve(t, id), pass.DialOptions()...)
	require.Equal(t, codes.Unauthenticated, status.Code(unary))
	require.Equal(t, codes.Unauthenticated, status.Code(stream))
}

func TestNoSecretIsRefused(t *testing.T) {
	address := serve(t, newIdentity(t))
	unary, stream := calls(t, address, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})))
	require.Equal(t, codes.Unauthenticated, status.Code(unary))
	require.Equal(t, codes.Unauthenticated, status.Code(stream))
}

func TestPlainTextAndOldTLSAreRefused(t *testing.T) {
	address := serve(t, newIdentity(t))
	for name, transport := range map[string]credentials.TransportCredentials{
		"plain":   insecure.NewCredentials(),
		"TLS 1.2": credentials.NewTLS(&tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}),
	} {
		unary, stream := calls(t, address, grpc.WithTransportCredentials(transport))
		require.Equal(t, codes.Unavailable, status.Code(unary), name)
		require.Equal(t, codes.Unavailable, status.Code(stream), name)
	}
}

func TestOtherDriverIsRefused(t *testing.T) {
	other, id := newIdentity(t), newIdentity(t)
	other.secret = id.secret
	unary, stream := calls(t, serve(t, other), parse(t, id.Pass()).DialOptions()...)
	for _, err := range []error{unary, stream} {
		require.Equal(t, codes.Unavailable, status.Code(err))
		require.ErrorContains(t, err, "not this application's driver")
	}
}

func TestSecretIsNotSentWithoutTLS(t *testing.T) {
	id := newIdentity(t)
	options := append(parse(t, id.Pass()).DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	_, err := grpc.NewClient("127.0.0.1:1", options...)
	require.ErrorContains(t, err, "require transport level security")
}

func TestSecretIsNotPrinted(t *testing.T) {
	id := newIdentity(t)
	pass := parse(t, id.Pass())
	var printed strings.Builder
	for _, logger := range []*slog.Logger{
		slog.New(slog.NewTextHandler(&printed, nil)), slog.New(slog.NewJSONHandler(&printed, nil)),
	} {
		logger.Info("x", "identity", id, "pass", pass, "value", *id, "passValue", *pass)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&printed, verb+verb+verb+verb, id, *id, pass, *pass)
	}
	encoded, err := json.Marshal([]any{id, pass})
	require.NoError(t, err)
	printed.Write(encoded)
	for _, form := range []string{
		string(id.secret[:]), hex.EncodeToString(id.secret[:]), base64.StdEncoding.EncodeToString(id.secret[:]),
		fmt.Sprint(id.secret), strings.Trim(fmt.Sprint(id.secret[:4]), "[]"), fmt.Sprintf("%#v", id.secret[:4])[8:24],
	} {
		require.NotContains(t, printed.String(), form)
	}
}

func TestDamagedPass(t *testing.T) {
	encoded := newIdentity(t).Pass()
	for name, bad := range map[string][]byte{
		"empty": nil, "short": encoded[:20], "no certificate": encoded[:len(passMagic)+secretBytes],
		"cut": encoded[:len(encoded)-1], "other version": append([]byte("bobbin\x00\x02"), encoded[len(passMagic):]...),
	} {
		_, err := ParsePass(bad)
		require.ErrorContains(t, err, "the pass to the driver", name)
	}
}

func FuzzParsePass(f *testing.F) {
	id, err := New()
	require.NoError(f, err)
	f.Add(id.Pass())
	f.Add([]byte(passMagic))
	f.Fuzz(func(t *testing.T, encoded []byte) { _, _ = ParsePass(encoded) })
}
