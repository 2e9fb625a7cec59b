package transfer

import (
	"context"
	"crypto/tls"
	"iter"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/block"
)

// Client fetches blocks from other processes of the same application (peers). It reuses
// connections. It is safe for concurrent use.
type Client struct {
	options    Options
	fetchSlots chan struct{} // has an element for each open fetch; its capacity is MaxFetches

	mu     sync.Mutex
	idle   []*idleConn // connections that no fetch uses, most recently used last
	closed bool
}

// idleConn is a connection that no fetch uses.
type idleConn struct {
	*tls.Conn
	address string
	expiry  *time.Timer
}

// NewClient returns a client without connections.
func NewClient(options Options) *Client {
	options = options.withDefaults()
	return &Client{options: options, fetchSlots: make(chan struct{}, options.MaxFetches)}
}

// Fetch fetches blocks from the peer at an address, host:port. For each id, in order, it
// yields the block or an error. The caller must read a block before it takes the next one;
// Fetch skips bytes that are unread by then.
//
// After an *Error that wraps block.ErrNotFound or block.ErrDamaged, the sequence continues
// with the next id. It ends after an *Error that wraps ErrUnreachable. If ctx ends, Fetch
// yields ctx's cause and the sequence ends. In the last two cases, Fetch has not fetched the
// block for which it yields the error, nor the blocks after it.
func (c *Client) Fetch(ctx context.Context, address string, ids ...block.ID) iter.Seq2[*Block, error] {
	return func(yield func(*Block, error) bool) {
		select {
		case c.fetchSlots <- struct{}{}:
			defer func() { <-c.fetchSlots }()
		case <-ctx.Done():
			yield(nil, context.Cause(ctx))
			return
		}
		for batch := range slices.Chunk(ids, maxIDs) {
			if !c.fetch(ctx, address, batch, yield) {
				return
			}
		}
	}
}

// fetch sends one request and yields the blocks of the reply. It returns false if the sequence
// has ended, because of an error or because yield returned false.
func (c *Client) fetch(ctx context.Context, address string, ids []block.ID, yield func(*Block, error) bool) bool {
	connection, err := c.connect(ctx, address)
	if err != nil {
		yield(nil, connectionError(ctx, address, ids[0], err))
		return false
	}
	r := newReply(ctx, address, connection, len(ids))
	defer func() {
		if r.close() {
			c.keepIdle(address, connection)
		}
	}()
	if _, err := connection.Write(appendRequest(nil, ids)); err != nil {
		yield(nil, r.fail(ids[0], err))
		return false
	}
	for _, id := range ids {
		b, err := r.next(id)
		if !yield(b, err) || r.err != nil {
			return false
		}
		if b != nil {
			b.skip()
		}
	}
	return true
}

// connect returns an idle connection to a peer, or opens one.
func (c *Client) connect(ctx context.Context, address string) (*tls.Conn, error) {
	c.mu.Lock()
	for i, idle := range slices.Backward(c.idle) {
		if idle.address == address {
			c.remove(i)
			c.mu.Unlock()
			return idle.Conn, nil
		}
	}
	c.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(limited, "tcp", address)
	if err != nil {
		return nil, err
	}
	connection := tls.Client(timedConn{raw, c.options.Timeout}, c.options.TLS)
	if err := connection.HandshakeContext(limited); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return connection, nil
}

// keepIdle stores a connection for later fetches, for up to a quarter of Options.Timeout. If
// MaxFetches connections are idle already, it closes the one that has been unused longest.
func (c *Client) keepIdle(address string, connection *tls.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = connection.NetConn().Close()
		return
	}
	if len(c.idle) == c.options.MaxFetches {
		_ = c.remove(0).NetConn().Close()
	}
	kept := &idleConn{Conn: connection, address: address}
	kept.expiry = time.AfterFunc(c.options.Timeout/4, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if i := slices.Index(c.idle, kept); i >= 0 {
			_ = c.remove(i).NetConn().Close()
		}
	})
	c.idle = append(c.idle, kept)
}

// remove removes and returns the i-th idle connection. The caller holds the lock.
func (c *Client) remove(i int) *idleConn {
	removed := c.idle[i]
	removed.expiry.Stop()
	c.idle = slices.Delete(c.idle, i, i+1)
	return removed
}

// Close closes the idle connections. A connection that a fetch uses is closed when the fetch
// ends.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for len(c.idle) > 0 {
		_ = c.remove(0).NetConn().Close()
	}
}
