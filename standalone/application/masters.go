package application

import (
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

// masters are those that are known, with a connection to each that was called.
type masters struct {
	dial []grpc.DialOption

	mu          sync.Mutex
	addresses   []string // host:port; the one that led last is the first
	connections map[string]*grpc.ClientConn
	term        uint64 // the newest of all that have led
}

func newMasters(addresses []string, dial []grpc.DialOption) *masters {
	return &masters{addresses: slices.Clone(addresses), dial: dial, connections: map[string]*grpc.ClientConn{}}
}

func (m *masters) all() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.addresses)
}

// learn adds masters of which another has told. It reports whether any is new.
func (m *masters) learn(addresses ...string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.addresses)
	for _, address := range addresses {
		if address != "" && !slices.Contains(m.addresses, address) {
			m.addresses = append(m.addresses, address)
		}
	}
	return len(m.addresses) > before
}

// isNewest reports whether no later leader has been heard of than that of a term,
// and notes the term.
func (m *masters) isNewest(term uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if term < m.term {
		return false
	}
	m.term = term
	return true
}

// leads notes which one leads.
func (m *masters) leads(address string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at := slices.Index(m.addresses, address); at > 0 {
		m.addresses = slices.Insert(slices.Delete(m.addresses, at, at+1), 0, address)
	}
}

// connection is the one to a master; it is made where there is none.
func (m *masters) connection(address string) (*grpc.ClientConn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
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

func (m *masters) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, connection := range m.connections {
		_ = connection.Close()
	}
	clear(m.connections)
}
