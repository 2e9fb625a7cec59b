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

// errIdleConnection means that no call has used the connection for IdleTimeout.
var errIdleConnection = errors.New("the connection was idle")

// pendingCall is a call that waits for its response. The connection's mutex guards sent and
// waiting.
type pendingCall struct {
	id    int32
	frame []byte
	sent  bool // the goroutine write has begun to send the frame
	// waiting is set to false when the caller stops waiting. A call that was sent stays in
	// connection.calls until its response arrives, so that the connection detects a silent
	// server.
	waiting bool
	// answer receives the result from the goroutine that removes the call from
	// connection.calls.
	answer chan callResult
}

type callResult struct {
	body []byte
	err  error
}

// connection multiplexes calls over one authenticated connection. It has two goroutines. The
// goroutine write sends frames and pings, and ends the connection if it is idle or the server
// is silent. The goroutine read delivers responses to calls.
type connection struct {
	address  string
	clientID []byte
	options  *Options
	conn     net.Conn
	reader   io.Reader
	layer    sasl.Layer
	logger   *slog.Logger

	outbox chan *pendingCall
	ended  chan struct{} // closed when the connection ends
	loops  sync.WaitGroup

	mu         sync.Mutex
	failed     error // why the connection ended; nil while it is open
	calls      map[int32]*pendingCall
	unanswered int // number of elements of calls that were sent
	// silentSince is the start of the server's silence: the time when the server last sent data or,
	// if later, when a call was sent while no other call was unanswered. lastUsed is the time when
	// a call last began or ended.
	silentSince, lastUsed time.Time
}

// start returns the connection that h has opened, and starts its two goroutines. When both
// goroutines have ended, gone is called.
func start(h *handshake, gone func(*connection)) *connection {
	now := time.Now()
	c := &connection{
		address:     h.address,
		clientID:    h.clientID,
		options:     &h.options,
		conn:        h.conn,
		reader:      h.reader,
		layer:       h.layer,
		logger:      h.options.Logger.With("address", h.address),
		outbox:      make(chan *pendingCall),
		ended:       make(chan struct{}),
		calls:       map[int32]*pendingCall{},
		silentSince: now,
		lastUsed:    now,
	}
	qop := sasl.Auth
	if c.layer != nil {
		qop = c.layer.QOP()
	}
	if c.options.Connected != nil {
		c.options.Connected(qop)
	}
	c.logger.Debug("connected", "token", !h.token.IsZero(), "qop", qop)
	c.loops.Add(2)
	go func() { defer c.loops.Done(); c.write() }()
	go func() { defer c.loops.Done(); c.read() }()
	go func() { c.loops.Wait(); gone(c) }()
	return c
}

// roundTrip sends a call and waits at most CallTimeout for its response.
func (c *connection) roundTrip(ctx context.Context, id int32, message []byte) ([]byte, error) {
	call := &pendingCall{id: id, frame: message, waiting: true, answer: make(chan callResult, 1)}
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

// register adds a call to c.calls. It fails if the connection has ended.
func (c *connection) register(call *pendingCall) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return &ConnectionError{Address: c.address, Err: c.failed}
	}
	// All attempts of a call have the same id. A new attempt replaces an earlier attempt, and
	// receives the first response to any of them.
	c.remove(call.id)
	c.calls[call.id] = call
	c.lastUsed = time.Now()
	return nil
}

// abandon records that the caller no longer waits for call, and removes call from c.calls if it
// was not sent.
func (c *connection) abandon(call *pendingCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call.waiting = false
	c.lastUsed = time.Now()
	if !call.sent && c.calls[call.id] == call {
		c.remove(call.id)
	}
}

// remove removes a call from c.calls and returns it; nil if c.calls has no call with that id.
// c.mu must be locked.
func (c *connection) remove(id int32) *pendingCall {
	call := c.calls[id]
	if call != nil && call.sent {
		c.unanswered--
	}
	delete(c.calls, id)
	return call
}

// alive reports whether the connection is still open.
func (c *connection) alive() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// fail ends the connection. Its pending calls fail: with cause if cause is a *RemoteError,
// otherwise with a *ConnectionError that wraps cause.
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
	// Ignore the error, because the connection is not used any more.
	_ = c.conn.Close()
	c.logger.Debug("disconnected", "reason", cause, "calls", len(c.calls))
	var remote *RemoteError
	for id, call := range c.calls {
		err := error(&ConnectionError{Address: c.address, Sent: call.sent, Err: cause})
		if errors.As(cause, &remote) {
			err = cause
		}
		c.remove(id).answer <- callResult{err: err}
	}
}

// write sends calls, and calls check regularly. If calls are unanswered and the server is
// silent, it also sends pings.
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
			c.failAfterWrite(err)
			return
		}
		lastWrite = time.Now()
	}
}

// take marks a call as sent and returns its frame; nil if the caller no longer waits.
func (c *connection) take(call *pendingCall) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !call.waiting {
		return nil
	}
	if c.unanswered == 0 {
		c.silentSince = time.Now()
	}
	c.unanswered++
	call.sent = true
	message := call.frame
	call.frame = nil
	return message
}

// check ends the connection if it is idle, or if calls are unanswered and the server has been
// silent for CallTimeout. It returns the duration of the silence; 0 if no call is unanswered.
func (c *connection) check(now time.Time) (silence time.Duration, ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unanswered == 0 {
		if len(c.calls) == 0 && now.Sub(c.lastUsed) >= c.options.IdleTimeout {
			c.failLocked(errIdleConnection)
			return 0, true
		}
		return 0, false
	}
	silence = now.Sub(c.silentSince)
	if silence >= c.options.CallTimeout {
		c.failLocked(fmt.Errorf("the server was silent for %v", c.options.CallTimeout))
		return silence, true
	}
	return silence, false
}

// exceptionWait is how long the client waits for the server's exception after a write has
// failed.
const exceptionWait = time.Second

// failAfterWrite ends the connection after a failed write. A server that refuses a client sends
// an exception and closes the connection. So failAfterWrite first waits up to exceptionWait,
// until the goroutine read has received the exception.
func (c *connection) failAfterWrite(cause error) {
	if c.conn.SetReadDeadline(time.Now().Add(exceptionWait)) == nil {
		select {
		case <-c.ended:
		case <-time.After(exceptionWait):
		}
	}
	c.fail(cause)
}

// chunk is the number of bytes that send writes at once. WriteTimeout applies to each chunk.
const chunk = 256 << 10

// send writes a frame, through the SASL security layer if there is one.
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

// read delivers responses to their calls until the connection ends.
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

// receive delivers one response to its call. If receive fails, read ends the connection.
func (c *connection) receive(body []byte) error {
	header := &pb.ResponseHeader{}
	rest, err := frame.Next(body, header)
	if err != nil {
		return fmt.Errorf("malformed response: %w", err)
	}
	id, remote := frame.ResponseCallID(header), remoteError(header)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silentSince = time.Now()
	call := c.calls[id]
	if call == nil || !call.sent {
		if remote != nil && (remote.Fatal || id < 0) {
			return remote
		}
		// The call may have been sent twice, and this is the second response.
		return nil
	}
	c.remove(id)
	c.lastUsed = c.silentSince
	if remote != nil && remote.Fatal {
		// End the connection before the caller receives the answer, so that the caller's next
		// call uses a new connection. Other calls on this connection fail with a
		// ConnectionError.
		err = fmt.Errorf("the server closed the connection over another call: %v", remote)
		c.failLocked(err)
	}
	call.answer <- callResult{body: rest, err: asError(remote)}
	return err
}

// asError returns remote as an error; nil if remote is nil.
func asError(remote *RemoteError) error {
	if remote == nil {
		return nil
	}
	return remote
}
