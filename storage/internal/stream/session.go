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
	// connectTimeout limits the time to connect to a datanode. It is short, because another
	// datanode of the block can be tried.
	connectTimeout = 10 * time.Second
	// defaultSocketTimeout is the default of dfs.client.socket-timeout.
	defaultSocketTimeout = 60 * time.Second
)

// Options are common to all files of one name service.
type Options struct {
	NameNode *namenode.Client
	User     string // user name in HDFS
	// Hadoop contains Hadoop's configuration properties, which apply to connections to
	// datanodes.
	Hadoop map[string]string
	// SocketTimeout limits the time of each read from and write to a datanode; 0 means 60 s.
	SocketTimeout time.Duration
	// Dial connects to datanodes; nil means net.Dialer's DialContext.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Logger logs retries.
	Logger *slog.Logger

	pause time.Duration // pause before the second attempt of a read; 0 means defaultPause
}

// session is a client of colinmarc/hdfs for one open file, with the client's connections.
type session struct {
	options Options
	ctx     context.Context // ends when the file's context ends or the session is closed
	cancel  context.CancelFunc
	handler namenode.Handler
	client  *hdfs.Client
	writing bool // the file is being written; conn then hides failed writes
	serving sync.WaitGroup

	mu            sync.Mutex
	closed        bool
	conns         map[*conn]struct{}
	preparedConns map[string]net.Conn // connections that pipeline made for dialDatanode, by address
	broken        error               // the first error of a datanode connection while the file is being written
	token         *securitypb.Token   // the newest block token; nil on a cluster without Kerberos
	callErr       error               // the error of the last call to the NameNode
}

// newSession returns a session with a new client. It calls the function answers once, with the
// session, to get the handler of the client's NameNode calls.
func newSession(ctx context.Context, options Options, writing bool, answers func(*session) namenode.Handler) (*session, error) {
	options.SocketTimeout = cmp.Or(options.SocketTimeout, defaultSocketTimeout)
	if options.Dial == nil {
		options.Dial = (&net.Dialer{}).DialContext
	}
	s := &session{options: options, writing: writing, conns: map[*conn]struct{}{}, preparedConns: map[string]net.Conn{}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.handler = answers(s)
	settings := hdfs.ClientOptionsFromConf(hadoopconf.HadoopConf(options.Hadoop))
	// The client does not connect to a NameNode, but to a stand-in in this process, without
	// Kerberos: namenode.Serve. The stand-in forwards calls to the real NameNodes.
	settings.Addresses, settings.KerberosClient = []string{"namenode"}, nil
	settings.User = options.User
	settings.DataTransferProtection = "" // session.protect does this instead of the library
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

// close ends the session's operations, connections and goroutines, and waits for the goroutines.
func (s *session) close() {
	s.cancel()
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return
	}
	_ = s.client.Close() // the result of the operation is already known
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

// dialNameNode returns a connection to a new goroutine, which acts as the NameNode and replies
// with the results of s.call.
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

// call handles a NameNode call of colinmarc/hdfs and records its error.
func (s *session) call(method string, request []byte) ([]byte, error) {
	response, err := s.handler(method, request)
	if method != "renewLease" {
		// The error of a lease renewal is not recorded, because colinmarc/hdfs renews the lease
		// in the background and repeats a failed renewal.
		s.setCallErr(err)
	}
	return response, err
}

func (s *session) setCallErr(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callErr = err
}

// dialDatanode returns the connection to a datanode that storeConn has stored or, without one, a
// new connection. The connection is closed when the session ends.
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

// dialProtected connects to a datanode, with the protection that the cluster requires.
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

// recordBroken records the first error of a datanode connection if the file is being written.
func (s *session) recordBroken(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = err
	}
}

// cause returns the cause of err, an error of colinmarc/hdfs. If the last NameNode call failed,
// the cause is that call's error, and fromCall is true. Otherwise, it is the first error of a
// datanode connection, or err if there is none.
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

// forward sends a NameNode call of colinmarc/hdfs to the real NameNode.
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
