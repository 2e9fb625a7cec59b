package loopback

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
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
	for range 2 { // listen twice, because the port must still be reserved after the first listener closes
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

func TestReservedPrivilegedPorts(t *testing.T) {
	if os.Geteuid() != 0 {
		require.Empty(t, os.Getenv("CI"), "only root may bind ports below 1024")
		t.Skip("only root may bind ports below 1024")
	}
	mine, others := &Ports{}, &Ports{}
	defer func() { require.NoError(t, errors.Join(mine.Release(), others.Release())) }()
	address, err := mine.ReservePrivileged("127.0.0.1")
	require.NoError(t, err)
	other, err := others.ReservePrivileged("127.0.0.1")
	require.NoError(t, err)
	assert.NotEqual(t, address, other)
	for _, reserved := range []string{address, other} {
		port, err := strconv.Atoi(strings.TrimPrefix(reserved, "127.0.0.1:"))
		require.NoError(t, err)
		assert.Less(t, port, 1024)
		listener, err := net.Listen("tcp", reserved)
		require.NoError(t, err)
		require.NoError(t, listener.Close())
	}
}
