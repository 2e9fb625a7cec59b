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

// Client calls the methods of one protocol of a service. The service may have
// several addresses, of which one is active. A Client is safe for concurrent use.
type Client struct {
	addresses []string
	options   Options
	id        []byte // identifies this client in the retry caches of servers
	lastID    atomic.Int32

	// ctx is canceled by Close, to end attempts to connect.
	ctx    context.Context
	cancel context.CancelFunc
	// running counts the open connections and the attempts to connect. Close waits for them.
	running sync.WaitGroup

	mu          sync.Mutex
	closed      bool
	token       security.Token
	activeIndex int // index of the address that new calls use
	current     *connection
	dialing     *attempt
	// connections are the connections that have not ended: the current connection, and earlier
	// connections that wait for responses.
	connections map[*connection]struct{}
}

// attempt is an attempt to connect. Any number of calls may wait for its end.
type attempt struct {
	address    string
	done       chan struct{}
	connection *connection
	err        error
}

// NewClient returns a client of the service at addresses (host:port), which the client
// tries in this order. The client connects at its first call.
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

// newClientID returns a random UUID of 16 bytes, as ClientId.java does.
func newClientID() []byte {
	id := make([]byte, 16)
	// As documented, crypto/rand never fails.
	_, _ = rand.Read(id)
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// SetToken replaces the token for new connections.
func (c *Client) SetToken(token security.Token) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token = token
}

// ActiveIndex returns the index, in NewClient's addresses, of the address to which new
// calls go. After a successful call, that is the address of the server that answered it.
func (c *Client) ActiveIndex() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.activeIndex
}

// Close closes all connections and waits for their goroutines. Pending calls fail with
// ErrClosed. Close may be called again.
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

// Call calls a method of the protocol and stores the server's answer in response. Its error is
// a *CallError, which wraps a *RemoteError if the server threw an exception.
//
// Call retries, until Options.RetryFor has passed or ctx ends, if the server has certainly not
// processed the call: because Call could not connect, or because the server threw
// StandbyException, RetriableException or one of Options.Retriable. If the call is Idempotent,
// Call also retries if the connection was lost or timed out. If ctx ends, Call returns at once;
// the server may still process the call.
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

// nextID returns call ids from 0 upwards, and from 0 again after the largest int32.
func (c *Client) nextID() int32 { return (c.lastID.Add(1) - 1) & 0x7fffffff }

// simpleProtocol returns the protocol's name without the Java package.
func (c *Client) simpleProtocol() string {
	return c.options.Protocol[strings.LastIndexByte(c.options.Protocol, '.')+1:]
}

// connect returns the current connection and its address. If the client is not connected,
// connect waits for the attempt to connect, which it starts if necessary. If ctx ends, the
// attempt continues, because other calls may wait for it.
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
		try = &attempt{address: c.addresses[c.activeIndex], done: make(chan struct{})}
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

// dial tries to connect, and then wakes the calls that wait for the attempt. After a network
// error, or if the server is on standby, the next attempt uses the next address.
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
			c.activeIndex = (c.activeIndex + 1) % len(c.addresses)
		}
		c.options.Logger.Debug("cannot connect", "address", try.address, "error", err)
		return
	}
	c.running.Add(1)
	try.connection = start(opened, c.forget)
	c.connections[try.connection] = struct{}{}
	c.current = try.connection
}

// forget removes from the client a connection that has ended.
func (c *Client) forget(connection *connection) {
	defer c.running.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.connections, connection)
	if c.current == connection {
		c.current = nil
	}
}

// failover makes new calls use the next address if connection is the current one. Otherwise it
// does nothing, for example because another call has already failed over. Calls on connection
// continue, and connection is closed when it is idle.
func (c *Client) failover(connection *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == connection {
		c.current = nil
		c.activeIndex = (c.activeIndex + 1) % len(c.addresses)
	}
}

func (c *Client) allAddresses() string { return strings.Join(c.addresses, ", ") }
