package application

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
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

// isFinal reports whether another try with the same master cannot help: it
// refuses what it was told, or trusts another secret.
func isFinal(err error) bool {
	if isDistrust(err) {
		return true
	}
	switch status.Code(err) {
	case codes.InvalidArgument, codes.Unauthenticated, codes.PermissionDenied, codes.NotFound, codes.AlreadyExists,
		codes.Unimplemented, codes.OutOfRange:
		return true
	}
	return false
}

// isDistrust reports whether the two sides do not have the same credentials,
// which gRPC tells as a connection that cannot be made.
func isDistrust(err error) bool {
	text := status.Convert(err).Message()
	return status.Code(err) == codes.Unavailable &&
		(strings.Contains(text, "authentication handshake failed") || strings.Contains(text, "remote error: tls"))
}

// explained is a call's error in words for people, with whom it was made to.
func explained(address string, err error) error {
	_, standby := protocol.LeaderOf(err)
	switch {
	case isDistrust(err):
		return fmt.Errorf("master %s does not trust this side, or is no bobbin master: both need the same ~/.bobbin/secret, "+
			"authenticate.secretFile, BOBBIN_AUTHENTICATE_SECRET or certificates: %w", address, err)
	case standby:
		return fmt.Errorf("master %s: %s", address, status.Convert(err).Message())
	case status.Code(err) == codes.Unavailable:
		return fmt.Errorf("master %s cannot be reached (is it running? yarn-submit master starts one): %w", address, err)
	}
	return fmt.Errorf("master %s: %w", address, err)
}

// joined are the errors of all masters, each once.
func joined(problems []error) error {
	var different []error
	for _, problem := range problems {
		if !slices.ContainsFunc(different, func(other error) bool { return other.Error() == problem.Error() }) {
			different = append(different, problem)
		}
	}
	return errors.Join(different...)
}
