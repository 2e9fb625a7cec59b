// Package localcluster is a standalone cluster on this machine for one application. The
// master URL local-cluster[E,C,M] stands for it: a master and E workers with C cores and M
// MiB of memory each, all of them processes of this same program.
//
// All exit when the process that started them ends: each reads a pipe that only that
// process can write, and exits at the pipe's end. If a worker is killed, package
// guard kills its processes.
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
	// startTimeout bounds the start of all processes.
	startTimeout = 60 * time.Second
)

// Options describe a cluster.
type Options struct {
	Workers int         // at least 1
	Cores   int         // of each worker, at least 1
	Memory  config.Size // of each worker, above 0
	// Settings are for the master and the workers; nil for the defaults. If worker.dir
	// is set, all files are kept below that directory; otherwise they are temporary.
	Settings *config.Config
	// Program is the path of the processes' program, "" for this process's. It must
	// call Main with the role that launch.EnvRole names.
	Program string
	Logger  *slog.Logger // nil logs nothing
}

// Cluster is a running cluster. The caller of Start must call Stop.
type Cluster struct {
	url         string
	credentials *protocol.Credentials
	directory   string
	keepFiles   bool // Stop does not remove directory
	logger      *slog.Logger
	master      *child
	workers     []*child
}

// Start starts a cluster, and returns when all its workers have registered. If ctx ends
// before that, Start fails; afterwards, ctx has no effect.
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
		cancel() // so that Stop kills the processes at once
		return nil, errors.Join(fmt.Errorf("start a local cluster: %w", err), c.Stop(stopped))
	}
	return c, nil
}

func (c *Cluster) URL() string { return c.url }

// Credentials returns the credentials that the cluster accepts.
func (c *Cluster) Credentials() *protocol.Credentials { return c.credentials }

// makeDirectory creates the cluster's directory below parent, or a temporary one.
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

// Subdirectories of the master, and of the workers' common cache.
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

// settingsOf returns the settings for the master and the workers, without master,
// worker.dir and credentials. By default, the processes log only errors.
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
		values[config.LogLevel.Name()] = "error" // the driver logs the rest
	}
	return values
}

// Stop stops the workers, with all their processes, and then the master. It kills
// those that remain when ctx ends.
func (c *Cluster) Stop(ctx context.Context) error {
	// Ask all at once: each may take a while to stop.
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

// childInstructions are the first line, in JSON, on the stdin of a cluster's process.
// They include the secret; no other process can read that pipe.
type childInstructions struct {
	Secret    []byte            `json:"secret"`
	Settings  map[string]string `json:"settings"`
	Directory string            `json:"directory"` // the cluster's directory
	KeepFiles bool              `json:"keepFiles"` // do not remove Directory

	// For workers only.
	Master string `json:"master,omitempty"` // host:port
	Worker string `json:"worker,omitempty"` // the name of the worker's directory below Directory
	Cores  int    `json:"cores,omitempty"`
	Memory int64  `json:"memory,omitempty"` // bytes
}

// childReadiness is the JSON line on a process's stdout once it is ready or has failed.
type childReadiness struct {
	Address string `json:"address,omitempty"` // the master's host:port; "" for a worker
	Error   string `json:"error,omitempty"`   // why it failed
}

func (r childReadiness) encode() []byte {
	encoded, err := json.Marshal(r)
	if err != nil {
		return nil // strings always encode
	}
	return append(encoded, '\n')
}
