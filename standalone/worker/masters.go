package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

const (
	// connectTimeout bounds the set-up of a connection, connectBackoff is between
	// two of them; who calls pauses for himself.
	connectTimeout = 5 * time.Second
	connectBackoff = 100 * time.Millisecond

	// fetchPatience is how long a content is looked for at all masters, while one
	// may be taking another's place.
	fetchPatience = time.Minute
	fetchPause    = time.Second
)

// masters are those that the worker knows, with a connection to each that was
// called. Its methods are safe for concurrent use.
type masters struct {
	dial []grpc.DialOption

	mu          sync.Mutex
	addresses   []string // the one that is to be tried first comes first
	connections map[string]*grpc.ClientConn
}

func newMasters(addresses []string, dial []grpc.DialOption) *masters {
	return &masters{addresses: slices.Clone(addresses), dial: dial, connections: map[string]*grpc.ClientConn{}}
}

// all are the masters, the last leader first.
func (m *masters) all() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.addresses)
}

// prefer has a master tried first from now on.
func (m *masters) prefer(address string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addresses = slices.DeleteFunc(m.addresses, func(a string) bool { return a == address })
	m.addresses = slices.Insert(m.addresses, 0, address)
}

// learn adds a master of which another has told. It reports whether it is new.
func (m *masters) learn(address string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Contains(m.addresses, address) {
		return false
	}
	m.addresses = append(m.addresses, address)
	return true
}

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

// fetch writes a content, from whichever master has it. to starts over when
// another try begins.
func (m *masters) fetch(ctx context.Context, hash []byte, to rewriter) error {
	ctx, cancel := context.WithTimeout(ctx, fetchPatience)
	defer cancel()
	for {
		var problems []error
		for _, address := range m.all() {
			err := m.fetchFrom(ctx, address, hash, to)
			if err == nil {
				return nil
			}
			if ctx.Err() == nil || len(problems) == 0 {
				problems = append(problems, fmt.Errorf("master %s: %w", address, err))
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("fetch it (SHA-256 %x): %w", hash, errors.Join(problems...))
		case <-time.After(fetchPause):
		}
	}
}

// rewriter takes data, and can forget what it has.
type rewriter interface {
	io.Writer
	restart() error
}

// errDisk is wrapped by errors of this machine in a fetch.
var errDisk = errors.New("cannot be written here")

func (m *masters) fetchFrom(ctx context.Context, address string, hash []byte, to rewriter) error {
	connection, err := m.connection(address)
	if err != nil {
		return err
	}
	if err := to.restart(); err != nil {
		return fmt.Errorf("%w: %w", errDisk, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := protocol.NewFilesClient(connection).Fetch(ctx, &protocol.FetchRequest{Sha256: hash})
	if err != nil {
		return err
	}
	for {
		part, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case status.Code(err) == codes.NotFound:
			return errors.New("it does not have the content")
		case err != nil:
			return err
		}
		if _, err := to.Write(part.GetData()); err != nil {
			return fmt.Errorf("%w: %w", errDisk, err)
		}
	}
}
