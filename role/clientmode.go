package role

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/term"

	"github.com/bobbin-yarn/bobbin/am"
	"github.com/bobbin-yarn/bobbin/am/remote"
	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/interrupt"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/supervise"
	"github.com/bobbin-yarn/bobbin/storage"
)

// errOver ends the driver function of an application that is over, where the
// cluster says nothing worse.
var errOver = errors.New("the application is over")

// clientMode is this process as the driver of an application that it submits
// itself.
type clientMode struct {
	settings *config.Config
	console  *client.Console
	logger   *slog.Logger // of the machinery
	cluster  *client.Cluster
	function func(ctx context.Context) error

	host string // by which the cluster reaches this process
	bind string // the address on which to listen

	running *client.Running
	report  *client.Report
}

// runClientMode submits this program to the cluster and drives it from here.
func runClientMode(settings *config.Config, function func(ctx context.Context) error) error {
	report := os.Getenv(launch.EnvReport)
	_ = os.Unsetenv(launch.EnvReport) // processes that the program starts must not inherit it
	console := client.NewConsole(besideOutput(os.Stderr))
	slog.SetDefault(logging.New(console, settings))
	ctx, stop := interrupt.Context(client.ExitFailed, console.Close)
	defer stop()
	mode := &clientMode{settings: settings, console: console, function: function}
	err := mode.run(ctx)
	console.Close()
	if report == "json" && mode.report != nil {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		err = errors.Join(err, encoder.Encode(mode.report))
	}
	return err
}

// besideOutput returns stderr, without a live line if stdout is a terminal too:
// the program's output would run into that.
func besideOutput(stderr *os.File) io.Writer {
	if term.IsTerminal(int(os.Stdout.Fd())) {
		return struct{ io.Writer }{stderr}
	}
	return stderr
}

// failedApplication is the error of an application that did not succeed, with the
// exit code of the process.
type failedApplication struct {
	error
	status int
}

func (e *failedApplication) Unwrap() error   { return e.error }
func (e *failedApplication) ExitStatus() int { return e.status }

func (c *clientMode) run(ctx context.Context) error {
	var muted mute
	c.logger = slog.New(muted.over(c.quietly().Handler()))
	var err error
	if c.cluster, err = client.Connect(c.settings, c.logger); err != nil {
		return err
	}
	defer c.cluster.Close()
	if c.host, c.bind, err = c.addresses(ctx); err != nil {
		return client.Usage(err)
	}
	program, err := os.Executable()
	if err != nil {
		return client.Usage(fmt.Errorf("finding this program, which is to run on the cluster: %w", err))
	}
	job := client.Job{Program: program, Own: true, Args: os.Args[1:], Settings: c.settings, Console: c.console}
	files := storage.New(storage.Options{Hadoop: c.cluster.Hadoop(), User: c.cluster.User(), Logger: c.logger})
	defer func() {
		if err := files.Close(); err != nil {
			c.logger.Debug("closing HDFS", "error", err)
		}
	}()
	attended := &attended{clientMode: c, files: files}
	if !config.UnmanagedAM.In(c.settings) {
		job.Driver = attended.start
		defer attended.stop(ctx)
	}
	if c.running, err = c.cluster.Start(ctx, job); err != nil {
		return err
	}
	defer c.running.Close()
	drive := attended.drive
	if config.UnmanagedAM.In(c.settings) {
		drive = c.driveUnmanaged
	}
	return c.follow(ctx, &muted, drive)
}

// follow drives the application, and follows it at the same time. Whichever ends
// first ends the other: an application that is over has no driver, and when ctx
// ends, the application is killed.
func (c *clientMode) follow(ctx context.Context, muted *mute, drive func(alive context.Context) error) error {
	alive, over := context.WithCancelCause(ctx)
	following, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	defer leave(nil)
	defer context.AfterFunc(ctx, func() {
		muted.on() // what it loses from now on is what was wanted
		leave(context.Cause(ctx))
	})()
	var outcome error
	var followed sync.WaitGroup
	followed.Go(func() {
		c.report, outcome = c.running.Wait(following)
		muted.on()
		if outcome != nil {
			over(outcome)
		} else {
			over(errOver)
		}
	})
	failure := drive(alive)
	followed.Wait()
	return c.end(ctx, outcome, failure)
}

// end returns the error that the process ends with, nil where the application
// succeeded. outcome is the cluster's word on the application, failure that of
// the driver.
func (c *clientMode) end(ctx context.Context, outcome, failure error) error {
	if given := (*supervise.NotReturned)(nil); errors.As(failure, &given) && !config.AMExitOnError.In(c.settings) {
		c.console.Warn("waiting for the driver function, which does not return (%s is false)", config.AMExitOnError.Name())
		select {
		case failure = <-given.Returned:
		case <-ctx.Done():
		}
	}
	if outcome == nil {
		// The cluster takes an application whose driver it has lost for succeeded
		// where yarn.am.clientModeTreatDisconnectAsFailed is false.
		outcome = failure
	}
	if outcome == nil {
		return nil
	}
	status := client.ExitCode(outcome)
	if failure != nil && ctx.Err() == nil {
		status = exitStatus(failure)
	}
	return &failedApplication{outcome, status}
}

// attended is a driver whose ApplicationMaster is in a container.
type attended struct {
	*clientMode
	*Application
	files   *storage.Files
	manager *remote.Manager
}

// start starts the driver.
func (a *attended) start(id string, racks map[string]string) (*client.Driver, error) {
	a.manager = remote.NewManager(a.logger)
	var err error
	a.Application, err = startDriver(driverOptions{
		id:       id,
		user:     a.cluster.User(),
		settings: a.settings,
		hadoop:   a.cluster.Hadoop(),
		files:    a.files,
		host:     a.host,
		bind:     a.bind,
		racks:    racks,
		manager:  a.manager,
		services: a.manager.Register,
		logger:   a.logger,
	})
	if err != nil {
		return nil, client.Usage(err)
	}
	return &client.Driver{Address: a.address, Pass: a.pass}, nil
}

// stop stops the driver, if start has started one.
func (a *attended) stop(ctx context.Context) {
	if a.Application == nil {
		return
	}
	if err := a.Application.stop(ctx); err != nil {
		a.logger.Warn("stopping the driver", "error", err)
	}
}

// drive runs the driver function and lets the ApplicationMaster report how it
// ended.
func (a *attended) drive(alive context.Context) error {
	err := a.Application.run(alive, alive, config.AMWaitTime.In(a.settings), a.function)
	if alive.Err() != nil {
		return err
	}
	// If no ApplicationMaster has joined yet, Finish waits for one while the
	// application may still get it.
	if a.manager.Finish(alive, err) == nil {
		a.stop(alive)
	}
	return err
}

// driveUnmanaged runs the ApplicationMaster and the driver in this process.
func (c *clientMode) driveUnmanaged(alive context.Context) error {
	return am.Unmanaged{
		Application: c.running.ID(), Spec: c.running.Spec(), Host: c.host, Bind: c.bind, Logger: c.logger,
	}.Run(alive, driverOf(c.function))
}

// addresses are where the cluster reaches this process, and where that listens.
func (c *clientMode) addresses(ctx context.Context) (host, bind string, err error) {
	managers, err := c.cluster.Hadoop().ResourceManagers("yarn.resourcemanager.address")
	if err != nil {
		return "", "", err
	}
	return driverAddresses(ctx, c.settings, managers)
}

// quietly is a logger for the machinery, between the console's lines: of
// problems alone, unless log.level was set.
func (c *clientMode) quietly() *slog.Logger {
	if c.settings.IsSet(config.LogLevel.Name()) {
		return logging.New(c.console, c.settings)
	}
	return slog.New(slog.NewTextHandler(c.console, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// mute silences a logger at some time: what ends with an application that is
// over is nothing to tell.
type mute struct{ silent atomic.Bool }

func (m *mute) on() { m.silent.Store(true) }

func (m *mute) over(handler slog.Handler) slog.Handler { return mutable{Handler: handler, mute: m} }

type mutable struct {
	slog.Handler
	mute *mute
}

func (h mutable) Enabled(ctx context.Context, level slog.Level) bool {
	return !h.mute.silent.Load() && h.Handler.Enabled(ctx, level)
}

func (h mutable) WithAttrs(attrs []slog.Attr) slog.Handler {
	return mutable{Handler: h.Handler.WithAttrs(attrs), mute: h.mute}
}

func (h mutable) WithGroup(name string) slog.Handler {
	return mutable{Handler: h.Handler.WithGroup(name), mute: h.mute}
}
