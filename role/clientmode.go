package role

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/am"
	"github.com/bobbin-yarn/bobbin/am/remote"
	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/interrupt"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/supervise"
	"github.com/bobbin-yarn/bobbin/storage"
)

// errApplicationOver is the cause with which the driver function's context ends if the cluster
// reports that the application has succeeded while the driver function still runs.
var errApplicationOver = errors.New("the application is over")

// clientMode is a process that submits an application and runs its driver.
type clientMode struct {
	settings *config.Config
	function func(ctx context.Context) error
	*terminal
	cluster *client.Cluster
	files   *storage.Files

	host string // address at which the cluster connects to this process
	bind string // the address on which the driver listens

	app     *Application    // nil until the driver is started
	manager *remote.Manager // the driver's ClusterManager, to which the ApplicationMaster connects
	running *client.Running
	renewal *storage.Renewal // renewal of delegation tokens; nil for none
	report  *client.Report   // final report of the cluster; nil until the application has ended
}

// runClientMode submits this program to the cluster and runs its driver function.
func runClientMode(settings *config.Config, function func(ctx context.Context) error) error {
	format := os.Getenv(launch.EnvReport)
	_ = os.Unsetenv(launch.EnvReport) // child processes must not inherit it
	t := newTerminal(settings)
	slog.SetDefault(logging.New(t.console, settings))
	ctx, stop := interrupt.Context(client.ExitFailed, t.console.Close)
	defer stop()
	c := &clientMode{settings: settings, function: function, terminal: t}
	err := c.run(ctx)
	t.console.Close()
	if format == "json" && c.report != nil {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		err = errors.Join(err, encoder.Encode(c.report))
	}
	return err
}

func (c *clientMode) run(ctx context.Context) error {
	var err error
	if c.cluster, err = client.Connect(c.settings, c.logger); err != nil {
		return err
	}
	defer c.cluster.Close()
	if c.host, c.bind, err = c.addresses(ctx); err != nil {
		return client.UsageError(err)
	}
	program, err := os.Executable()
	if err != nil {
		return client.UsageError(fmt.Errorf("finding this program, which is to run on the cluster: %w", err))
	}
	c.files = c.cluster.OpenFileSystems()
	defer func() {
		if err := c.files.Close(); err != nil {
			c.logger.Debug("closing HDFS", "error", err)
		}
	}()
	job := client.Job{Program: program, IsOwnProgram: true, Args: os.Args[1:], Settings: c.settings, Console: c.console}
	drive := c.driveUnmanaged
	if !config.UnmanagedAM.In(c.settings) {
		drive = c.drive
		job.Driver = c.startDriver
		defer c.stopDriver(ctx)
	}
	if c.running, err = c.cluster.Start(ctx, job); err != nil {
		return err
	}
	defer c.running.Close()
	err = c.driveAndFollow(ctx, drive)
	// The ApplicationMaster uses the tokens until it ends. NodeManagers that got renewed tokens use
	// them to aggregate logs after that.
	if c.renewal != nil && c.report != nil && time.Now().Before(c.running.TokensUsableUntil()) {
		c.renewal.Cancel(ctx)
	}
	return err
}

// addresses returns the host at which the cluster reaches this process, and the address on which
// the driver listens. See driverAddresses.
func (c *clientMode) addresses(ctx context.Context) (host, bind string, err error) {
	managers, err := c.cluster.Hadoop().ResourceManagers("yarn.resourcemanager.address")
	if err != nil {
		return "", "", err
	}
	return driverAddresses(ctx, c.settings, managers)
}

// driveAndFollow calls drive, and concurrently polls the application's state, until drive has
// returned and the application has ended. When the application ends, driveAndFollow cancels the
// context alive. When ctx ends, it kills the application.
func (c *clientMode) driveAndFollow(ctx context.Context, drive func(alive context.Context) error) error {
	alive, over := context.WithCancelCause(ctx)
	following, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	defer kill(nil)
	defer context.AfterFunc(ctx, func() {
		c.mute()
		kill(context.Cause(ctx))
	})()
	var outcome error
	var followed sync.WaitGroup
	followed.Go(func() {
		c.report, outcome = c.running.Wait(following)
		c.mute()
		if outcome != nil {
			over(outcome)
		} else {
			over(errApplicationOver)
		}
	})
	failure := drive(alive)
	followed.Wait()
	return c.result(ctx, outcome, failure)
}

// result returns the application's error; nil means success. outcome is the error that the cluster
// reported, and failure is the error of the driver function. If the driver function ignores the end
// of its context and yarn.am.clientModeExitOnError is false, result first waits until the function
// returns or ctx ends.
func (c *clientMode) result(ctx context.Context, outcome, failure error) error {
	if abandoned := (*supervise.NotReturnedError)(nil); errors.As(failure, &abandoned) && !config.AMExitOnError.In(c.settings) {
		c.console.Warn("waiting for the driver function, which does not return (%s is false)", config.AMExitOnError.Name())
		select {
		case failure = <-abandoned.Returned:
		case <-ctx.Done():
		}
	}
	if outcome == nil {
		// If yarn.am.clientModeTreatDisconnectAsFailed is false, the cluster reports success even
		// for an application whose driver disconnected.
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

// failedApplication is the error of a failed application. status is the exit status of this
// process.
type failedApplication struct {
	error
	status int
}

func (e *failedApplication) Unwrap() error   { return e.error }
func (e *failedApplication) ExitStatus() int { return e.status }

// startDriver starts the driver. It is called before the submission, because the ApplicationMaster
// needs the driver's address.
func (c *clientMode) startDriver(id string, racks map[string]string) (*client.Driver, error) {
	c.manager = remote.NewManager(c.logger)
	app, err := startDriver(driverOptions{
		id:       id,
		onYARN:   true,
		user:     c.cluster.User(),
		settings: c.settings,
		hadoop:   c.cluster.Hadoop(),
		files:    c.files,
		host:     c.host,
		bind:     c.bind,
		racks:    racks,
		terminal: c.terminal,
		manager:  c.manager,
		services: c.manager.Register,
		logger:   c.logger,
	})
	if err != nil {
		return nil, client.UsageError(err)
	}
	c.app = app
	return &client.Driver{Address: app.address, Pass: app.pass}, nil
}

// stopDriver stops the driver if it runs.
func (c *clientMode) stopDriver(ctx context.Context) {
	if c.app == nil {
		return
	}
	if err := c.app.stop(ctx); err != nil {
		c.logger.Warn("stopping the driver", "error", err)
	}
}

// drive runs the driver function and reports its result to the ApplicationMaster.
func (c *clientMode) drive(alive context.Context) error {
	if c.renewal = c.running.Renewal(c.files, c.logger); c.renewal != nil {
		renewing, stop := context.WithCancel(alive)
		var running sync.WaitGroup
		running.Go(func() { c.renewal.Run(renewing, nil, c.publishTokens) })
		defer running.Wait()
		defer stop()
	}
	pages, stop := c.app.servePages()
	defer stop()
	if pages != "" {
		c.console.Print("pages of the driver: %s", pages)
	}
	err := c.app.run(alive, alive, config.AMWaitTime.In(c.settings), c.function)
	if alive.Err() != nil {
		return err
	}
	// Finish waits until an ApplicationMaster has connected, and sends it the result. It fails if
	// the application ends before.
	if c.manager.Finish(alive, err) == nil {
		c.stopDriver(alive)
	}
	return err
}

// publishTokens sends new delegation tokens to the executors and the ApplicationMaster.
func (c *clientMode) publishTokens(tokens *security.Credentials) {
	encoded, err := tokens.Encode(security.Writable)
	if err != nil {
		c.logger.Error("new delegation tokens cannot be encoded", "error", err)
		return
	}
	c.app.Driver.SetCredentials(encoded)
	c.manager.SetCredentials(encoded)
}

// driveUnmanaged runs an unmanaged ApplicationMaster and its driver in this process.
func (c *clientMode) driveUnmanaged(alive context.Context) error {
	return am.Unmanaged{
		Application: c.running.ID(), Spec: c.running.Spec(), Host: c.host, Bind: c.bind, Logger: c.logger,
	}.Run(alive, driverOf(c.function))
}
