package driver

import (
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
)

const (
	// handshakes is how many connections are being set up at once. When thousands
	// of executors come together, the first of them are to get through while the
	// others wait, as all of them in step would be late together.
	handshakes = 256
	// handshakeShare is after how long a slow connection gives its place to the
	// next one, and goes on beside it.
	handshakeShare = time.Second
)

// inTurn are credentials whose server handshakes take turns.
type inTurn struct {
	credentials.TransportCredentials
	places chan struct{}
}

func takingTurns(c credentials.TransportCredentials) *inTurn {
	return &inTurn{TransportCredentials: c, places: make(chan struct{}, handshakes)}
}

// ServerHandshake waits for its turn. The server closes connections that took
// too long, and all of them when it stops, which ends their handshakes.
func (c *inTurn) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c.places <- struct{}{}
	var left sync.Once
	leave := func() { left.Do(func() { <-c.places }) }
	defer leave()
	defer time.AfterFunc(handshakeShare, leave).Stop()
	return c.TransportCredentials.ServerHandshake(raw)
}

// Clone is of the same turns.
func (c *inTurn) Clone() credentials.TransportCredentials {
	return &inTurn{TransportCredentials: c.TransportCredentials.Clone(), places: c.places}
}
