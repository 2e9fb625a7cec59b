package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/user"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
)

const defaultTimeout = 30 * time.Second

// Options configure [New]. With zero Options, all paths are on the local disk.
type Options struct {
	// Hadoop is the cluster's configuration. If nil, HDFS cannot be used.
	Hadoop *conf.Config
	// User is the user name in HDFS; "" means HADOOP_USER_NAME, else the system's user.
	User string
	// RealUser is the user who has logged in to Kerberos and impersonates User; "" if nobody
	// does.
	RealUser string
	// Kerberos is the user's Kerberos login; nil if there is none.
	Kerberos *kerberos.Client
	// Tokens contains delegation tokens of clusters with Kerberos. A file system whose token it
	// contains is accessed with the token instead of the Kerberos login. May be nil.
	Tokens *security.Credentials
	// Timeout is how long an operation is retried while no NameNode responds; 0 means 30 s. An
	// operation fails earlier if its context ends.
	Timeout time.Duration
	// Logger logs retries and failed clean-ups; nil logs nothing.
	Logger *slog.Logger
}

// Files provides access to HDFS and the local disk. It is safe for concurrent use. Connections
// to NameNodes are opened on first use and closed by Close.
type Files struct {
	options Options
	err     error // if not nil, every operation returns this error

	mu      sync.Mutex
	closed  bool
	systems map[string]fileSystem // by URI root, such as "hdfs://cluster1"

	wrap func(fileSystem) fileSystem // set by tests to inject failures into file systems; nil otherwise
}

// New returns a Files. It opens no connections.
func New(options Options) *Files {
	if options.User == "" {
		options.User = currentUser()
	}
	if options.Timeout <= 0 {
		options.Timeout = defaultTimeout
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	return &Files{options: options, systems: map[string]fileSystem{}}
}

// currentUser returns the user name that Hadoop's client uses on a cluster without Kerberos:
// HADOOP_USER_NAME, else the name of the system's user.
func currentUser() string {
	if name := os.Getenv("HADOOP_USER_NAME"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}

// Close closes all connections. Later operations fail, also operations on open files.
func (f *Files) Close() error {
	f.mu.Lock()
	systems := f.systems
	f.systems, f.closed = nil, true
	f.mu.Unlock()
	var errs []error
	for _, system := range systems {
		errs = append(errs, system.close())
	}
	return errors.Join(errs...)
}

// system returns the file system with the given URI root. The first call for a root calls the
// function open.
func (f *Files) system(root string, open func() (fileSystem, error)) (fileSystem, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, fmt.Errorf("this storage.Files was closed: %w", fs.ErrClosed)
	}
	if s, ok := f.systems[root]; ok {
		return s, nil
	}
	s, err := open()
	if err != nil {
		return nil, err
	}
	if f.wrap != nil {
		s = f.wrap(s)
	}
	f.systems[root] = s
	return s, nil
}

type contextKey struct{}

// With returns a context that contains files, for [From]. The context of a task contains a
// Files.
func With(ctx context.Context, files *Files) context.Context {
	return context.WithValue(ctx, contextKey{}, files)
}

// From returns the Files in ctx. If ctx contains none, it returns a Files whose operations all
// fail.
func From(ctx context.Context) *Files {
	if files, ok := ctx.Value(contextKey{}).(*Files); ok && files != nil {
		return files
	}
	files := New(Options{})
	files.err = errors.New("this context carries no storage.Files: use the context of a task, or storage.With(ctx, files)")
	return files
}
