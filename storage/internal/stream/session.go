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
	// connectTimeout is short: there are other datanodes.
	connectTimeout = 10 * time.Second
	// defaultSocketTimeout is the default of dfs.client.socket-timeout.
	defaultSocketTimeout = 60 * time.Second
)

// Options are common to the files of one name service.
type Options struct {
	NameNode *namenode.Client
	// User is the user in HDFS.
	User string
	// Hadoop is the configuration, by key. Its settings for datanodes are used.
	Hadoop map[string]string
	// SocketTimeout is how long a read from or a write to a datanode may take; by
	// default 60 s.
	SocketTimeout time.Duration
	// Dial connects to datanodes; by default as net.Dialer does.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Logger logs retries.
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
	// writing sessions hide broken connections from colinmarc/hdfs; see conn.
	writing bool
	serving sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	conns   map[*conn]struct{}
	ready   map[string]net.Conn // unused connections, by address
	broken  error               // error of a writing session's first broken connection
	callErr error               // error of the last call to the NameNode
}

// newSession returns a session whose calls to the NameNode are handled by the
// result of answers.
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

// close ends the session's operations and closes its connections.
func (s *session) close() {
	s.cancel()
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return
	}
	_ = s.client.Close() // the error does not matter any more
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

// dialNameNode returns a connection on which this process is the NameNode.
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

// call handles a call of colinmarc/hdfs.
func (s *session) call(method string, request []byte) ([]byte, error) {
	response, err := s.answer(method, request)
	if method != "renewLease" {
		// A lease is renewed in the background, and a failed renewal is repeated.
		s.setCallErr(err)
	}
	return response, err
}

func (s *session) setCallErr(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callErr = err
}

// dialDatanode connects to a datanode. The connection ends with the session.
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

// fail records the error of a writing session's broken connection.
func (s *session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = err
	}
}

// cause returns the cause of err, which an operation of colinmarc/hdfs returned: the
// error of a call to the NameNode, in which case fromCall is true, or of a broken
// connection, or err itself.
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

// forward sends a call to the NameNode unchanged.
func (s *session) forward(method string, request []byte) ([]byte, error) {
	if method == "getServerDefaults" {
		return s.options.NameNode.ServerDefaults(s.ctx)
	}
	return s.options.NameNode.Forward(s.ctx, method, request)
}
