package stream

import (
	"bufio"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// connBuffer is the size in bytes of the read buffer. A whole packet from a datanode fits into
// it: colinmarc/hdfs reads the packet's header, checksums and data separately, and without the
// buffer each read would be a system call.
const connBuffer = 96 << 10

// conn is a connection to a datanode. Each read and each write fails after
// Options.SocketTimeout; methods that set deadlines do nothing.
//
// While a file is written, conn also hides failed writes from colinmarc/hdfs, because the
// library's goroutines that send a block end only after they have sent the block's last packet.
// The library gets an error from its next read of an acknowledgement. The Writer gets the error
// of the write from session.cause.
type conn struct {
	net.Conn
	session *session
	reader  *bufio.Reader
	broken  atomic.Bool
}

func newConn(raw net.Conn, s *session) *conn {
	return &conn{
		Conn:    raw,
		session: s,
		reader:  bufio.NewReaderSize(timedReader{Conn: raw, timeout: s.options.SocketTimeout}, connBuffer),
	}
}

// timedReader is a connection on which each read fails after timeout.
type timedReader struct {
	net.Conn
	timeout time.Duration
}

func (r timedReader) Read(p []byte) (int, error) {
	if err := r.Conn.SetReadDeadline(time.Now().Add(r.timeout)); err != nil {
		return 0, err
	}
	return r.Conn.Read(p)
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.reader.Read(p)
	if err == io.EOF {
		// Datanodes mark the last packet, so a connection that ends before that packet has
		// failed. If Read returned io.EOF, colinmarc/hdfs would reconnect to the same datanode
		// forever.
		err = io.ErrUnexpectedEOF
	}
	if err != nil && c.session.writing {
		c.markBroken(err)
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	if c.broken.Load() {
		return len(p), nil
	}
	err := c.Conn.SetWriteDeadline(time.Now().Add(c.session.options.SocketTimeout))
	if err == nil {
		var n int
		if n, err = c.Conn.Write(p); err == nil || !c.session.writing {
			return n, err
		}
	}
	if !c.session.writing {
		return 0, err
	}
	c.markBroken(err)
	return len(p), nil
}

func (c *conn) markBroken(err error) {
	c.broken.Store(true)
	c.session.recordBroken(err)
}

func (c *conn) Close() error {
	c.session.mu.Lock()
	delete(c.session.conns, c)
	c.session.mu.Unlock()
	return c.Conn.Close()
}

func (c *conn) SetDeadline(time.Time) error      { return nil }
func (c *conn) SetReadDeadline(time.Time) error  { return nil }
func (c *conn) SetWriteDeadline(time.Time) error { return nil }
