package ipc

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/frame"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
)

// Client calls one protocol of one service, which may have several addresses
// of which one serves. It is safe for concurrent use.
type Client struct {
	addresses []string
	options   Options
	// id tells this client's calls from others' in the servers' retry caches.
	id     []byte
	lastID atomic.Int32

	// ctx ends with Close and takes connection attempts with it.
	ctx    context.Context
	cancel context.CancelFunc
	// running counts attempts and connections, for which Close waits.
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	token  security.Token
	// at is the index of the address to use.
	at      int
	current *connection
	dialing *attempt
	// connections are those that have not ended: the current one, and others
	// that only finish their calls.
	connections map[*connection]struct{}
}

// attempt is a connection in the making, for which any number of calls wait.
type attempt struct {
	address    string
	done       chan struct{}
	connection *connection
	err        error
}

// NewClient returns a client of the service at addresses (host:port), in the
// order in which they are to be tried. It connects with the first call.
func NewClient(addresses []string, options Options) *Client {
	ctx, cancel := context.WithCancel(context.Background())
	return &Client{
		addresses:   addresses,
		options:     options.withDefaults(),
		id:          newClientID(),
		token:       options.Token,
		ctx:         ctx,
		cancel:      cancel,
		connections: map[*connection]struct{}{},
	}
}

// newClientID makes a random UUID (ClientId.java: 16 bytes).
func newClientID() []byte {
	id := make([]byte, 16)
	// crypto/rand never fails (its documentation).
	_, _ = rand.Read(id)
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// SetToken replaces the token for connections made from now on; a connection
// that stands goes on.
func (c *Client) SetToken(token security.Token) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token = token
}

// Serving returns the index, among the addresses that NewClient got, of the one
// that calls go to: the one that served last, once one has.
func (c *Client) Serving() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Close ends every connection and waits until their goroutines are over. Calls
// under way fail with ErrClosed. It may be called more than once.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	open := c.connections
	c.connections = map[*connection]struct{}{}
	c.mu.Unlock()
	c.cancel()
	for connection := range open {
		connection.fail(ErrClosed)
	}
	c.running.Wait()
	return nil
}

// Call calls a method of the protocol and stores its answer in response. A
// failure is a *CallError; what the server threw is in it as a *RemoteError. A
// call is tried again, within Options.RetryFor and ctx, if it is known not
// to have been processed (no connection, StandbyException, RetriableException)
// or is Idempotent. Ending ctx gives the call up and leaves the connection to
// the others; the server may still process it.
func (c *Client) Call(ctx context.Context, method string, request, response proto.Message, options ...CallOption) error {
	call := &retryCall{client: c, method: method, id: c.nextID(), began: time.Now()}
	for _, option := range options {
		option(&call.callOptions)
	}
	body, err := call.run(ctx, request)
	if err == nil {
		_, err = frame.Next(body, response)
	}
	if err != nil {
		return &CallError{
			Method:   c.simpleProtocol() + "." + method,
			Address:  call.address,
			Attempts: call.attempts,
			Elapsed:  time.Since(call.began),
			Err:      err,
		}
	}
	return nil
}

// nextID counts calls from 0, and from 0 again after the largest id.
func (c *Client) nextID() int32 { return (c.lastID.Add(1) - 1) & 0x7fffffff }

// simpleProtocol is the protocol's name without its Java package.
func (c *Client) simpleProtocol() string {
	return c.options.Protocol[strings.LastIndexByte(c.options.Protocol, '.')+1:]
}

// connect returns the current connection, or waits for the attempt to make one.
// The attempt goes on for other calls when ctx ends.
func (c *Client) connect(ctx context.Context) (*connection, string, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, c.allAddresses(), ErrClosed
	}
	if len(c.addresses) == 0 {
		c.mu.Unlock()
		return nil, "no address", errors.New("no address was given for the service")
	}
	if c.current != nil && c.current.alive() {
		defer c.mu.Unlock()
		return c.current, c.current.address, nil
	}
	try := c.dialing
	if try == nil {
		try = &attempt{address: c.addresses[c.at], done: make(chan struct{})}
		c.dialing = try
		c.running.Add(1)
		go c.dial(try, c.token)
	}
	c.mu.Unlock()
	select {
	case <-try.done:
		return try.connection, try.address, try.err
	case <-ctx.Done():
		return nil, try.address, ctx.Err()
	}
}

// dial makes a connection. Where the server is not there, or is not the one
// that serves, the next attempt goes to the next address.
func (c *Client) dial(try *attempt, token security.Token) {
	defer c.running.Done()
	opened, err := open(c.ctx, try.address, c.id, token, c.options)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(try.done)
	c.dialing = nil
	if err == nil && c.closed {
		_ = opened.conn.Close()
		err = ErrClosed
	}
	if err != nil {
		if c.closed {
			err = ErrClosed
		}
		try.err = err
		var lost *ConnectionError
		if errors.As(err, &lost) || errors.Is(err, StandbyException) {
			c.at = (c.at + 1) % len(c.addresses)
		}
		c.options.Logger.Debug("cannot connect", "address", try.address, "error", err)
		return
	}
	c.running.Add(1)
	try.connection = start(opened, c.forget)
	c.connections[try.connection] = struct{}{}
	c.current = try.connection
}

// forget is called when a connection is over.
func (c *Client) forget(connection *connection) {
	defer c.running.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.connections, connection)
	if c.current == connection {
		c.current = nil
	}
}

// failover turns to the next address, unless that was done already. The
// connection is left to finish its calls and ends when it is idle.
func (c *Client) failover(connection *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == connection {
		c.current = nil
		c.at = (c.at + 1) % len(c.addresses)
	}
}

func (c *Client) allAddresses() string { return strings.Join(c.addresses, ", ") }
