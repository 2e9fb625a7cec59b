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

// Each call contains the secret in the header "authorization", as a base64 bearer token.
const (
	authorization = "authorization"
	bearer        = "Bearer "
)

// ServerCredentials returns TLS 1.3 credentials with the identity's certificate.
func (i *Identity) ServerCredentials() credentials.TransportCredentials {
	return credentials.NewTLS(&tls.Config{
		Certificates:     []tls.Certificate{i.certificate},
		MinVersion:       tls.VersionTLS13,
		CurvePreferences: keyExchange,
		// An executor connects once, so it needs no session tickets. TLS records of full size
		// from the start suit large results.
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true,
	})
}

// ServerOptions returns gRPC options that enable TLS and reject calls without the secret.
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
	received := headers.Get(authorization)
	if len(received) == 1 && len(received[0]) > len(bearer) && received[0][:len(bearer)] == bearer {
		secret, err := base64.StdEncoding.DecodeString(received[0][len(bearer):])
		if err == nil && sameSecret(secret, &i.secret) {
			return nil
		}
	}
	return status.Error(codes.Unauthenticated, "the application's secret is missing or is another application's")
}
