package stream

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"github.com/colinmarc/hdfs/v2/hadoopconf"

	securitypb "github.com/bobbin-yarn/bobbin/internal/hadoop/security/pb"
	"github.com/bobbin-yarn/bobbin/storage/internal/namenode"
)

const (
	// connectTimeout limits connecting to a datanode. It is short, because another datanode
	// of the block can be tried.
	connectTimeout = 10 * time.Second
	// defaultSocketTimeout is the default of dfs.client.socket-timeout.
	defaultSocketTimeout = 60 * time.Second
)

// Options are common to all files of one name service.
type Options struct {
	NameNode *namenode.Client
	User     string // user name in HDFS
	// Hadoop has the properties of Hadoop's configuration, for connections to datanodes.
	Hadoop map[string]string
	// SocketTimeout limits one read or write at a datanode; 0 means 60 s.
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
	handler namenode.Handler
	client  *hdfs.Client
	writing bool // the file is being written, not read; then conn hides failed writes
	serving sync.WaitGroup

	mu            sync.Mutex
	closed        bool
	conns         map[*conn]struct{}
	preparedConns map[string]net.Conn // connections that pipeline made for dialDatanode, by address
	broken        error               // the error of the first broken connection, if writing
	token         *securitypb.Token   // the newest block token; nil on a cluster without Kerberos
	callErr       error               // the error of the last call to the NameNode
}

// newSession returns a session with a new client. answers is called once, with the session,
// and returns the handler of the client's NameNode calls.
func newSession(ctx context.Context, options Options, writing bool, answers func(*session) namenode.Handler) (*session, error) {
	options.SocketTimeout = cmp.Or(options.SocketTimeout, defaultSocketTimeout)
	if options.Dial == nil {
		options.Dial = (&net.Dialer{}).DialContext
	}
	s := &session{options: options, writing: writing, conns: map[*conn]struct{}{}, preparedConns: map[string]net.Conn{}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.handler = answers(s)
	settings := hdfs.ClientOptionsFromConf(hadoopconf.HadoopConf(options.Hadoop))
	// The client's NameNode is namenode.Serve in this process, without Kerberos; package
	// namenode makes the real connections.
	settings.Addresses, settings.KerberosClient = []string{"namenode"}, nil
	settings.User = options.User
	settings.DataTransferProtection = "" // protect does this instead of the library
	settings.NamenodeDialFunc = s.dialNameNode
	settings.DatanodeDialFunc = s.dialProtected
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

// close ends the session's operations, connections and goroutines.
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
	for address, c := range s.preparedConns {
		_ = c.Close()
		delete(s.preparedConns, address)
	}
}

// dialNameNode returns a connection to a new goroutine that acts as the NameNode and answers
// calls with s.call.
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
	response, err := s.handler(method, request)
	if method != "renewLease" {
		// The error of a lease renewal is not recorded, because colinmarc/hdfs renews in the
		// background and repeats a failed renewal.
		s.setCallErr(err)
	}
	return response, err
}

func (s *session) setCallErr(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callErr = err
}

// dialDatanode connects to a datanode, or takes the connection that storeConn has kept. The
// connection is closed when the session ends.
func (s *session) dialDatanode(_ context.Context, network, address string) (net.Conn, error) {
	s.mu.Lock()
	raw := s.preparedConns[address]
	delete(s.preparedConns, address)
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

// dialProtected connects to a datanode, and protects the connection as the cluster
// asks for.
func (s *session) dialProtected(ctx context.Context, network, address string) (net.Conn, error) {
	raw, err := s.dialDatanode(ctx, network, address)
	if err != nil {
		return nil, err
	}
	secure, err := s.protect(raw)
	if err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("datanode %s: %w", address, err)
	}
	return secure, nil
}

// recordBroken records the first error of a datanode connection while the file is being written.
func (s *session) recordBroken(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = err
	}
}

// cause returns the reason for err, an error of colinmarc/hdfs. If the last NameNode call
// failed, the reason is that call's error, and fromCall is true. Else it is the error of the
// first broken connection, or err if no connection is broken.
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
		return s.serverDefaults()
	}
	answer, err := s.options.NameNode.Forward(s.ctx, method, request)
	if err == nil {
		err = s.recordBlockToken(method, answer)
	}
	return answer, err
}
