package protocol

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

const (
	// connectTimeout bounds the set-up of one connection.
	connectTimeout = 5 * time.Second
	// connectBackoff is the pause before a connection is retried, shorter than callers'
	// own pauses.
	connectBackoff = 100 * time.Millisecond
)

// Masters are a cluster's known masters, and connections to those that were called.
// Masters is safe for concurrent use.
type Masters struct {
	dial []grpc.DialOption

	mu          sync.Mutex
	addresses   []string // host:port; the last known leader first
	connections map[string]*grpc.ClientConn
	closed      bool
}

var errMastersClosed = errors.New("the connections to masters are closed")

// NewMasters returns the masters at the addresses, host:port, with credentials
// (Credentials.DialOptions).
func NewMasters(addresses []string, dial []grpc.DialOption) *Masters {
	return &Masters{addresses: slices.Clone(addresses), dial: dial, connections: map[string]*grpc.ClientConn{}}
}

// All returns the masters' addresses, beginning with the last known leader.
func (m *Masters) All() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.addresses)
}

// Learn adds a master and reports whether it was unknown; "" is ignored.
func (m *Masters) Learn(address string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if address == "" || slices.Contains(m.addresses, address) {
		return false
	}
	m.addresses = append(m.addresses, address)
	return true
}

// Prefer notes that the master at a known address leads.
func (m *Masters) Prefer(address string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.Index(m.addresses, address); i > 0 {
		m.addresses = slices.Insert(slices.Delete(m.addresses, i, i+1), 0, address)
	}
}

// Connection returns the connection to a master, to be connected by its first use.
// The caller must not close it.
func (m *Masters) Connection(address string) (*grpc.ClientConn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, fmt.Errorf("master %s: %w", address, errMastersClosed)
	}
	if connection := m.connections[address]; connection != nil {
		return connection, nil
	}
	connection, err := grpc.NewClient("passthrough:///"+address, append(slices.Clone(m.dial),
		grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: connectBackoff, Multiplier: 1, MaxDelay: connectBackoff},
			MinConnectTimeout: connectTimeout,
		}))...)
	if err != nil {
		return nil, fmt.Errorf("master %s: %w", address, err)
	}
	m.connections[address] = connection
	return connection, nil
}

// Close ends the connections.
func (m *Masters) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for _, connection := range m.connections {
		_ = connection.Close()
	}
	clear(m.connections)
}
