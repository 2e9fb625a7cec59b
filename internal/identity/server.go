package identity

import (
	"context"
	"crypto/tls"
	"encoding/base64"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// authorization is the header in which a call shows the secret, base64 after
// bearer.
const (
	authorization = "authorization"
	bearer        = "Bearer "
)

// ServerCredentials are the driver's side of every connection: TLS 1.3 with
// the identity's certificate.
func (i *Identity) ServerCredentials() credentials.TransportCredentials {
	return credentials.NewTLS(&tls.Config{
		Certificates:     []tls.Certificate{i.certificate},
		MinVersion:       tls.VersionTLS13,
		CurvePreferences: keyExchange,
		// An executor connects once, and full records carry large results faster.
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true,
	})
}

// ServerOptions make a gRPC server of this identity: encrypted, and deaf to
// whoever does not show the secret.
func (i *Identity) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(i.ServerCredentials()),
		grpc.ChainUnaryInterceptor(i.interceptUnary),
		grpc.ChainStreamInterceptor(i.interceptStream),
	}
}

func (i *Identity) interceptUnary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := i.authenticate(ctx); err != nil {
		return nil, err
	}
	return next(ctx, request)
}

func (i *Identity) interceptStream(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if err := i.authenticate(stream.Context()); err != nil {
		return err
	}
	return next(service, stream)
}

func (i *Identity) authenticate(ctx context.Context) error {
	headers, _ := metadata.FromIncomingContext(ctx)
	shown := headers.Get(authorization)
	if len(shown) == 1 && len(shown[0]) > len(bearer) && shown[0][:len(bearer)] == bearer {
		secret, err := base64.StdEncoding.DecodeString(shown[0][len(bearer):])
		if err == nil && sameSecret(secret, &i.secret) {
			return nil
		}
	}
	return status.Error(codes.Unauthenticated, "the application's secret is missing or is another application's")
}
