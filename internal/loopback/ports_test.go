package loopback

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReservedPort(t *testing.T) {
	ports := &Ports{}
	defer func() { require.NoError(t, ports.Release()) }()
	address, err := ports.Reserve("127.0.0.1")
	require.NoError(t, err)
	other, err := ports.Reserve("127.0.0.1")
	require.NoError(t, err)
	assert.NotEqual(t, address, other)
	for range 2 { // listen twice: the port stays reserved
		listener, err := net.Listen("tcp", address)
		require.NoError(t, err)
		connection, err := net.Dial("tcp", address)
		require.NoError(t, err)
		require.NoError(t, connection.Close())
		require.NoError(t, listener.Close())
		_, err = net.Dial("tcp", address)
		require.Error(t, err, "nobody listens")
	}
}

func TestOnlyLoopbackIsReserved(t *testing.T) {
	for _, host := range []string{"10.0.0.1", "::1", "localhost", ""} {
		_, err := (&Ports{}).Reserve(host)
		assert.ErrorContains(t, err, "is not an IPv4 loopback address", host)
	}
}
