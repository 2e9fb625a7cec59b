// Package localcluster runs a standalone cluster on this machine for one application. The
// master URL local-cluster[E,C,M] selects it: a master and E workers with C cores and M MiB of
// memory each. The master and each worker are processes of the same program as the
// application.
//
// All these processes exit when the process that started them ends: each reads a pipe that
// only that process can write, and exits at the end of the pipe. If a worker is killed,
// package guard kills the worker's processes.
package localcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

const (
	loopback = "127.0.0.1"
	// startTimeout limits the time until all processes have started.
	startTimeout = 60 * time.Second
)

// Options describe a cluster.
type Options struct {
	Workers int         // number of workers, at least 1
	Cores   int         // cores of each worker, at least 1
	Memory  config.Size // memory of each worker, above 0
	// Settings are the settings of the master and the workers; nil means the defaults. If
	// worker.dir is set, all files are created below that directory and are not removed;
	// otherwise they are temporary.
	Settings *config.Config
	// Program is the path of the program of the processes; "" means the program of this
	// process. It must call Main with the role in the environment variable launch.EnvRole.
	Program string
	Logger  *slog.Logger // nil logs nothing
}

// Cluster is a running cluster. The caller of Start must call Stop.
type Cluster struct {
	url         string
	credentials *protocol.Credentials
	directory   string
	keepFiles   bool // whether Stop must not remove directory
	logger      *slog.Logger
	master      *child
	workers     []*child
}

// Start starts a cluster, and waits until all its workers have registered. If ctx ends before,
// Start fails. After Start has returned, ctx has no effect.
func Start(ctx context.Context, options Options) (cluster *Cluster, err error) {
	if options.Workers < 1 || options.Cores < 1 || options.Memory <= 0 {
		return nil, fmt.Errorf("a local cluster of %d workers with %d cores and %v: want at least one of each",
			options.Workers, options.Cores, options.Memory)
	}
	if options.Settings == nil {
		options.Settings = config.Default()
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Program == "" {
		options.Program = "/proc/self/exe"
	}
	secret := protocol.NewSecret()
	c := &Cluster{logger: options.Logger}
	if c.credentials, err = protocol.FromSecret(secret); err != nil {
		return nil, err
	}
	if err := c.makeDirectory(config.WorkerDir.In(options.Settings)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("it took longer than %v", startTimeout))
	defer cancel()
	if err := c.start(ctx, options, secret); err != nil {
		stopped, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancel() // makes Stop kill the processes immediately
		return nil, errors.Join(fmt.Errorf("start a local cluster: %w", err), c.Stop(stopped))
	}
	return c, nil
}

func (c *Cluster) URL() string { return c.url }

// Credentials returns the credentials that the cluster accepts.
func (c *Cluster) Credentials() *protocol.Credentials { return c.credentials }

// makeDirectory creates the cluster's directory below parent, or a temporary directory if
// parent is "".
func (c *Cluster) makeDirectory(parent string) error {
	if c.keepFiles = parent != ""; c.keepFiles {
		if err := os.MkdirAll(parent, 0o755); err != nil {
			return fmt.Errorf("the local cluster's directory: %w", err)
		}
	}
	made, err := os.MkdirTemp(parent, "bobbin-local-cluster-")
	if err != nil {
		return fmt.Errorf("the local cluster's directory: %w", err)
	}
	c.directory, err = filepath.Abs(made)
	return err
}

// Subdirectories of the cluster's directory: the master's directory, and the workers' shared
// cache.
const (
	masterPart = "master"
	cachePart  = "cache"
)

func (c *Cluster) part(name string) string { return filepath.Join(c.directory, name) }

func (c *Cluster) start(ctx context.Context, options Options, secret []byte) error {
	common := childInstructions{Secret: secret, Settings: settingsOf(options.Settings), Directory: c.directory, KeepFiles: c.keepFiles}
	var seeding sync.WaitGroup
	defer seeding.Wait()
	seeding.Go(func() {
		if err := c.shareProgram(options.Program); err != nil {
			c.logger.Debug("the program will be sent to the local cluster", "reason", err)
		}
	})
	var err error
	if c.master, err = startChild(options.Program, launch.RoleMaster, common, "the local cluster's master", c.logger); err != nil {
		return err
	}
	ready, err := c.master.waitReady(ctx)
	if err != nil {
		return err
	}
	c.url = masterurl.StandaloneURL(ready.Address)
	for number := range options.Workers {
		given := common
		given.Master = ready.Address
		given.Worker = "worker-" + strconv.Itoa(number+1)
		given.Cores, given.Memory = options.Cores, int64(options.Memory)
		worker, err := startChild(options.Program, launch.RoleWorker, given, "worker "+strconv.Itoa(number+1)+" of the local cluster", c.logger)
		if err != nil {
			return err
		}
		c.workers = append(c.workers, worker)
	}
	for _, worker := range c.workers {
		if _, err := worker.waitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// settingsOf returns the settings of the master and the workers: a copy of the given settings
// without "master", "worker.dir" and the credentials. If the log level is not set, the
// processes log only errors.
func settingsOf(settings *config.Config) map[string]string {
	values := settings.Map()
	for _, key := range []config.Key[string]{
		config.Master, config.WorkerDir, config.AuthenticateSecret, config.AuthenticateSecretFile,
		config.SSLCertFile, config.SSLKeyFile, config.SSLCAFile,
	} {
		delete(values, key.Name())
	}
	if values == nil {
		values = map[string]string{}
	}
	if !settings.IsSet(config.LogLevel.Name()) {
		values[config.LogLevel.Name()] = "error" // the driver logs other events
	}
	return values
}

// Stop stops the workers and all their processes, and then the master. When ctx ends, it kills
// the processes that still run.
func (c *Cluster) Stop(ctx context.Context) error {
	// Request all stops before waiting, because each worker may take a while to stop.
	for _, worker := range c.workers {
		worker.requestStop()
	}
	var problems []error
	for _, worker := range c.workers {
		problems = append(problems, worker.wait(ctx))
	}
	if c.master != nil {
		c.master.requestStop()
		problems = append(problems, c.master.wait(ctx))
	}
	if !c.keepFiles {
		problems = append(problems, os.RemoveAll(c.directory))
	}
	return errors.Join(problems...)
}

// childInstructions are the first line, as JSON, on the stdin of a master's or worker's
// process. They include the cluster's secret; no other process can read the pipe.
type childInstructions struct {
	Secret    []byte            `json:"secret"`
	Settings  map[string]string `json:"settings"`
	Directory string            `json:"directory"` // the cluster's directory
	KeepFiles bool              `json:"keepFiles"` // whether the process must not remove Directory

	// Fields for workers only.
	Master string `json:"master,omitempty"` // host:port
	Worker string `json:"worker,omitempty"` // name of the worker's directory below Directory
	Cores  int    `json:"cores,omitempty"`
	Memory int64  `json:"memory,omitempty"` // bytes
}

// childReadiness is the line, as JSON, that a process writes to its stdout when it is ready or
// has failed.
type childReadiness struct {
	Address string `json:"address,omitempty"` // master's host:port; "" from a worker
	Error   string `json:"error,omitempty"`   // why the process failed; "" if it is ready
}

func (r childReadiness) encode() []byte {
	encoded, err := json.Marshal(r)
	if err != nil {
		return nil // cannot happen: strings can always be encoded
	}
	return append(encoded, '\n')
}
