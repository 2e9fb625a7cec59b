package stream

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"github.com/colinmarc/hdfs/v2/hadoopconf"

	"github.com/bobbin-yarn/bobbin/storage/internal/namenode"
)

const (
	// connectTimeout bounds connecting to a datanode: there are others.
	connectTimeout = 10 * time.Second
	// defaultSocketTimeout is dfs.client.socket-timeout's.
	defaultSocketTimeout = 60 * time.Second
)

// Options are what the files of one name service have in common.
type Options struct {
	NameNode *namenode.Client
	// User is whom the files are read and written as.
	User string
	// Hadoop is the configuration by key; how to talk to datanodes is taken
	// from it.
	Hadoop map[string]string
	// SocketTimeout is how long a datanode may take to send or to take the next
	// bytes; by default 60 s.
	SocketTimeout time.Duration
	// Dial connects to datanodes; by default as net.Dialer does.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Logger gets what was tried again.
	Logger *slog.Logger

	pause time.Duration // before reading again; shorter in tests
}

// session is one open file's colinmarc client and its connections.
type session struct {
	options Options
	ctx     context.Context // ends with the file's context, or when the session is closed
	cancel  context.CancelFunc
	answer  namenode.Handler
	client  *hdfs.Client
	// writing sessions hide from colinmarc/hdfs that a connection is broken;
	// see conn.
	writing bool
	serving sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	conns   map[*conn]struct{}
	ready   map[string]net.Conn // connections made ahead of their use, by address
	broken  error               // what the first broken connection of a writing session broke of
	callErr error               // how the latest call to the NameNode ended
}

// newSession makes a session whose calls to the NameNode are answered by what
// answers makes.
func newSession(ctx context.Context, options Options, writing bool, answers func(*session) namenode.Handler) (*session, error) {
	options.SocketTimeout = cmp.Or(options.SocketTimeout, defaultSocketTimeout)
	if options.Dial == nil {
		options.Dial = (&net.Dialer{}).DialContext
	}
	s := &session{options: options, writing: writing, conns: map[*conn]struct{}{}, ready: map[string]net.Conn{}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.answer = answers(s)
	settings := hdfs.ClientOptionsFromConf(hadoopconf.HadoopConf(options.Hadoop))
	// Package namenode authenticates; colinmarc/hdfs only talks to namenode.Serve.
	settings.Addresses, settings.KerberosClient = []string{"namenode"}, nil
	settings.User = options.User
	settings.NamenodeDialFunc = s.dialNameNode
	settings.DatanodeDialFunc = s.dialDatanode
	client, err := hdfs.NewClient(settings)
	if err != nil {
		s.cancel()
		s.serving.Wait()
		return nil, err
	}
	s.client = client
	context.AfterFunc(s.ctx, s.closeConns)
	return s, nil
}

// close ends whatever the session is doing and closes its connections.
func (s *session) close() {
	s.cancel()
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return
	}
	// What a connection that is no longer wanted says does not matter.
	_ = s.client.Close()
	s.closeConns()
	s.serving.Wait()
}

func (s *session) closeConns() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Conn.Close()
	}
	for address, c := range s.ready {
		_ = c.Close()
		delete(s.ready, address)
	}
}

// dialNameNode gives colinmarc/hdfs a connection to this process.
func (s *session) dialNameNode(context.Context, string, string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.ctx.Err() != nil {
		return nil, net.ErrClosed
	}
	server, client := net.Pipe()
	s.serving.Go(func() {
		err := namenode.Serve(server, s.call)
		_ = server.Close()
		if err != nil {
			s.setCallErr(err)
		}
	})
	return client, nil
}

// call answers a call of colinmarc/hdfs.
func (s *session) call(method string, request []byte) ([]byte, error) {
	response, err := s.answer(method, request)
	if method != "renewLease" {
		// A lease is renewed from the background, and in time again after a
		// failure.
		s.setCallErr(err)
	}
	return response, err
}

func (s *session) setCallErr(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callErr = err
}

// dialDatanode connects to a datanode, for as long as the session lasts.
func (s *session) dialDatanode(_ context.Context, network, address string) (net.Conn, error) {
	s.mu.Lock()
	raw := s.ready[address]
	delete(s.ready, address)
	s.mu.Unlock()
	if raw == nil {
		ctx, cancel := context.WithTimeout(s.ctx, connectTimeout)
		defer cancel()
		var err error
		if raw, err = s.options.Dial(ctx, network, address); err != nil {
			return nil, err
		}
	}
	c := newConn(raw, s)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		_ = raw.Close()
		return nil, s.ctx.Err()
	}
	s.conns[c] = struct{}{}
	return c, nil
}

// fail notes that a connection of a writing session is broken.
func (s *session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = err
	}
}

// cause is why an operation of colinmarc/hdfs failed with err: the failed call
// to the NameNode in full, or the broken connection, if it was one. fromCall
// reports whether it was a call.
func (s *session) cause(err error) (cause error, fromCall bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.callErr != nil:
		return s.callErr, true
	case s.broken != nil:
		return s.broken, false
	}
	return err, false
}

// forward is the answer to a call that any session passes on.
func (s *session) forward(method string, request []byte) ([]byte, error) {
	if method == "getServerDefaults" {
		return s.options.NameNode.ServerDefaults(s.ctx)
	}
	return s.options.NameNode.Forward(s.ctx, method, request)
}
