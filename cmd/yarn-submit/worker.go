package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
	"github.com/bobbin-yarn/bobbin/standalone/worker"
)

// workerFlags are the flags of the command worker that set one setting each.
var workerFlags = []struct{ flag, key, value, usage string }{
	{"cores", config.WorkerCores.Name(), "N", "cores for executors and drivers (default: all of this machine)"},
	{"memory", config.WorkerMemory.Name(), "SIZE", "memory for executors and drivers, as 16g (default: this machine's less 1g)"},
	{"port", config.WorkerPort.Name(), "N", "a number that tells workers of one host apart (default: the page's port)"},
	{"web-port", config.WorkerUIPort.Name(), "PORT", "where its page is (default: 8081 or the next free one); 0 takes any free one"},
}

// newWorker returns the command that runs a worker of a standalone cluster.
func newWorker(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "worker bobbin://HOST[:PORT][,HOST[:PORT]…]",
		Short: "Run a worker of a standalone cluster, on each of its machines",
		Long: "Run a worker of a standalone cluster until it is interrupted. It starts executors and\n" +
			"drivers on this machine as the cluster's master says, and ends them when it ends.\n\n" +
			"It needs the cluster's secret: copy ~/.bobbin/secret from the master's machine, or set\n" +
			"authenticate.secretFile.\n\n" +
			"SIGPWR, or yarn-submit decommission, decommissions a worker: it takes nothing new,\n" +
			"applications let its executors finish what they do, and it ends when nothing runs\n" +
			"on it any more.",
		Args: exactArgs("bobbin://HOST"),
	}
	process := addProcess(c, "worker")
	flags := c.Flags()
	for _, f := range workerFlags {
		flags.String(f.flag, "", "`"+f.value+"`: "+f.usage)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		for _, f := range append([]struct{ flag, key, value, usage string }{
			{flag: "host", key: config.WorkerHost.Name()}, {flag: "work-dir", key: config.WorkerDir.Name()},
		}, workerFlags...) {
			if flag := flags.Lookup(f.flag); flag.Changed {
				process.conf = append(process.conf, f.key+"="+flag.Value.String())
			}
		}
		settings, err := process.load("worker")
		if err != nil {
			return err
		}
		if err := errors.Join(checkPort("port", config.WorkerPort.In(settings), 0), checkPort("web-port", config.WorkerUIPort.In(settings), 0)); err != nil {
			return err
		}
		masters, err := masterurl.ParseStandalone(args[0])
		if err != nil {
			return client.UsageError(err)
		}
		decommission, stop := worker.DecommissionSignal()
		defer stop()
		logger := logging.New(t.console, settings)
		credentials, err := awaitSecret(c.Context(), func() (*protocol.Credentials, error) { return protocol.Load(settings) }, logger)
		if err != nil {
			return client.UsageError(err)
		}
		err = worker.Run(c.Context(), worker.Options{
			Masters: masters, Credentials: credentials, Settings: settings, Decommission: decommission, Logger: logger,
		})
		var refused *worker.RefusedError
		if errors.As(err, &refused) {
			return &commandStatus{status: client.ExitCluster, err: err}
		}
		return err
	}
	return c
}

const (
	// secretTimeout limits the wait for the secret file, because a master that was started at the
	// same time may not have written the file yet. secretPause is the time between two attempts.
	secretTimeout = 5 * time.Second
	secretPause   = 50 * time.Millisecond
)

// awaitSecret loads the credentials of the cluster. If the secret file is missing, awaitSecret
// retries until secretTimeout has passed.
func awaitSecret(ctx context.Context, load func() (*protocol.Credentials, error), logger *slog.Logger) (*protocol.Credentials, error) {
	deadline := time.Now().Add(secretTimeout)
	for first := true; ; first = false {
		credentials, err := load()
		if err == nil || !errors.Is(err, protocol.ErrNoSecret) || time.Now().After(deadline) {
			return credentials, err
		}
		if first {
			logger.Info("waiting for the cluster's secret, which a master may be making", "for", secretTimeout)
		}
		select {
		case <-time.After(secretPause):
		case <-ctx.Done():
			return nil, err
		}
	}
}
