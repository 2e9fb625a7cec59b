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
	// connectBackoff is between two tries of a connection; who calls has a pause
	// of his own.
	connectBackoff = 100 * time.Millisecond
)

// Masters are those that a worker, an application or a client knows, with a
// connection to each that was called. They are safe for concurrent use.
type Masters struct {
	dial []grpc.DialOption

	mu          sync.Mutex
	addresses   []string // host:port; the one that led last is the first
	connections map[string]*grpc.ClientConn
	closed      bool
}

var errMastersClosed = errors.New("the connections to masters are closed")

// NewMasters knows the masters at the addresses, host:port. dial are the cluster's
// credentials (Credentials.DialOptions).
func NewMasters(addresses []string, dial []grpc.DialOption) *Masters {
	return &Masters{addresses: slices.Clone(addresses), dial: dial, connections: map[string]*grpc.ClientConn{}}
}

// All are the addresses, that of the last leader first.
func (m *Masters) All() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.addresses)
}

// Learn adds a master of which another has told; "" is none. It reports whether
// it is new.
func (m *Masters) Learn(address string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if address == "" || slices.Contains(m.addresses, address) {
		return false
	}
	m.addresses = append(m.addresses, address)
	return true
}

// Prefer has a master that is known tried first from now on, as it leads.
func (m *Masters) Prefer(address string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at := slices.Index(m.addresses, address); at > 0 {
		m.addresses = slices.Insert(slices.Delete(m.addresses, at, at+1), 0, address)
	}
}

// Connection is the one to a master; it is made where there is none, and
// connects when it is used. It stays the Masters' to close.
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
