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

// Client fetches blocks from the servers of peers, and keeps connections to them
// for the next fetch. Its methods may be called by any goroutine.
type Client struct {
	options Options
	open    chan struct{} // has something for each fetch

	mu     sync.Mutex
	idle   []*idleConn // the one that was used last is the last
	closed bool
}

// idleConn is a connection that waits for the next request.
type idleConn struct {
	*tls.Conn
	address string
	expiry  *time.Timer
}

// NewClient returns a client without connections.
func NewClient(options Options) *Client {
	options = options.withDefaults()
	return &Client{options: options, open: make(chan struct{}, options.MaxFetches)}
}

// Fetch fetches blocks from the peer at an address. The sequence has for each id,
// in order, the block or why there is none. A block is read as it arrives, before
// the sequence goes on; what is not read of it is passed over. After an Error with
// ErrUnreachable, or another error, the sequence ends: that block and those after
// it were not fetched. Where ctx ends first, the error is its cause.
func (c *Client) Fetch(ctx context.Context, address string, ids ...block.ID) iter.Seq2[*Block, error] {
	return func(yield func(*Block, error) bool) {
		select {
		case c.open <- struct{}{}:
			defer func() { <-c.open }()
		case <-ctx.Done():
			yield(nil, context.Cause(ctx))
			return
		}
		for some := range slices.Chunk(ids, maxIDs) {
			if !c.fetch(ctx, address, some, yield) {
				return
			}
		}
	}
}

// fetch makes one request. It reports whether the sequence goes on.
func (c *Client) fetch(ctx context.Context, address string, ids []block.ID, yield func(*Block, error) bool) bool {
	connection, err := c.take(ctx, address)
	if err != nil {
		yield(nil, failure(ctx, address, ids[0], err))
		return false
	}
	r := newReply(ctx, address, connection, len(ids))
	defer func() {
		if r.close() {
			c.keep(address, connection)
		}
	}()
	if _, err := connection.Write(appendRequest(nil, ids)); err != nil {
		yield(nil, r.failed(ids[0], err))
		return false
	}
	for _, id := range ids {
		got, err := r.next(id)
		if !yield(got, err) || r.err != nil {
			return false
		}
		if got != nil {
			got.pass()
		}
	}
	return true
}

// take returns a connection to a peer that no fetch uses.
func (c *Client) take(ctx context.Context, address string) (*tls.Conn, error) {
	c.mu.Lock()
	for i, waiting := range slices.Backward(c.idle) {
		if waiting.address == address {
			c.remove(i)
			c.mu.Unlock()
			return waiting.Conn, nil
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

// keep keeps a connection for the next fetch, for a while. There are at most as
// many as there may be fetches.
func (c *Client) keep(address string, connection *tls.Conn) {
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

// remove takes a connection out of the idle ones. It is called with the lock held.
func (c *Client) remove(i int) *idleConn {
	removed := c.idle[i]
	removed.expiry.Stop()
	c.idle = slices.Delete(c.idle, i, i+1)
	return removed
}

// Close closes the connections that no fetch uses. Those of open fetches are
// closed when these end.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for len(c.idle) > 0 {
		_ = c.remove(0).NetConn().Close()
	}
}
