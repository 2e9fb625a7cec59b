package ipc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/frame"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/pb"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security/sasl"
)

// errIdle is why a connection ended that nobody used.
var errIdle = errors.New("the connection was idle")

// pending is a call that waits for its answer. Its connection's mutex guards
// sent and waiting.
type pending struct {
	id    int32
	frame []byte
	// sent tells that the writer has begun to send the frame.
	sent bool
	// waiting is unset once the caller has gone. A call that was sent stays
	// known until its answer comes, so that a silent server is noticed.
	waiting bool
	// answer takes one result, from whoever takes the call out of the table.
	answer chan answer
}

type answer struct {
	body []byte
	err  error
}

// connection multiplexes calls over one authenticated connection. Two
// goroutines run it: write sends frames and pings and ends the connection when
// it is idle or the server silent; read hands out answers.
type connection struct {
	address  string
	clientID []byte
	options  *Options
	conn     net.Conn
	reader   io.Reader
	layer    sasl.Layer
	logger   *slog.Logger

	outbox chan *pending
	// ended is closed when the connection has failed or closed.
	ended chan struct{}
	loops sync.WaitGroup

	mu sync.Mutex
	// failed is why the connection ended, nil while it lives.
	failed error
	calls  map[int32]*pending
	// owed counts the calls in the table that were sent.
	owed int
	// heard is when the server last sent anything or, if later, when the first
	// unanswered call was sent; used is when a call last began or ended.
	heard, used time.Time
}

// start runs the connection that h has opened; gone is called once when it
// has ended and its goroutines are over.
func start(h *handshake, gone func(*connection)) *connection {
	now := time.Now()
	c := &connection{
		address:  h.address,
		clientID: h.clientID,
		options:  &h.options,
		conn:     h.conn,
		reader:   h.reader,
		layer:    h.layer,
		logger:   h.options.Logger.With("address", h.address),
		outbox:   make(chan *pending),
		ended:    make(chan struct{}),
		calls:    map[int32]*pending{},
		heard:    now,
		used:     now,
	}
	qop := sasl.Auth
	if c.layer != nil {
		qop = c.layer.QOP()
	}
	c.logger.Debug("connected", "token", !h.token.IsZero(), "qop", qop)
	c.loops.Add(2)
	go func() { defer c.loops.Done(); c.write() }()
	go func() { defer c.loops.Done(); c.read() }()
	go func() { c.loops.Wait(); gone(c) }()
	return c
}

// roundTrip sends a call and waits for its answer, for at most CallTimeout.
func (c *connection) roundTrip(ctx context.Context, id int32, message []byte) ([]byte, error) {
	call := &pending{id: id, frame: message, waiting: true, answer: make(chan answer, 1)}
	if err := c.register(call); err != nil {
		return nil, err
	}
	timeout := time.NewTimer(c.options.CallTimeout)
	defer timeout.Stop()
	select {
	case c.outbox <- call:
	case <-c.ended:
	case <-ctx.Done():
		c.abandon(call)
		return nil, ctx.Err()
	case <-timeout.C:
		c.abandon(call)
		return nil, &ConnectionError{Address: c.address, Err: fmt.Errorf("the server took no request for %v", c.options.CallTimeout)}
	}
	select {
	case a := <-call.answer:
		return a.body, a.err
	case <-ctx.Done():
		c.abandon(call)
		return nil, ctx.Err()
	case <-timeout.C:
		c.abandon(call)
		return nil, &ConnectionError{Address: c.address, Sent: true, Err: fmt.Errorf("no answer within %v", c.options.CallTimeout)}
	}
}

// register enters a call into the table, unless the connection has ended.
func (c *connection) register(call *pending) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return &ConnectionError{Address: c.address, Err: c.failed}
	}
	// An earlier sending of the same call gives way: either answer will do.
	c.remove(call.id)
	c.calls[call.id] = call
	c.used = time.Now()
	return nil
}

// abandon takes note that the caller has gone.
func (c *connection) abandon(call *pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call.waiting = false
	c.used = time.Now()
	if !call.sent && c.calls[call.id] == call {
		c.remove(call.id)
	}
}

// remove takes a call out of the table and returns it, nil if it is not there.
func (c *connection) remove(id int32) *pending {
	call := c.calls[id]
	if call != nil && call.sent {
		c.owed--
	}
	delete(c.calls, id)
	return call
}

// alive reports whether the connection takes calls.
func (c *connection) alive() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// fail ends the connection, and every call on it with cause: a server's
// exception as it is, anything else as a *ConnectionError.
func (c *connection) fail(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failLocked(cause)
}

func (c *connection) failLocked(cause error) {
	if c.failed != nil {
		return
	}
	c.failed = cause
	close(c.ended)
	// The error of closing a connection that is given up says nothing.
	_ = c.conn.Close()
	c.logger.Debug("disconnected", "reason", cause, "calls", len(c.calls))
	var remote *RemoteError
	for id, call := range c.calls {
		err := error(&ConnectionError{Address: c.address, Sent: call.sent, Err: cause})
		if errors.As(cause, &remote) {
			err = cause
		}
		c.remove(id).answer <- answer{err: err}
	}
}

// write sends calls as they come, and looks after the connection while it waits.
func (c *connection) write() {
	interval := max(min(c.options.PingInterval, c.options.IdleTimeout, c.options.CallTimeout)/4, time.Millisecond)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	lastWrite := time.Now()
	for {
		var message []byte
		select {
		case <-c.ended:
			return
		case call := <-c.outbox:
			if message = c.take(call); message == nil {
				continue
			}
		case now := <-ticker.C:
			silence, ended := c.check(now)
			if ended {
				return
			}
			if silence < c.options.PingInterval || now.Sub(lastWrite) < c.options.PingInterval {
				continue
			}
			var err error
			if message, err = frame.Append(nil, frame.RequestHeader(frame.PingCallID, c.clientID, frame.NoRetryCount)); err != nil {
				c.fail(fmt.Errorf("encode a ping: %w", err))
				return
			}
		}
		if err := c.send(message); err != nil {
			c.hearOut(err)
			return
		}
		lastWrite = time.Now()
	}
}

// take marks a call as sent and returns its frame, nil if the caller has
// gone already.
func (c *connection) take(call *pending) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !call.waiting {
		return nil
	}
	if c.owed == 0 {
		c.heard = time.Now()
	}
	c.owed++
	call.sent = true
	message := call.frame
	call.frame = nil
	return message
}

// check ends a connection that is idle, or whose server is silent for longer
// than any call waits. It returns for how long an awaited server was silent.
func (c *connection) check(now time.Time) (silence time.Duration, ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owed == 0 {
		if len(c.calls) == 0 && now.Sub(c.used) >= c.options.IdleTimeout {
			c.failLocked(errIdle)
			return 0, true
		}
		return 0, false
	}
	silence = now.Sub(c.heard)
	if silence >= c.options.CallTimeout {
		c.failLocked(fmt.Errorf("the server was silent for %v", c.options.CallTimeout))
		return silence, true
	}
	return silence, false
}

// lastWords is how long a server that takes no more may still say why.
const lastWords = time.Second

// hearOut ends the connection after a failed write. A server that refuses the
// client closes right after its exception, which is then still to be read.
func (c *connection) hearOut(cause error) {
	if c.conn.SetReadDeadline(time.Now().Add(lastWords)) == nil {
		select {
		case <-c.ended:
		case <-time.After(lastWords):
		}
	}
	c.fail(cause)
}

// chunk is how much is written under one deadline.
const chunk = 256 << 10

// send writes a frame, through the security layer if there is one.
func (c *connection) send(message []byte) error {
	if c.layer != nil {
		var err error
		if message, err = frame.Client.AppendSealed(nil, c.layer, message); err != nil {
			return fmt.Errorf("protect a request: %w", err)
		}
	}
	for len(message) > 0 {
		if err := c.conn.SetWriteDeadline(time.Now().Add(c.options.WriteTimeout)); err != nil {
			return fmt.Errorf("send a request: %w", err)
		}
		n, err := c.conn.Write(message[:min(len(message), chunk)])
		if err != nil {
			return fmt.Errorf("send a request: %w", err)
		}
		message = message[n:]
	}
	return nil
}

// read hands answers to their calls until the connection ends.
func (c *connection) read() {
	for {
		body, err := frame.Read(c.reader, c.options.MaxResponse)
		if errors.Is(err, io.EOF) {
			err = errors.New("the server closed the connection")
		} else if err != nil {
			err = fmt.Errorf("read a response: %w", err)
		} else {
			err = c.receive(body)
		}
		if err != nil {
			c.fail(err)
			return
		}
	}
}

// receive takes one response; its error ends the connection.
func (c *connection) receive(body []byte) error {
	header := &pb.ResponseHeader{}
	rest, err := frame.Next(body, header)
	if err != nil {
		return fmt.Errorf("malformed response: %w", err)
	}
	id, remote := frame.ResponseCallID(header), remoteError(header)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = time.Now()
	call := c.calls[id]
	if call == nil || !call.sent {
		if remote != nil && (remote.Fatal || id < 0) {
			return remote
		}
		// An answer that nobody waits for is that to an earlier sending of a call.
		return nil
	}
	c.remove(id)
	c.used = c.heard
	if remote != nil && remote.Fatal {
		// The connection ends before the caller learns why, so that its next call
		// does not fall into it. To other calls it is a lost connection.
		err = fmt.Errorf("the server closed the connection over another call: %v", remote)
		c.failLocked(err)
	}
	call.answer <- answer{body: rest, err: asError(remote)}
	return err
}

// asError keeps a nil *RemoteError from becoming an error.
func asError(remote *RemoteError) error {
	if remote == nil {
		return nil
	}
	return remote
}
