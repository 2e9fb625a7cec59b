package ipc

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
)

// TestConnectionsEndWhenThePeersMachineDoesNotAcknowledge sets Options.Dial, as the
// ApplicationMaster does for NodeManagers. The timeout must apply to the connections that
// Options.Dial opens, too.
func TestConnectionsEndWhenThePeersMachineDoesNotAcknowledge(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	dialed := make(chan net.Conn, 1)
	opened := make(chan error, 1)
	go func() {
		_, err := open(t.Context(), listener.Addr().String(), newClientID(), security.Token{}, Options{
			Simple: true,
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
				dialed <- conn
				return conn, err
			},
		}.withDefaults())
		opened <- err
	}()
	server, err := listener.Accept()
	require.NoError(t, err)
	defer func() { _ = server.Close() }()
	_, err = io.ReadFull(server, make([]byte, 4)) // the client has begun to use the connection
	require.NoError(t, err)

	require.NoError(t, <-opened)
	conn := <-dialed
	defer func() { _ = conn.Close() }()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	var bound int
	require.NoError(t, raw.Control(func(fd uintptr) {
		bound, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
	}))
	require.NoError(t, err)
	assert.EqualValues(t, unacknowledgedTimeout.Milliseconds(), bound)
}
