// Package ipctest is a server of Hadoop's IPC for tests: SASL as Hadoop's
// servers do it, methods that are Go functions, and faults on demand. It
// listens on loopback, or serves whatever connections it is given.
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
	// Fault says what goes wrong with a call, before it is handled. Nil, or a zero
	// Fault, lets all go right.
	Fault func(protocol, method string, call Call) Fault
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
	options Options
	// ctx ends with Close; handlers see it.
	ctx    context.Context
	cancel context.CancelFunc
	loops  sync.WaitGroup

	mu          sync.Mutex
	listener    net.Listener
	handlers    map[string]handler
	connections map[*connection]struct{}
	accepted    int
	pings       chan struct{}
}

// New returns a server that serves the connections that ServeConn and Serve
// give it. The caller must Close it.
func New(options Options) *Server {
	if len(options.QOPs) == 0 {
		options.QOPs = []sasl.QOP{sasl.Auth}
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Server{
		options:     options,
		ctx:         ctx,
		cancel:      cancel,
		handlers:    map[string]handler{},
		connections: map[*connection]struct{}{},
		pings:       make(chan struct{}, 1),
	}
}

// NewServer returns a server that listens on a free port of 127.0.0.1. The
// caller must Close it.
func NewServer(options Options) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen on loopback: %w", err)
	}
	s := New(options)
	s.Serve(listener)
	return s, nil
}

// Serve accepts connections from listener until that is closed, which Close
// does. It returns at once.
func (s *Server) Serve(listener net.Listener) {
	s.mu.Lock()
	s.listener = listener
	s.mu.Unlock()
	s.loops.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.ServeConn(conn)
		}
	})
}

// ServeConn serves one connection, which is then the server's to close. It
// returns at once.
func (s *Server) ServeConn(conn net.Conn) {
	c := &connection{server: s, conn: conn}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		_ = conn.Close()
		return
	}
	s.connections[c] = struct{}{}
	s.accepted++
	s.loops.Go(func() {
		c.serve()
		_ = conn.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.connections, c)
	})
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

// Address returns the host:port of the server's listener.
func (s *Server) Address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listener.Addr().String()
}

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
	s.mu.Lock()
	s.cancel()
	if s.listener != nil {
		_ = s.listener.Close()
	}
	s.mu.Unlock()
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

// find returns the handler of a method.
func (s *Server) find(protocol, method string) (handler, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.handlers[protocol+"."+method]
	return h, ok
}
