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
	// connectTimeout limits connecting to a datanode. It is short, because another
	// of the block's datanodes can be tried.
	connectTimeout = 10 * time.Second
	// defaultSocketTimeout is the default of dfs.client.socket-timeout.
	defaultSocketTimeout = 60 * time.Second
)

// Options are common to all files of one name service.
type Options struct {
	NameNode *namenode.Client
	// User is the user name in HDFS.
	User string
	// Hadoop is the Hadoop configuration by key. Only the settings for connections
	// to datanodes are used.
	Hadoop map[string]string
	// SocketTimeout is how long one read from or one write to a datanode may take;
	// 0 means 60 s.
	SocketTimeout time.Duration
	// Dial connects to datanodes; nil means net.Dialer's DialContext.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Logger receives retries.
	Logger *slog.Logger

	pause time.Duration // before the second attempt of a read; 0 means defaultPause
}

// session is a client of colinmarc/hdfs for one open file, and its connections.
type session struct {
	options Options
	ctx     context.Context // ends when the file's context ends or the session is closed
	cancel  context.CancelFunc
	answer  namenode.Handler
	client  *hdfs.Client
	// writing is true if the file is being written: then conn hides failed writes.
	writing bool
	serving sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	conns   map[*conn]struct{}
	ready   map[string]net.Conn // connections that pipeline made for dialDatanode, by address
	broken  error               // the error of the first broken connection, if writing
	callErr error               // the error of the last call to the NameNode
}

// newSession returns a session. The Handler that answers returns handles the calls
// that the session's client makes to the NameNode.
func newSession(ctx context.Context, options Options, writing bool, answers func(*session) namenode.Handler) (*session, error) {
	options.SocketTimeout = cmp.Or(options.SocketTimeout, defaultSocketTimeout)
	if options.Dial == nil {
		options.Dial = (&net.Dialer{}).DialContext
	}
	s := &session{options: options, writing: writing, conns: map[*conn]struct{}{}, ready: map[string]net.Conn{}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.answer = answers(s)
	settings := hdfs.ClientOptionsFromConf(hadoopconf.HadoopConf(options.Hadoop))
	// The client's only NameNode is namenode.Serve in this process, which needs no
	// Kerberos; package namenode makes the real connections.
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

// close ends the session's operations, closes its connections, and waits for its
// goroutines.
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

// dialNameNode returns a connection to a goroutine that plays the NameNode and
// handles calls with s.call.
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

// call answers a NameNode call of colinmarc/hdfs and records its error.
func (s *session) call(method string, request []byte) ([]byte, error) {
	response, err := s.answer(method, request)
	if method != "renewLease" {
		// colinmarc/hdfs renews leases in the background and repeats a failed
		// renewal, so that error is not recorded.
		s.setCallErr(err)
	}
	return response, err
}

func (s *session) setCallErr(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callErr = err
}

// dialDatanode connects to a datanode, or returns the connection that keep stored.
// The connection is closed when the session ends.
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

// fail records the first error of a connection to a datanode while the file is
// being written.
func (s *session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = err
	}
}

// cause returns the reason for err, the error of an operation of colinmarc/hdfs:
// if the last call to the NameNode failed, its error (fromCall is then true);
// else, if a connection broke, the connection's error; else err.
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

// forward sends a call of colinmarc/hdfs to the real NameNode.
func (s *session) forward(method string, request []byte) ([]byte, error) {
	if method == "getServerDefaults" {
		return s.options.NameNode.ServerDefaults(s.ctx)
	}
	return s.options.NameNode.Forward(s.ctx, method, request)
}
