// Package ipctest is a server of Hadoop's IPC for tests: real TCP on loopback,
// SASL as Hadoop's servers do it, and methods that are Go functions.
package ipctest

import (
	"context"
	"fmt"
	"net"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security/sasl"
)

// Options configures a Server.
type Options struct {
	// Password returns the password of the token with an identifier, or an
	// error, usually an *Exception of class InvalidToken. Nil makes a server
	// without security, which believes the names that clients claim.
	Password func(identifier []byte) ([]byte, error)
	// QOPs are those offered. Default: auth.
	QOPs []sasl.QOP
	// Ciphers are those offered for auth-conf. Default: all.
	Ciphers []string
	// LateChallenge makes the server challenge only when the client has
	// initiated, as servers with several ways of authentication do.
	LateChallenge bool
}

// Exception is an error that reaches the client as a Java exception.
type Exception struct {
	// Class is the Java class name.
	Class string
	// Text is what the client is told, often with a stack trace.
	Text string
	// Fatal ends the connection.
	Fatal bool
}

func (e *Exception) Error() string { return e.Class + ": " + e.Text }

// Call tells a handler about the call and its connection.
type Call struct {
	ID         int32
	RetryCount int32
	ClientID   []byte
	// User is the effective user the client claimed, empty with a token.
	User string
	// Identifier is that of the client's token, nil without one.
	Identifier []byte

	connection *connection
}

// Drop closes the call's connection.
func (c Call) Drop() { _ = c.connection.conn.Close() }

// Write puts bytes on the call's connection as they are.
func (c Call) Write(b []byte) error {
	c.connection.writing.Lock()
	defer c.connection.writing.Unlock()
	_, err := c.connection.conn.Write(b)
	return err
}

// handler serves one method.
type handler func(ctx context.Context, call Call, raw []byte) (proto.Message, error)

// Server is a running server.
type Server struct {
	options  Options
	listener net.Listener
	// ctx ends with Close; handlers see it.
	ctx    context.Context
	cancel context.CancelFunc
	loops  sync.WaitGroup

	mu          sync.Mutex
	handlers    map[string]handler
	connections map[*connection]struct{}
	accepted    int
	pings       chan struct{}
}

// NewServer listens on a free port of 127.0.0.1. The caller must Close it.
func NewServer(options Options) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen on loopback: %w", err)
	}
	if len(options.QOPs) == 0 {
		options.QOPs = []sasl.QOP{sasl.Auth}
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{
		options:     options,
		listener:    listener,
		ctx:         ctx,
		cancel:      cancel,
		handlers:    map[string]handler{},
		connections: map[*connection]struct{}{},
		pings:       make(chan struct{}, 1),
	}
	s.loops.Add(1)
	go s.accept()
	return s, nil
}

// Handle serves a method of a protocol by f, which is called in a goroutine of
// its own for each call. An error that is no *Exception reaches the client as a
// java.io.IOException.
func Handle[Request, Response any, PRequest interface {
	*Request
	proto.Message
}, PResponse interface {
	*Response
	proto.Message
}](s *Server, protocol, method string, f func(ctx context.Context, call Call, request PRequest) (PResponse, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[protocol+"."+method] = func(ctx context.Context, call Call, raw []byte) (proto.Message, error) {
		request := PRequest(new(Request))
		if err := proto.Unmarshal(raw, request); err != nil {
			return nil, err
		}
		response, err := f(ctx, call, request)
		if err != nil {
			return nil, err
		}
		return response, nil
	}
}

// Address returns the server's host:port.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Connections returns how many connections were ever accepted.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Pings holds a value after a ping came.
func (s *Server) Pings() <-chan struct{} { return s.pings }

// Close ends the server and its connections, and waits for its goroutines.
// Handlers see their context end.
func (s *Server) Close() {
	s.cancel()
	_ = s.listener.Close()
	s.DropConnections()
	s.loops.Wait()
}

// DropConnections closes every connection there is.
func (s *Server) DropConnections() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for connection := range s.connections {
		_ = connection.conn.Close()
	}
}

func (s *Server) accept() {
	defer s.loops.Done()
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		c := &connection{server: s, conn: conn}
		s.mu.Lock()
		if s.ctx.Err() != nil {
			s.mu.Unlock()
			_ = conn.Close()
			return
		}
		s.connections[c] = struct{}{}
		s.accepted++
		s.mu.Unlock()
		s.loops.Add(1)
		go func() {
			defer s.loops.Done()
			c.serve()
			_ = conn.Close()
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.connections, c)
		}()
	}
}

// find returns the handler of a method.
func (s *Server) find(protocol, method string) (handler, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.handlers[protocol+"."+method]
	return h, ok
}
