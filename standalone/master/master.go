// Package master implements a master of a standalone cluster. Workers and applications attach
// to the leading master, which decides which executors and drivers run on which workers
// (package cluster).
//
// While a master leads, one goroutine owns the cluster's state (type term), and another one
// writes each change to the store before it sends the orders that depend on the change (type
// journal). A standby waits to be elected. It serves only Status and the service Files, and
// refuses all other calls with an error that names the leader. The caller creates a Master
// with New, and calls Run.
package master

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

// Options configure a Master.
type Options struct {
	// Settings are the master's settings; nil means the defaults.
	Settings *config.Config
	// Host is the host name on which the master listens, and by which others reach it. It is
	// required.
	Host string
	// Port is the port on which the master listens; 0 means a free port.
	Port int
	// WebPort is the port of the web page; 0 means a free port, -1 means no page.
	WebPort int
	// WorkDir is the directory for uploaded files. It is created if it does not exist. It is
	// required.
	WorkDir string
	// Credentials are the cluster's credentials. They are required.
	Credentials *protocol.Credentials
	// Backend stores the cluster's state and elects the leader. The caller closes it. nil
	// means a store in memory.
	Backend recovery.Backend
	// Logger receives the log; nil means slog.Default().
	Logger *slog.Logger
}

// Master is one of the masters of a standalone cluster.
type Master struct {
	options  Options
	settings *config.Config
	logger   *slog.Logger
	backend  recovery.Backend
	files    *fileStore
	started  time.Time

	listener net.Listener
	web      *web // nil if there is no web page
	server   *grpc.Server
	ran      atomic.Bool

	leading atomic.Pointer[term] // nil while another master leads
}

// New returns a master that listens on its ports. Run makes it serve.
func New(options Options) (*Master, error) {
	switch {
	case options.Host == "":
		return nil, errors.New("the master needs the name of its host")
	case options.WorkDir == "":
		return nil, errors.New("the master needs a work directory")
	case options.Credentials == nil:
		return nil, errors.New("the master needs the cluster's credentials")
	}
	if ip := net.ParseIP(options.Host); ip != nil && ip.IsUnspecified() {
		return nil, fmt.Errorf("the master's host is %s, at which nobody can reach it: name the machine, or one of its addresses", options.Host)
	}
	m := &Master{options: options, settings: options.Settings, logger: options.Logger, backend: options.Backend, started: time.Now()}
	if m.settings == nil {
		m.settings = config.Default()
	}
	if m.logger == nil {
		m.logger = slog.Default()
	}
	if m.backend == nil {
		m.backend = recovery.Memory()
	}
	if err := os.MkdirAll(options.WorkDir, 0o755); err != nil {
		return nil, fmt.Errorf("the master's work directory: %w", err)
	}
	var err error
	if m.files, err = openFileStore(filepath.Join(options.WorkDir, "files")); err != nil {
		return nil, err
	}
	if m.listener, err = net.Listen("tcp", net.JoinHostPort(options.Host, strconv.Itoa(options.Port))); err != nil {
		return nil, fmt.Errorf("the master cannot listen: %w", err)
	}
	if options.WebPort >= 0 {
		if m.web, err = m.listenWeb(); err != nil {
			_ = m.listener.Close()
			return nil, err
		}
	}
	m.server = grpc.NewServer(append(options.Credentials.ServerOptions(), grpc.WaitForHandlers(true))...)
	protocol.RegisterWorkerServer(m.server, &workerService{master: m})
	protocol.RegisterApplicationServer(m.server, &applicationService{master: m})
	protocol.RegisterClusterServer(m.server, &clusterService{master: m})
	protocol.RegisterFilesServer(m.server, &filesService{master: m, files: m.files})
	return m, nil
}

// Address returns the master's host:port.
func (m *Master) Address() string { return withPort(m.options.Host, m.listener.Addr()) }

// URL returns the master's URL, bobbin://host:port.
func (m *Master) URL() string { return masterurl.StandaloneURL(m.Address()) }

// WebURL returns the URL of the master's web page, or "" if it has none.
func (m *Master) WebURL() string {
	if m.web == nil {
		return ""
	}
	return "http://" + withPort(m.options.Host, m.web.listener.Addr()) + "/"
}

func withPort(host string, address net.Addr) string {
	_, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return address.String()
	}
	return net.JoinHostPort(host, port)
}

// Run serves until ctx ends, and leads whenever this master is elected. It releases the
// resources that New acquired. It returns nil if ctx has ended, otherwise the error because of
// which the master cannot continue. It must be called only once.
func (m *Master) Run(ctx context.Context) error {
	if m.ran.Swap(true) {
		return errors.New("the master has run already")
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	if m.web != nil {
		serving.Go(m.web.serve)
		defer m.web.close()
	}
	serving.Go(func() {
		if err := m.server.Serve(m.listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			m.logger.Error("the master takes no more connections", "address", m.Address(), "error", err)
		}
	})
	defer m.stopServing()
	serving.Go(func() { m.removeOldFiles(ctx) })
	m.logger.Info("the master is ready", "master", m.URL(), "page", m.WebURL())
	for {
		lease, err := m.backend.Campaign(ctx, m.Address())
		switch {
		case ctx.Err() != nil:
			if err == nil {
				m.resign(lease)
			}
			return nil
		case err != nil:
			return fmt.Errorf("the master cannot become the leader: %w", err)
		}
		if err := m.lead(ctx, lease); err != nil {
			return err
		}
	}
}

// stopTimeout limits how long a stopping master waits until its streams have ended.
const stopTimeout = 2 * time.Second

func (m *Master) stopServing() {
	timer := time.AfterFunc(stopTimeout, m.server.Stop)
	m.server.GracefulStop()
	timer.Stop()
}

// lead makes this master the leader until the term (lease) or ctx ends. It fails if it cannot
// load the stored state.
func (m *Master) lead(ctx context.Context, lease recovery.Term) error {
	defer m.resign(lease)
	t := m.newTerm(lease)
	if err := t.recover(ctx); err != nil {
		if ctx.Err() != nil || errors.Is(err, recovery.ErrLost) {
			return nil
		}
		return fmt.Errorf("the master cannot read the state of its predecessor: %w", err)
	}
	t.logger.Info("this master leads", "master", m.URL(), "phase", t.cluster.Phase())
	m.leading.Store(t)
	t.run(ctx)
	m.leading.Store(nil)
	t.logger.Info("this master no longer leads", "master", m.URL())
	return nil
}

// resignTimeout limits the call that ends this master's leadership.
const resignTimeout = 5 * time.Second

func (m *Master) resign(lease recovery.Term) {
	ctx, cancel := context.WithTimeout(context.Background(), resignTimeout)
	defer cancel()
	if err := lease.Resign(ctx); err != nil && !errors.Is(err, recovery.ErrLost) {
		m.logger.Warn("cannot give leadership up; another master takes it once it runs out", "error", err)
	}
}

func (m *Master) clusterOptions() cluster.Options {
	c := m.settings
	return cluster.Options{
		SpreadOut:            config.SpreadOutApps.In(c),
		DefaultCores:         config.DefaultCores.In(c),
		MaxExecutorRetries:   config.MaxExecutorRetries.In(c),
		RetainedApplications: config.RetainedApplications.In(c),
		RetainedDrivers:      config.RetainedDrivers.In(c),
		WorkerTimeout:        config.WorkerTimeout.In(c),
		ReconnectTimeout:     config.ReconnectTimeout.In(c),
		RecoveryTimeout:      config.RecoveringTimeout(c),
		DeadWorkerRetention:  time.Duration(config.DeadWorkerPersistence.In(c)) * config.WorkerTimeout.In(c),
	}
}

func (m *Master) notLeading() error {
	leader := m.backend.Leader()
	if leader == m.Address() {
		leader = "" // this master's term has ended, or has not begun
	}
	return protocol.StandbyError(leader)
}

// leader returns this master's term. If this master does not lead, it returns the error of
// notLeading.
func (m *Master) leader() (*term, error) {
	if t := m.leading.Load(); t != nil {
		return t, nil
	}
	return nil, m.notLeading()
}

// heartbeatsPerTimeout is how many heartbeats a worker sends within worker.timeout.
const heartbeatsPerTimeout = 4

func (m *Master) workerWelcome(number uint64) *protocol.WorkerWelcome {
	return &protocol.WorkerWelcome{
		Master: m.Address(), WebUrl: m.WebURL(), Term: number,
		HeartbeatInterval: (config.WorkerTimeout.In(m.settings) / heartbeatsPerTimeout).Milliseconds(),
	}
}

func (m *Master) applicationWelcome(id string, number uint64) *protocol.ApplicationWelcome {
	welcome := &protocol.ApplicationWelcome{ApplicationId: id, Master: m.Address(), Term: number}
	if page := m.WebURL(); page != "" {
		welcome.WebUrl = page + "#" + id
	}
	return welcome
}
