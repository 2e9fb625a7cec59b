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
	// connectTimeout limits how long one connection may take to be established.
	connectTimeout = 5 * time.Second
	// connectBackoff is gRPC's pause before it retries a connection. It is shorter than the
	// pauses of the callers, which retry too.
	connectBackoff = 100 * time.Millisecond
)

// Masters has the addresses of a cluster's known masters, and connections to the masters that
// were called. It is safe for concurrent use.
type Masters struct {
	dial []grpc.DialOption

	mu          sync.Mutex
	addresses   []string // host:port; the last known leader first
	connections map[string]*grpc.ClientConn
	closed      bool
}

var errMastersClosed = errors.New("the connections to masters are closed")

// NewMasters returns Masters with the addresses, host:port. dial has gRPC's dial options,
// which contain the credentials (Credentials.DialOptions).
func NewMasters(addresses []string, dial []grpc.DialOption) *Masters {
	return &Masters{addresses: slices.Clone(addresses), dial: dial, connections: map[string]*grpc.ClientConn{}}
}

// All returns the masters' addresses. The first is that of the last known leader.
func (m *Masters) All() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.addresses)
}

// Learn adds a master, and reports whether the address was unknown. It ignores "".
func (m *Masters) Learn(address string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if address == "" || slices.Contains(m.addresses, address) {
		return false
	}
	m.addresses = append(m.addresses, address)
	return true
}

// Prefer records that the master at an address leads. It ignores unknown addresses.
func (m *Masters) Prefer(address string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.Index(m.addresses, address); i > 0 {
		m.addresses = slices.Insert(slices.Delete(m.addresses, i, i+1), 0, address)
	}
}

// Connection returns the connection to a master, which is established when it is first used.
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

// Close closes the connections.
func (m *Masters) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for _, connection := range m.connections {
		_ = connection.Close()
	}
	clear(m.connections)
}
