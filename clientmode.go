package bobbin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/bobbin-yarn/bobbin/am"
	"github.com/bobbin-yarn/bobbin/am/remote"
	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/internal/interrupt"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/pools"
	"github.com/bobbin-yarn/bobbin/storage"
)

// finishWait bounds the end of the driver itself.
const finishWait = 10 * time.Second

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
func runClientMode(settings *config.Config, function func(ctx context.Context) error) int {
	report := os.Getenv(launch.EnvReport)
	_ = os.Unsetenv(launch.EnvReport) // it is not for what the program starts itself
	console := client.NewConsole(besideOutput(os.Stderr))
	slog.SetDefault(logging.New(console, settings))
	ctx, stop := interrupt.Context(exitFailed, console.Close)
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
	if err == nil {
		return 0
	}
	var ended *endedApplication
	if errors.As(err, &ended) {
		return complain(err, ended.status)
	}
	return complain(err, client.ExitCode(err))
}

// besideOutput is stderr without a live line, where what the program writes
// would run into that.
func besideOutput(stderr *os.File) io.Writer {
	if term.IsTerminal(int(os.Stdout.Fd())) {
		return struct{ io.Writer }{stderr}
	}
	return stderr
}

// endedApplication is an application that did not succeed, with the status that
// the process ends with.
type endedApplication struct {
	error
	status int
}

func (e *endedApplication) Unwrap() error { return e.error }

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
	attended := &attended{clientMode: c}
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
	if given := (*am.NotReturned)(nil); errors.As(failure, &given) && !config.AMExitOnError.In(c.settings) {
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
	return &endedApplication{outcome, status}
}

// attended is a driver whose ApplicationMaster is in a container.
type attended struct {
	*clientMode
	driver  *driver.Driver
	manager *remote.Manager
	files   *storage.Files
}

// start begins to listen.
func (a *attended) start(id string, racks map[string]string) (*client.Driver, error) {
	access, err := identity.New()
	if err != nil {
		return nil, err
	}
	shares, err := pools.Of(a.settings)
	if err != nil {
		return nil, client.Usage(err)
	}
	a.manager = remote.NewManager(a.logger)
	hadoop := a.cluster.Hadoop()
	a.driver, err = driver.New(driver.Options{
		ApplicationID: id,
		User:          a.cluster.User(),
		Config:        a.settings,
		Hadoop:        hadoop.Map(),
		Identity:      access,
		BindAddress:   net.JoinHostPort(a.bind, strconv.Itoa(config.DriverPort.In(a.settings))),
		RackOf:        func(host string) string { return racks[host] },
		Pools:         shares,
		Manager:       a.manager,
		Services:      a.manager.Register,
		Logger:        a.logger,
	})
	if err != nil {
		return nil, client.Usage(fmt.Errorf("%w; see driver.host, driver.bindAddress and driver.port", err))
	}
	a.files = storage.New(storage.Options{Hadoop: hadoop, User: a.cluster.User(), Logger: a.logger})
	_, port, err := net.SplitHostPort(a.driver.Addr())
	if err != nil {
		return nil, err
	}
	return &client.Driver{Address: net.JoinHostPort(a.host, port), Pass: access.Pass()}, nil
}

func (a *attended) stop(ctx context.Context) {
	if a.driver == nil {
		return
	}
	a.stopDriver(ctx)
	if a.files != nil {
		if err := a.files.Close(); err != nil {
			a.logger.Debug("closing HDFS", "error", err)
		}
	}
}

// stopDriver has the executors leave.
func (a *attended) stopDriver(ctx context.Context) {
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWait)
	defer cancel()
	if err := a.driver.Stop(stopping); err != nil {
		a.logger.Warn("stopping the driver", "error", err)
	}
}

// drive runs the driver function and has the ApplicationMaster tell how it went.
func (a *attended) drive(alive context.Context) error {
	err := am.Supervise(alive, config.AMWaitTime.In(a.settings), func(ctx context.Context, created func()) error {
		shared := &process{
			applicationID: a.driver.ApplicationID(),
			settings:      a.settings,
			maxFailures:   config.TaskMaxFailures.In(a.settings),
			driver:        a.driver,
			files:         a.files,
			created:       created,
		}
		return call(shared.context(ctx), a.function)
	})
	if alive.Err() != nil {
		return err
	}
	// It waits for an ApplicationMaster, should none have come yet, as long as
	// the application may still get one.
	if a.manager.Finish(alive, err) == nil {
		a.stopDriver(alive)
	}
	return err
}

// driveUnmanaged is the ApplicationMaster with the driver in it.
func (c *clientMode) driveUnmanaged(alive context.Context) error {
	return am.Unmanaged{
		Application: c.running.ID(), Spec: c.running.Spec(), Host: c.host, Bind: c.bind, Logger: c.logger,
	}.Run(alive, asApplication(c.function))
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
