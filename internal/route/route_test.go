package route

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSource(t *testing.T) {
	address, err := SourceIP(t.Context(), []string{"no port", "127.0.0.1:7077"})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", address.String())

	_, err = SourceIP(t.Context(), []string{"no port", "127.0.0.1:no number"})
	require.ErrorContains(t, err, "no port")
	require.ErrorContains(t, err, "no number")

	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = SourceIP(over, []string{"a.name.to.look.for:1"})
	require.ErrorContains(t, err, "a.name.to.look.for")
}
