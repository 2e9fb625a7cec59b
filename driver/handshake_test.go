package driver

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/credentials"
)

// slowCredentials' handshakes last until they are told to end.
type slowCredentials struct {
	credentials.TransportCredentials
	begun *atomic.Int32
	end   chan struct{}
}

func (c slowCredentials) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c.begun.Add(1)
	<-c.end
	return nil, nil, nil
}

func TestHandshakesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int32
		slow := slowCredentials{begun: &begun, end: make(chan struct{})}
		c := takingTurns(slow)
		var all sync.WaitGroup
		for range 3 * handshakes {
			all.Go(func() { _, _, _ = c.ServerHandshake(nil) })
		}
		time.Sleep(handshakeShare / 2)
		synctest.Wait()
		require.EqualValues(t, handshakes, begun.Load(), "as many as there are places")
		time.Sleep(handshakeShare)
		synctest.Wait()
		require.EqualValues(t, 2*handshakes, begun.Load(), "slow ones do not hold up the others")
		close(slow.end)
		all.Wait()
		require.EqualValues(t, 3*handshakes, begun.Load())
		require.Empty(t, c.places, "every place was given back once")
	})
}
