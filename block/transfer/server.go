package transfer

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/block"
)

// acceptPause is how long the server waits before it calls Accept again after an error. Accept
// fails if, for example, the process has too many open files.
const acceptPause = 100 * time.Millisecond

// Server serves blocks to other processes of the application.
type Server struct {
	open     Open
	options  Options
	listener net.Listener
	ctx      context.Context // canceled by Close
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

// Listen returns a Server that listens on an address, host:port, and serves the blocks that
// open returns. The caller must close the Server.
func Listen(address string, open Open, options Options) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("open the data port: %w", err)
	}
	s := &Server{open: open, options: options.withDefaults(), listener: listener}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.running.Go(s.accept)
	return s, nil
}

// ListenWithin calls Listen with the ports from first to last, inclusive, until it finds
// one that is not in use.
func ListenWithin(host string, first, last int, open Open, options Options) (*Server, error) {
	for port := first; ; port++ {
		server, err := Listen(net.JoinHostPort(host, strconv.Itoa(port)), open, options)
		if err == nil || port >= last || !errors.Is(err, syscall.EADDRINUSE) {
			return server, err
		}
	}
}

// Addr returns the address on which the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close closes the port and all connections, and waits until the server's goroutines have
// returned.
func (s *Server) Close() {
	s.cancel()
	_ = s.listener.Close()
	s.running.Wait()
}

func (s *Server) accept() {
	for {
		connection, err := s.listener.Accept()
		if err == nil {
			s.running.Go(func() { s.serve(connection) })
			continue
		}
		if s.ctx.Err() == nil {
			s.options.Logger.Warn("the data port cannot take a connection", "address", s.Addr(), "error", err)
		}
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(acceptPause):
		}
	}
}

// serve replies to the requests on one connection until the connection ends.
func (s *Server) serve(raw net.Conn) {
	defer func() { _ = raw.Close() }()
	defer context.AfterFunc(s.ctx, func() { _ = raw.Close() })()
	connection := tls.Server(timedConn{raw, s.options.Timeout}, s.options.TLS)
	limited, cancel := context.WithTimeout(s.ctx, s.options.Timeout)
	err := connection.HandshakeContext(limited)
	cancel()
	requests := bufio.NewReader(connection)
	for err == nil {
		var ids []block.ID
		if ids, err = readRequest(requests); err == nil {
			err = s.reply(connection, ids)
		}
	}
	s.options.Logger.Debug("a connection to the data port ended", "peer", raw.RemoteAddr(), "error", err)
}

func (s *Server) reply(connection net.Conn, ids []block.ID) error {
	w := writers.Get().(*bufio.Writer)
	w.Reset(connection)
	defer func() {
		w.Reset(nil)
		writers.Put(w)
	}()
	for _, id := range ids {
		if err := s.send(w, id); err != nil {
			return err
		}
	}
	return w.Flush()
}

// send writes a block to the reply. If the block cannot be opened or read, send writes
// statusMissing or statusDamaged. It returns an error only if writing fails.
func (s *Server) send(w *bufio.Writer, id block.ID) error {
	content, err := s.open(id)
	if errors.Is(err, block.ErrNotFound) {
		return w.WriteByte(statusMissing)
	}
	if err != nil {
		return s.sendDamaged(w, err)
	}
	defer content.Release()
	if _, err := w.Write(binary.AppendUvarint(append(w.AvailableBuffer(), statusFound), uint64(content.Size()))); err != nil {
		return err
	}
	for chunk := int64(0); chunk*block.ChunkSize < content.Size(); chunk++ {
		length := int(min(block.ChunkSize, content.Size()-chunk*block.ChunkSize))
		if w.Available() < chunkHeader+length {
			if err := w.Flush(); err != nil {
				return err
			}
		}
		frame := w.AvailableBuffer()[:chunkHeader+length] // the chunk is read directly into the buffer of w
		checksum, err := content.ReadChunk(chunk, frame[chunkHeader:])
		if err != nil {
			return s.sendDamaged(w, err)
		}
		frame[0] = statusFound
		binary.BigEndian.PutUint32(frame[1:], checksum)
		if _, err := w.Write(frame); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) sendDamaged(w *bufio.Writer, cause error) error {
	s.options.Logger.Warn("a requested block cannot be read", "error", cause)
	_, err := w.Write(appendText([]byte{statusDamaged}, cause.Error()))
	return err
}
