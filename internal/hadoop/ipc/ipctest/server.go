// Package ipctest is a server of Hadoop RPC for tests. It authenticates with SASL
// as Hadoop's servers do, its methods are Go functions, and tests can inject
// faults. It listens on loopback, or serves connections that the test passes to it.
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
	// Password returns the password of the token with the given identifier, or an error,
	// usually an *Exception of class InvalidToken. If Password is nil, the server requires no
	// authentication, and accepts the user names that clients send.
	Password func(identifier []byte) ([]byte, error)
	// QOPs are the SASL qualities of protection that the server offers. Default: auth.
	QOPs []sasl.QOP
	// Ciphers are the ciphers that the server offers for auth-conf. Default: all.
	Ciphers []string
	// LateChallenge makes the server send its challenge only after the client has
	// initiated a mechanism, as servers that offer several mechanisms do.
	LateChallenge bool
	// Fault is called before a call is handled, and returns the faults to inject into the call.
	// If Fault is nil, no faults are injected.
	Fault func(protocol, method string, call Call) Fault
}

// Exception is an error that the server sends to the client as a Java exception.
type Exception struct {
	// Class is the Java class name.
	Class string
	// Text is the exception's text as sent, often with a stack trace.
	Text string
	// Fatal makes the server close the connection after the exception.
	Fatal bool
}

func (e *Exception) Error() string { return e.Class + ": " + e.Text }

// Call describes a call and its connection.
type Call struct {
	ID         int32
	RetryCount int32
	ClientID   []byte
	// User is the effective user that the client sends; "" if the client has a token.
	User string
	// Identifier is the identifier of the client's token; nil if the client has no token.
	Identifier []byte

	connection *connection
}

// Drop closes the connection on which the call arrived.
func (c Call) Drop() { _ = c.connection.conn.Close() }

// Write writes bytes to the call's connection without framing.
func (c Call) Write(b []byte) error {
	c.connection.writing.Lock()
	defer c.connection.writing.Unlock()
	_, err := c.connection.conn.Write(b)
	return err
}

// handler handles the calls of one method; raw is the encoded request.
type handler func(ctx context.Context, call Call, raw []byte) (proto.Message, error)

// Server is a running server of Hadoop RPC.
type Server struct {
	options Options
	// ctx is the context of all handlers. Close cancels it.
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

// New returns a server that does not listen. It serves the connections that the caller passes
// to ServeConn, and the connections of a listener that the caller passes to Serve. The caller
// must call Close.
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

// Serve accepts connections from listener in the background, and returns at once.
// Close closes listener.
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

// ServeConn serves conn in the background, and closes conn afterwards. It returns at once.
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

// Handle registers f as the handler of a method of a protocol. f is called in a new
// goroutine for each call. An error that is not an *Exception reaches the client as
// a java.io.IOException.
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

// Connections returns the number of connections accepted so far.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Pings returns a channel that receives a value when a ping has arrived. Its buffer has room
// for one value. If the buffer is full, a ping sends no value.
func (s *Server) Pings() <-chan struct{} { return s.pings }

// Close cancels the context of the handlers, closes the listener and all connections, and
// waits for the server's goroutines.
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

// DropConnections closes all current connections.
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
