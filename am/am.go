// Package am is the ApplicationMaster. It registers the application with the ResourceManager, runs
// the driver or connects to it, starts the executors that the driver requests, and unregisters the
// application with its final status. Only the driver handles tasks.
package am

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/am/allocator"
	"github.com/bobbin-yarn/bobbin/am/launcher"
	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/recent"
	"github.com/bobbin-yarn/bobbin/internal/supervise"
	"github.com/bobbin-yarn/bobbin/storage"
)

// Exit codes of the ApplicationMaster. Codes up to 17 are Spark's (ApplicationMaster.scala).
const (
	ExitUncaught            = 10 // internal error of the ApplicationMaster
	ExitMaxExecutorFailures = 11 // executor.maxNumFailures executors have failed
	ExitReporterFailure     = 12 // the connection to the ResourceManager is lost, or the ResourceManager cannot provide the executors
	ExitSessionNotCreated   = 13 // the driver function created no session within yarn.am.waitTime
	ExitSecurity            = 14 // the environment or the credentials are incomplete
	ExitUserFunction        = 15 // the driver function returned an error or panicked
	ExitDisconnected        = 17 // in client mode, the connection to the driver is lost
	// ExitTerminated is the exit code of a shell after SIGTERM. A NodeManager reports that it
	// killed a container for its memory only if the exit code is this code or 137
	// (ContainerLaunch.handleContainerExitCode).
	ExitTerminated = 128 + int(syscall.SIGTERM)
)

// Main runs the ApplicationMaster in a YARN container, and returns the exit code. It runs the
// application attempt that the container's environment describes, with the driver that newDriver
// returns.
func Main(newDriver func(*Attempt) (*Driver, error)) int {
	// By default, NodeManagers send SIGKILL a quarter of a second after SIGTERM
	// (yarn.nodemanager.sleep-delay-before-sigkill.ms).
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	attempt, err := attemptFromEnvironment()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ApplicationMaster:", err)
		return ExitSecurity
	}
	attempt.Logger = logging.New(os.Stderr, attempt.Settings)
	slog.SetDefault(attempt.Logger)
	code, err := serve(ctx, attempt, newDriver)
	if err != nil {
		attempt.Logger.Error("the application failed", "exit", code, "error", err)
	}
	return code
}

// Launch is like Main, but for client mode, in which the driver runs in the submitting process.
func Launch() int { return Main(remoteDriver) }

type applicationMaster struct {
	*Attempt
	began     time.Time
	driver    *Driver
	allocator *allocator.Allocator
	contexts  *executorContexts
	rm        *yarn.AMClient
	kills     chan string      // receives the user who kills the application on its page
	renewal   *storage.Renewal // renewal of delegation tokens; nil without a login to Kerberos
}

// serve runs an attempt and then unregisters the application. It does not unregister the
// application if the attempt was interrupted, or if the ResourceManager refuses its calls. err is
// the reason why the application failed; nil if it succeeded.
func serve(ctx context.Context, attempt *Attempt, newDriver func(*Attempt) (*Driver, error)) (code int, err error) {
	m := &applicationMaster{Attempt: attempt, began: time.Now(), kills: make(chan string, 1)}
	login, problem := m.login(ctx)
	if login != nil {
		defer login.Close()
	}
	m.Files = storage.New(m.storageOptions(login))
	defer func() {
		if err := m.Files.Close(); err != nil {
			m.Logger.Debug("closing HDFS", "error", err)
		}
	}()
	if m.driver, err = newDriver(attempt); err != nil {
		return ExitUncaught, err
	}
	if err := m.buildAllocator(); err != nil {
		return ExitUncaught, err
	}
	server, err := m.servePage()
	if err != nil {
		return ExitUncaught, err
	}
	defer server.Close()
	m.Logger.Info("serving the application's page", "url", server.URL(m.Host))
	m.allocator.SetTrackingURL(server.URL(m.Host))
	defer func() { _ = m.rm.Close() }()
	defer m.allocator.Close()

	tokens, err := m.obtainTokens(ctx, login)
	if problem == nil {
		problem = err
	}
	outcome := m.run(ctx, tokens, problem)
	summary := m.summary()
	if err := m.driver.Endpoint.Stop(context.WithoutCancel(ctx)); err != nil {
		m.Logger.Warn("stopping the driver", "error", err)
	}
	if !outcome.interrupted && !outcome.unreachable {
		m.allocator.ReleaseAll(context.WithoutCancel(ctx))
		m.finish(ctx, outcome, summary)
	}
	// NodeManagers that got renewed tokens use them to aggregate logs after the application's end.
	if m.renewal != nil && !m.contexts.usesRenewed() {
		m.renewal.Cancel(ctx)
	}
	return outcome.code, outcome.err
}

// outcome is the result of an attempt.
type outcome struct {
	code        int
	err         error
	interrupted bool // the process received SIGTERM, so YARN may start another attempt
	unreachable bool // the ResourceManager refuses all further calls of this attempt
	killed      bool // a user killed the application on its page
}

func terminated() outcome {
	return outcome{code: ExitTerminated, err: errors.New("told to stop"), interrupted: true}
}

// killedBy returns the outcome of an application that a user has killed. The error uses the words
// of YARN's diagnostics for killed applications.
func (m *applicationMaster) killedBy(user string) outcome {
	return outcome{code: ExitTerminated, err: &KilledError{Application: m.ID.Application.String(), User: cmp.Or(user, "unknown")}, killed: true}
}

// KilledError is the cause with which the driver function's context ends if a user kills the
// application on its page.
type KilledError struct{ Application, User string }

func (k *KilledError) Error() string {
	return k.Application + " was killed by user " + k.User + " with diagnostic message: on the application's page"
}

func outcomeOfAllocator(err error) outcome {
	var exhausted *allocator.TooManyFailuresError
	switch {
	case err == nil:
		return outcome{}
	case errors.As(err, &exhausted):
		return outcome{code: ExitMaxExecutorFailures, err: err}
	default:
		return outcome{code: ExitReporterFailure, err: err, unreachable: allocator.IsFinal(err)}
	}
}

// driverOutcome returns the outcome of an attempt whose driver has ended. failure is the driver's
// error, and registering is the error of the registration; both may be nil.
func driverOutcome(failure, registering error) outcome {
	if failure == nil {
		return outcomeOfAllocator(registering)
	}
	return outcome{code: driverExit(failure), err: errors.Join(failure, registering)}
}

// run connects to the driver if it runs in another process, and then calls runDriverAndAllocator.
// problem is the error of the login to Kerberos or of obtaining delegation tokens. If it is not
// nil, run only registers the application, and fails.
func (m *applicationMaster) run(ctx context.Context, tokens *storage.Tokens, problem error) outcome {
	if problem != nil {
		if ctx.Err() != nil {
			return terminated()
		}
		// Register, because only a registered application can be unregistered with a final status.
		return outcome{code: ExitSecurity, err: errors.Join(problem, m.allocator.Register(ctx))}
	}
	if m.driver.Join != nil {
		first, err := m.driver.Join(ctx)
		if ctx.Err() != nil {
			return terminated()
		}
		if err != nil {
			// Register, because only a registered application can be unregistered with a final
			// status.
			return driverOutcome(err, m.allocator.Register(ctx))
		}
		m.allocator.SetNextExecutorID(first)
	}
	return m.runDriverAndAllocator(ctx, tokens)
}

// runDriverAndAllocator runs the driver and the allocator until one of them ends or a user kills
// the application. It then ends the other one.
func (m *applicationMaster) runDriverAndAllocator(ctx context.Context, tokens *storage.Tokens) outcome {
	var both sync.WaitGroup
	defer both.Wait()

	allocating, stopAllocating := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAllocating()
	allocated := make(chan error, 1)
	both.Go(func() { allocated <- m.allocator.Run(allocating) })
	both.Go(func() { m.renewCache(allocating) })
	both.Go(func() { m.keepTokens(allocating, tokens) })

	running, stopRunning := context.WithCancelCause(ctx)
	defer stopRunning(nil)
	returned := make(chan error, 1)
	both.Go(func() { returned <- m.driver.Run(running) })

	select {
	case err := <-returned:
		if ctx.Err() != nil {
			return terminated().noteAbandoned(err)
		}
		// Wait for the registration, because only a registered application can be unregistered with
		// a final status.
		select {
		case <-m.allocator.Registered():
			return driverOutcome(err, nil)
		case registering := <-allocated:
			return driverOutcome(err, registering)
		}
	case err := <-allocated:
		ended := outcomeOfAllocator(err)
		stopRunning(ended.err)
		return ended.noteAbandoned(<-returned)
	case user := <-m.kills:
		m.Logger.Warn("the application is killed on its page", "user", user)
		killed := m.killedBy(user)
		stopRunning(killed.err)
		return killed.noteAbandoned(<-returned)
	}
}

// noteAbandoned adds a note to the error if the driver function has ignored the end of its context.
// returned is the error of Driver.Run.
func (o outcome) noteAbandoned(returned error) outcome {
	if abandoned := (*supervise.NotReturnedError)(nil); errors.As(returned, &abandoned) {
		o.err = &supervise.NotReturnedError{Cause: o.err, Returned: abandoned.Returned}
	}
	return o
}

// buildAllocator creates the allocator and connects it to the driver.
func (m *applicationMaster) buildAllocator() error {
	schedulers, err := m.Hadoop.ResourceManagers("yarn.resourcemanager.scheduler.address")
	if err != nil {
		return err
	}
	token, err := yarn.AMRMToken(m.credentials)
	if err != nil {
		return err
	}
	_, driverPort, err := net.SplitHostPort(m.driver.Address)
	if err != nil {
		return fmt.Errorf("the driver's address: %w", err)
	}
	port, err := strconv.Atoi(driverPort)
	if err != nil {
		return fmt.Errorf("the driver's address: %w", err)
	}
	if m.contexts, err = newExecutorContexts(m.Attempt, m.driver.Address, m.driver.Pass); err != nil {
		return err
	}
	if m.driver.ReceiveCredentials != nil {
		m.driver.ReceiveCredentials(m.receiveTokens)
	}
	m.rm = yarn.NewAMClient(schedulers, yarn.ClientOptions{Token: token, Logger: m.Logger})
	m.allocator = allocator.New(allocator.Options{
		ResourceManager: m.rm,
		Registration:    yarn.RegisterRequest{Host: m.Host, RPCPort: int32(port)},
		Connect: func(node yarn.NodeID, token security.Token) launcher.NodeManager {
			return launcher.Connect(node, token, m.Logger)
		},
		LaunchContext: m.contexts.launchContext,
		ExecutorLost:  m.driver.Endpoint.ExecutorLost,
		Decommission:  m.driver.Endpoint.Decommission,
		Progress:      m.driver.Endpoint.Progress,
		Load:          m.runningTasksByExecutor,
		Events:        m.driver.Events,
		Settings:      m.Settings,
		Hadoop:        m.Hadoop,
		Racks:         m.Spec.Racks,
		Nodes:         m.Spec.Nodes,
		LogDirectory:  m.logDirectory,
		Random:        rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
		Logger:        m.Logger,
	})
	m.driver.Endpoint.SetManager(m.allocator)
	return nil
}

// servePage starts the web server for the application's tracking URL.
func (m *applicationMaster) servePage() (*page.Server, error) {
	driverStatus := recent.New(m.driver.Endpoint.Status)
	return page.Serve(page.Options{
		BindAddress: m.Bind,
		Application: m.ID.Application.String(),
		Owner:       m.Spec.User,
		Settings:    m.Settings,
		Hadoop:      m.Hadoop,
		Credentials: m.credentials,
		ActiveRM:    m.rm.ActiveIndex,
		Status:      m.status,
		Metrics: func(set *metrics.Set) {
			status := driverStatus.Latest()
			driver.MetricTable.AddTo(set, &status)
			page.MetricTable.AddTo(set, m.allocator.Status())
		},
		Profile:  m.driver.Endpoint.TakeProfile,
		Snapshot: m.snapshot,
		Kill: func(user string) {
			select {
			case m.kills <- user:
			default: // the channel is full, because an earlier call has killed the application
			}
		},
		Logger: m.Logger,
	})
}

func (m *applicationMaster) status() page.Status {
	return page.NewStatus(page.Application{
		ID: m.ID.Application.String(), Name: m.Spec.Name, User: m.Spec.User, Attempt: int(m.ID.Attempt), Started: m.began,
	}, m.driver.Endpoint.Status(), m.allocator.Status())
}

// snapshot returns the state of the application for its pages.
func (m *applicationMaster) snapshot() *events.Snapshot {
	if recorded := m.driver.Snapshot(); recorded != nil {
		return recorded
	}
	// The driver runs in another process, and has not sent its state yet.
	return &events.Snapshot{Latest: m.began, Application: events.Application{State: events.StateRunning, ApplicationStarted: events.ApplicationStarted{
		Time: events.At(m.began), ID: m.ID.Application.String(), Attempt: int(m.ID.Attempt), Name: m.Spec.Name, User: m.Spec.User,
	}}}
}

func (m *applicationMaster) runningTasksByExecutor() map[string]int {
	tasks := map[string]int{}
	for _, executor := range m.driver.Endpoint.Status().Executors {
		tasks[executor.ID] = executor.Running
	}
	return tasks
}
