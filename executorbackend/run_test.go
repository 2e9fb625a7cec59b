package executorbackend

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestConnectionBroke(t *testing.T) {
	for _, test := range []struct {
		err   error
		broke bool
	}{
		{status.Error(codes.Unavailable, "error reading from server: EOF"), true},
		{exitError(ExitDisconnected, "lost: %w", status.Error(codes.Unavailable, "keepalive ping failed")), true},
		{status.Error(codes.Unavailable, `dial tcp 127.0.0.1:1: connect: connection refused`), false}, // the driver has ended
		{status.Error(codes.Unauthenticated, "the secret is wrong"), false},
		{errors.New("the driver takes no messages"), false},
		{nil, false},
	} {
		require.Equal(t, test.broke, connectionBroke(test.err), "%v", test.err)
	}
}
