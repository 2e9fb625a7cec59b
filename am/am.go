// Package am is the ApplicationMaster: it registers the application with the
// ResourceManager, runs the driver, keeps the executors that the driver wants,
// and says at the end how it all went. It knows nothing of tasks.
package am

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/am/remote"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/pools"
	"github.com/bobbin-yarn/bobbin/scheduler"
	"github.com/bobbin-yarn/bobbin/storage"
)

// Exit codes of the ApplicationMaster, those of Spark's (ApplicationMaster.scala).
const (
	ExitUncaught            = 10 // an error of the ApplicationMaster's own
	ExitMaxExecutorFailures = 11
	ExitReporterFailure     = 12 // the ResourceManager could not be talked to any more
	ExitSessionNotCreated   = 13 // within yarn.am.waitTime
	ExitSecurity            = 14 // no credentials, or none that help
	ExitUserFunction        = 15 // the driver function returned an error or panicked
	ExitDisconnected        = 17 // the driver, in client mode a process elsewhere, is gone
	// ExitTerminated is of an ApplicationMaster that was told to stop by SIGTERM,
	// as a shell has it. A NodeManager that kills a container for its memory
	// keeps that as the reason only where the process ends with this code or 137
	// (ContainerLaunch.handleContainerExitCode).
	ExitTerminated = 128 + int(syscall.SIGTERM)
)

const (
	// maxDiagnostics bounds what the ResourceManager is given to keep. It cuts
	// longer texts itself, at yarn.app.attempt.diagnostics.limit.kc (64 KiB).
	maxDiagnostics = 32 << 10
)

// Application is what the user's driver function works with.
type Application struct {
	ID     string
	Config *config.Config
	Driver *driver.Driver
	Files  *storage.Files
	// SessionCreated is to be called when the function asks for executors.
	SessionCreated func()
}

// Main is the process of an ApplicationMaster with the driver in it, from what
// YARN put into its environment to its exit code. run is the user's driver
// function; a panic in it must have been made an error.
func Main(run func(ctx context.Context, application *Application) error, newLogger func(*config.Config) *slog.Logger) int {
	return serve(newLogger, func(m *master) error { return m.buildDriver(run) })
}

// Launch is the process of an ApplicationMaster in client mode: the driver is
// in the process that submitted the application, and this one launches executors
// for it. It returns the exit code.
func Launch(newLogger func(*config.Config) *slog.Logger) int {
	return serve(newLogger, (*master).joinDriver)
}

// serve is an ApplicationMaster's process.
func serve(newLogger func(*config.Config) *slog.Logger, build func(*master) error) int {
	// A NodeManager that stops the container sends SIGTERM, and SIGKILL a quarter
	// of a second later (yarn.nodemanager.sleep-delay-before-sigkill.ms).
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	started, err := fromEnvironment()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ApplicationMaster:", err)
		return ExitSecurity
	}
	logger := newLogger(started.config)
	slog.SetDefault(logger)
	master := &master{start: started, logger: logger, began: time.Now()}
	code, err := master.serve(ctx, build)
	if err != nil {
		logger.Error("the application failed", "exit", code, "error", err)
	}
	return code
}

// master is one attempt of one application.
type master struct {
	start  *start
	logger *slog.Logger
	began  time.Time

	driver   endpoint
	progress func() float32                              // of the driver's work, 0 to 1
	join     func(ctx context.Context) (id int, _ error) // reaches the driver and tells the first executor's id; nil where it is here
	run      func(ctx context.Context) error             // until the driver is done; the error is why the application failed

	files     *storage.Files
	allocator *allocator
	rm        *yarn.AMClient
}

// serve runs the application and tells the ResourceManager of its end. The
// error is why the application failed, nil where it did not.
func (m *master) serve(ctx context.Context, build func(*master) error) (code int, err error) {
	m.files = storage.New(storage.Options{Hadoop: m.start.hadoop, User: m.start.spec.User, Logger: m.logger})
	defer func() {
		if err := m.files.Close(); err != nil {
			m.logger.Debug("closing HDFS", "error", err)
		}
	}()
	if err := build(m); err != nil {
		return ExitUncaught, err
	}
	page, err := m.servePage()
	if err != nil {
		return ExitUncaught, err
	}
	defer page.close()
	m.allocator.registration.TrackingURL = page.url(m.start.host)
	defer func() { _ = m.rm.Close() }()
	defer m.allocator.diary.close()

	outcome := m.attend(ctx)
	summary := m.summary()
	m.stopDriver(ctx)
	if !outcome.interrupted && !outcome.unreachable {
		m.allocator.end(context.WithoutCancel(ctx))
		m.finish(ctx, outcome, summary)
	}
	return outcome.code, outcome.err
}

// attend works for the driver once it is there.
func (m *master) attend(ctx context.Context) outcome {
	if m.join != nil {
		first, err := m.join(ctx)
		if ctx.Err() != nil {
			return terminated()
		}
		if err != nil {
			// Only a registered application can be unregistered.
			_, registering := m.allocator.exchange.register(ctx, m.allocator.registration)
			return outcomeOf(errors.Join(err, registering))
		}
		m.allocator.fleet.lastID = first - 1
	}
	return m.work(ctx)
}

// outcome is how the work ended.
type outcome struct {
	code        int
	err         error
	interrupted bool // told to end from outside: another attempt may follow
	unreachable bool // the ResourceManager does not listen to this attempt any more
}

func terminated() outcome {
	return outcome{code: ExitTerminated, err: errors.New("told to stop"), interrupted: true}
}

// work runs the driver and the allocator until one of them has ended, then the
// other.
func (m *master) work(ctx context.Context) outcome {
	var both sync.WaitGroup
	defer both.Wait()

	allocating, stopAllocating := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAllocating()
	allocated := make(chan error, 1)
	both.Go(func() { allocated <- m.allocator.run(allocating) })
	both.Go(func() { m.renewCache(allocating) })

	running, stopRunning := context.WithCancelCause(ctx)
	defer stopRunning(nil)
	returned := make(chan error, 1)
	both.Go(func() { returned <- m.run(running) })

	select {
	case err := <-returned:
		if ctx.Err() != nil {
			return terminated().after(err)
		}
		// Only a registered application can be unregistered.
		select {
		case <-m.allocator.registered:
			return outcomeOf(err)
		case failed := <-allocated:
			return outcomeOf(errors.Join(err, failed))
		}
	case err := <-allocated:
		ended := outcomeOf(err)
		stopRunning(ended.err)
		return ended.after(<-returned)
	}
}

// after returns the outcome with a note where the driver function, whose error
// is returned, was given up.
func (o outcome) after(returned error) outcome {
	if given := (*NotReturned)(nil); errors.As(returned, &given) {
		o.err = &NotReturned{Cause: o.err, Returned: given.Returned}
	}
	return o
}

// outcomeOf is what the end of the driver or of the allocator means for the
// application.
func outcomeOf(err error) outcome {
	var exhausted *tooManyFailures
	var late *noSession
	var gone *remote.Disconnected
	var user *userFunction
	switch {
	case err == nil:
		return outcome{}
	case errors.As(err, &exhausted):
		return outcome{code: ExitMaxExecutorFailures, err: err}
	case errors.As(err, &late):
		return outcome{code: ExitSessionNotCreated, err: err}
	case errors.As(err, &gone):
		return outcome{code: ExitDisconnected, err: err}
	case errors.As(err, &user):
		return outcome{code: ExitUserFunction, err: err}
	case final(err):
		return outcome{code: ExitReporterFailure, err: err, unreachable: true}
	default:
		return outcome{code: ExitReporterFailure, err: err}
	}
}

// userFunction is the error of the driver function.
type userFunction struct{ error }

// Unwrap gives what the function returned.
func (u *userFunction) Unwrap() error { return u.error }

// stopDriver has the executors leave.
func (m *master) stopDriver(ctx context.Context) {
	if err := m.driver.Stop(context.WithoutCancel(ctx)); err != nil {
		m.logger.Warn("stopping the driver", "error", err)
	}
}

// finish tells the ResourceManager how the application ended, and removes what
// was staged for it.
func (m *master) finish(ctx context.Context, outcome outcome, summary string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unregisterTimeout)
	defer cancel()
	request := yarn.FinishRequest{Status: yarn.FinalSucceeded, Diagnostics: summary}
	if outcome.err != nil {
		request = yarn.FinishRequest{Status: yarn.FinalFailed, Diagnostics: lastWords(outcome.err.Error(), summary)}
	}
	// An attempt that was not heard is followed by another, which needs the files.
	if m.unregister(ctx, request) {
		m.removeStaging(ctx)
	}
}

// removeStaging removes the files that were uploaded for this application
// alone. It is over: no container will ask for them any more.
func (m *master) removeStaging(ctx context.Context) {
	if m.start.spec.StagingDir == "" {
		return
	}
	if err := m.files.RemoveAll(ctx, m.start.spec.StagingDir); err != nil {
		m.logger.Warn("staged files were not removed", "directory", m.start.spec.StagingDir, "error", err)
	}
	// Another application's directory may be in it: then it stays.
	if parent := strings.LastIndexByte(m.start.spec.StagingDir, '/'); parent > 0 {
		_ = m.files.Remove(ctx, m.start.spec.StagingDir[:parent])
	}
}

// buildDriver makes the parts where the driver is in this process.
func (m *master) buildDriver(run func(ctx context.Context, application *Application) error) error {
	access, err := identity.New()
	if err != nil {
		return err
	}
	settings := m.start.config
	var shares []scheduler.Pool
	if described := m.start.spec.Pools; described != "" {
		if shares, err = pools.Parse(config.AllocationFile.In(settings), []byte(described)); err != nil {
			return err
		}
	}
	server, err := driver.New(driver.Options{
		ApplicationID: m.start.attempt.Application.String(),
		User:          m.start.spec.User,
		Config:        settings,
		Hadoop:        m.start.spec.Hadoop,
		Identity:      access,
		BindAddress:   net.JoinHostPort(m.start.bind, strconv.Itoa(config.DriverPort.In(settings))),
		RackOf:        racks(m.start.spec.Racks),
		Pools:         shares,
		Logger:        m.logger,
	})
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(server.Addr())
	if err != nil {
		return err
	}
	m.driver = server
	m.progress = server.Progress
	m.run = func(ctx context.Context) error {
		return m.drive(ctx, func(ctx context.Context, created func()) error {
			return run(ctx, &Application{
				ID: m.start.attempt.Application.String(), Config: settings, Driver: server, Files: m.files, SessionCreated: created,
			})
		})
	}
	return m.buildAllocator(net.JoinHostPort(m.start.host, port), access.Pass())
}

// joinDriver makes the parts of client mode: the driver is in another process.
func (m *master) joinDriver() error {
	address := os.Getenv(launch.EnvDriver)
	secret, ok := m.start.credentials.Secret(launch.SecretDriver)
	if address == "" || !ok {
		return fmt.Errorf("%s=%q: the container's environment and credentials do not tell how to join the driver", launch.EnvDriver, address)
	}
	pass, err := identity.ParsePass(secret)
	if err != nil {
		return err
	}
	settings := m.start.config
	d := remote.NewDriver(remote.Options{
		Address:             address,
		Pass:                pass,
		Attempt:             int(m.start.attempt.Attempt),
		Host:                m.start.host,
		NetworkTimeout:      config.NetworkTimeout.In(settings),
		DisconnectIsFailure: config.AMTreatDisconnectAsFailed.In(settings),
		Logger:              m.logger,
	})
	m.driver, m.progress, m.join = d, d.Progress, d.Join
	m.run = func(ctx context.Context) error {
		err := d.Run(ctx)
		if gone := (*remote.Disconnected)(nil); err == nil || errors.As(err, &gone) {
			return err
		}
		return &userFunction{err}
	}
	return m.buildAllocator(address, secret)
}

// drive runs the driver function. The error is a *userFunction.
func (m *master) drive(ctx context.Context, run func(ctx context.Context, created func()) error) error {
	if err := Supervise(ctx, config.AMWaitTime.In(m.start.config), run); err != nil {
		return &userFunction{err}
	}
	return nil
}

// buildAllocator makes what both have: executors join the driver at address
// with the pass.
func (m *master) buildAllocator(address string, pass []byte) error {
	schedulers, err := m.start.hadoop.ResourceManagers("yarn.resourcemanager.scheduler.address")
	if err != nil {
		return err
	}
	token, err := yarn.AMRMToken(m.start.credentials)
	if err != nil {
		return err
	}
	_, driverPort, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("the driver's address: %w", err)
	}
	port, err := strconv.Atoi(driverPort)
	if err != nil {
		return fmt.Errorf("the driver's address: %w", err)
	}
	contexts, err := newExecutorContexts(m.start, address, pass)
	if err != nil {
		return err
	}
	m.rm = yarn.NewAMClient(schedulers, yarn.ClientOptions{Token: token, Logger: m.logger})
	m.allocator = newAllocator(allocatorOptions{
		rm:           m.rm,
		registration: yarn.RegisterRequest{Host: m.start.host, RPCPort: int32(port)},
		connect: func(node yarn.NodeID, token security.Token) nodeManager {
			return connectNode(node, token, m.logger)
		},
		context:      contexts.of,
		lost:         m.driver.ExecutorLost,
		decommission: m.driver.Decommission,
		progress:     m.progress,
		load:         m.load,
		settings:     m.start.config,
		hadoop:       m.start.hadoop,
		racks:        m.start.spec.Racks,
		nodes:        m.start.spec.Nodes,
		logDirectory: m.start.logDirectory,
		random:       rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
		logger:       m.logger,
	})
	m.driver.SetManager(m.allocator)
	return nil
}

// load is how many tasks run on each executor.
func (m *master) load() map[string]int {
	tasks := map[string]int{}
	for _, executor := range m.driver.Status().Executors {
		tasks[executor.ID] = executor.Running
	}
	return tasks
}

// racks tells the driver of the cluster's topology as it was at submission.
func racks(byHost map[string]string) func(host string) string {
	return func(host string) string { return byHost[host] }
}
