// Package localcluster is a standalone cluster on this machine for one
// application: the master local-cluster[E,C,M], a master and E workers with C
// cores and M of memory each, all of them processes of this same program.
//
// They end with the process that started them, however it ends: each reads a
// pipe that only that process can write, and takes the pipe's end for its end.
// What workers run ends with the workers (package guard).
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
	// loopback is where everything listens: nobody else is to reach it.
	loopback = "127.0.0.1"
	// startTimeout bounds the start of all processes.
	startTimeout = 60 * time.Second
)

// Options describe a cluster.
type Options struct {
	Workers int         // at least 1
	Cores   int         // of each worker, at least 1
	Memory  config.Size // of each worker, above 0
	// Settings are for the master and the workers; nil for the defaults. With
	// worker.dir what was there stays when the cluster has ended, logs above all,
	// below that directory; without, everything is among the temporary files and
	// goes.
	Settings *config.Config
	// Program is that of the processes, which calls Main in the roles of this
	// package; "" is this process's own.
	Program string
	Logger  *slog.Logger // nil logs nothing
}

// Cluster is one that runs, from Start to Stop.
type Cluster struct {
	url         string
	credentials *protocol.Credentials
	directory   string
	kept        bool // the directory stays
	logger      *slog.Logger
	master      *child
	workers     []*child
}

// Start starts a cluster and returns when all its workers are registered. The
// cluster ends when it is stopped, or this process ends; not when ctx does.
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
		cancel() // at once
		return nil, errors.Join(fmt.Errorf("start a local cluster: %w", err), c.Stop(stopped))
	}
	return c, nil
}

// URL names the cluster's master as --master takes it.
func (c *Cluster) URL() string { return c.url }

// Credentials are what it takes to use the cluster.
func (c *Cluster) Credentials() *protocol.Credentials { return c.credentials }

// makeDirectory makes the directory of all processes.
func (c *Cluster) makeDirectory(parent string) error {
	if c.kept = parent != ""; c.kept {
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

// Parts of a cluster's directory.
const (
	masterPart = "master"
	cachePart  = "cache"
)

func (c *Cluster) part(name string) string { return filepath.Join(c.directory, name) }

func (c *Cluster) start(ctx context.Context, options Options, secret []byte) error {
	common := handed{Secret: secret, Settings: settingsOf(options.Settings), Directory: c.directory, Kept: c.kept}
	var seeding sync.WaitGroup
	defer seeding.Wait()
	seeding.Go(func() {
		if err := c.seed(options.Program); err != nil {
			c.logger.Debug("the program will be sent to the local cluster", "reason", err)
		}
	})
	var err error
	if c.master, err = startChild(options.Program, launch.RoleMaster, common, "the local cluster's master", c.logger); err != nil {
		return err
	}
	ready, err := c.master.ready(ctx)
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
		if _, err := worker.ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// settingsOf are those for the processes, which are quieter than on machines of
// their own.
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
		values[config.LogLevel.Name()] = "error" // the rest the driver hears of, and says
	}
	return values
}

// Stop ends what runs on the cluster, and the cluster. When ctx ends before, it
// is killed. Whatever it returns, no process is left.
func (c *Cluster) Stop(ctx context.Context) error {
	// All at once: a worker ends what it runs, which may take a while.
	for _, worker := range c.workers {
		worker.leave()
	}
	var problems []error
	for _, worker := range c.workers {
		problems = append(problems, worker.wait(ctx))
	}
	if c.master != nil {
		c.master.leave()
		problems = append(problems, c.master.wait(ctx))
	}
	if !c.kept {
		problems = append(problems, os.RemoveAll(c.directory))
	}
	return errors.Join(problems...)
}

// handed is what a process of the cluster is told on its stdin, as one line of
// JSON, before the pipe becomes its lifeline: no other process can read it.
type handed struct {
	Secret    []byte            `json:"secret"`
	Settings  map[string]string `json:"settings"`
	Directory string            `json:"directory"` // the cluster's
	Kept      bool              `json:"kept"`      // the directory stays

	// Of a worker.
	Master string `json:"master,omitempty"` // host:port
	Worker string `json:"worker,omitempty"` // its name below the directory
	Cores  int    `json:"cores,omitempty"`
	Memory int64  `json:"memory,omitempty"` // bytes
}

// readiness is what a process says on its stdout once it is at work, as JSON.
type readiness struct {
	Address string `json:"address,omitempty"` // host:port of a master
	Error   string `json:"error,omitempty"`   // why it will never be
}

func (r readiness) encode() []byte {
	encoded, err := json.Marshal(r)
	if err != nil {
		return nil // which strings cannot cause
	}
	return append(encoded, '\n')
}
