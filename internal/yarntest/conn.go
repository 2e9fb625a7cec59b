package yarntest

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// stream is one direction of a connection in memory. Its buffer is unlimited, so writes never
// block.
type stream struct {
	mu       sync.Mutex
	changed  *sync.Cond
	data     []byte
	closed   bool // the writer has closed the stream
	dropped  bool // the reader has closed the stream
	deadline time.Time
	timer    *time.Timer
}

func newStream() *stream {
	s := &stream{}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *stream) read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.dropped:
			return 0, net.ErrClosed
		case !s.deadline.IsZero() && !time.Now().Before(s.deadline):
			return 0, os.ErrDeadlineExceeded
		case len(s.data) > 0:
			n := copy(b, s.data)
			if s.data = s.data[n:]; len(s.data) == 0 {
				s.data = nil
			}
			return n, nil
		case s.closed:
			return 0, io.EOF
		}
		s.changed.Wait()
	}
}

func (s *stream) write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.dropped {
		return 0, io.ErrClosedPipe
	}
	s.data = append(s.data, b...)
	s.changed.Broadcast()
	return len(b), nil
}

// end marks the stream as closed by its writer (closed), its reader (dropped), or both.
func (s *stream) end(closed, dropped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.dropped = s.closed || closed, s.dropped || dropped
	if s.dropped && s.timer != nil {
		s.timer.Stop()
	}
	s.changed.Broadcast()
}

func (s *stream) setDeadline(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	s.deadline = t
	if wait := time.Until(t); !t.IsZero() && wait > 0 {
		s.timer = time.AfterFunc(wait, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changed.Broadcast()
		})
	}
	s.changed.Broadcast()
}

// memoryConn is one end of a connection in memory.
type memoryConn struct {
	in, out       *stream
	local, remote memoryAddr
}

// memoryAddr is an address, in the form host:port, of a server in a Memory network.
type memoryAddr string

func (memoryAddr) Network() string  { return "memory" }
func (a memoryAddr) String() string { return string(a) }

// newMemoryConn returns the two ends of a connection to address.
func newMemoryConn(address string) (client, server net.Conn) {
	up, down := newStream(), newStream()
	const caller = memoryAddr("client:0")
	return &memoryConn{in: down, out: up, local: caller, remote: memoryAddr(address)},
		&memoryConn{in: up, out: down, local: memoryAddr(address), remote: caller}
}

func (c *memoryConn) Read(b []byte) (int, error)  { return c.in.read(b) }
func (c *memoryConn) Write(b []byte) (int, error) { return c.out.write(b) }
func (c *memoryConn) LocalAddr() net.Addr         { return c.local }
func (c *memoryConn) RemoteAddr() net.Addr        { return c.remote }

func (c *memoryConn) Close() error {
	c.out.end(true, false)
	c.in.end(true, true)
	return nil
}

func (c *memoryConn) SetDeadline(t time.Time) error     { return c.SetReadDeadline(t) }
func (c *memoryConn) SetReadDeadline(t time.Time) error { c.in.setDeadline(t); return nil }

// SetWriteDeadline has no effect, because writes never block.
func (c *memoryConn) SetWriteDeadline(time.Time) error { return nil }
