package role

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"strconv"
	"time"

	"google.golang.org/grpc"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/internal/pools"
	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/internal/route"
	"github.com/bobbin-yarn/bobbin/internal/supervise"
	"github.com/bobbin-yarn/bobbin/internal/ui"
	"github.com/bobbin-yarn/bobbin/storage"
)

// stopTimeout limits how long stopping a driver may take.
const stopTimeout = 10 * time.Second

// Application is the state of an application in the process of its driver. All sessions share it.
type Application struct {
	ID          string
	Settings    *config.Config
	MaxFailures int // number of failures of the same task that fail its job
	Driver      *driver.Driver
	Files       *storage.Files
	Output      io.Writer // stdout; on a terminal, each write first erases the progress line
	Logger      *slog.Logger

	recording      *recording
	telemetry      *telemetry // nil if no metrics and traces are pushed to a collector
	broadcasts     broadcasts
	host, bind     string             // see driverOptions.host
	address        string             // host:port to which executors connect
	pass           []byte             // credentials with which executors register with the driver
	localCapacity  *localExecutorSize // size of a local master's only executor; nil for other masters
	terminal       *terminal          // nil in an ApplicationMaster
	sessionCreated func()
}

type applicationKey struct{}

// FromContext returns the application whose driver function received ctx, or nil.
func FromContext(ctx context.Context) *Application {
	a, _ := ctx.Value(applicationKey{}).(*Application)
	return a
}

// HideProgress erases the progress line if the program's stdout is the same terminal. Callers call
// it after each job, before they return to the driver function, which may then print text.
func (a *Application) HideProgress() {
	if a.terminal != nil && a.terminal.console != nil {
		a.terminal.console.HideShared()
	}
}

// SessionCreated records that the driver function has created a session.
func (a *Application) SessionCreated() { a.sessionCreated() }

// driverOptions are the arguments of startDriver.
type driverOptions struct {
	id       string // the application's id
	attempt  int    // number of the YARN application attempt; 0 if the cluster starts only one attempt
	name     string // the application's name; "" for app.name or, if that is not set, the program's name
	master   string // value of the setting master
	onYARN   bool   // the application runs on YARN
	user     string // user as whom tasks access HDFS
	settings *config.Config
	hadoop   *conf.Config // nil if there is no Hadoop configuration
	files    *storage.Files
	pools    string // content of the pools file; "" if the file must be read from scheduler.allocation.file
	// host is the address at which executors reach the driver. bind is the address on which the
	// driver listens. Both are "" if the only executor is in this process.
	host, bind string
	racks      map[string]string // rack of each node of the cluster, by host
	manager    driver.ClusterManager
	services   func(d *driver.Driver, server grpc.ServiceRegistrar) // registers further gRPC services; see driver.Options
	terminal   *terminal                                            // nil in an ApplicationMaster
	logger     *slog.Logger
}

// startDriver starts the driver of an application.
func startDriver(o driverOptions) (started *Application, err error) {
	described, err := pools.Load(o.settings, o.pools)
	if err != nil {
		return nil, err
	}
	var pushed *telemetry
	if pushed, o.settings, err = newTelemetry(o.settings); err != nil {
		return nil, err
	}
	if err := inheritSpan(o.settings); err != nil {
		return nil, err
	}
	options := driver.Options{
		ApplicationID: o.id,
		User:          o.user,
		Config:        o.settings,
		RackOf:        func(host string) string { return o.racks[host] },
		Pools:         described,
		Manager:       o.manager,
		Services:      o.services,
		Logger:        o.logger,
	}
	recording := startRecording(o)
	options.Events = recording.recorder
	if o.hadoop != nil {
		options.Hadoop = o.hadoop.Map()
	}
	a := &Application{
		ID: o.id, Settings: o.settings, MaxFailures: config.TaskMaxFailures.In(o.settings), Files: o.files, Output: os.Stdout, Logger: o.logger,
		recording: recording, telemetry: pushed, host: o.host, bind: o.bind, terminal: o.terminal,
	}
	defer func() {
		if err != nil {
			recording.failedBeforeDriver(err)
			return
		}
		a.telemetry.start(a)
	}()
	if a.terminal != nil {
		a.Output = a.terminal.stdout
	}
	a.broadcasts.logger = o.logger
	if o.host == "" {
		a.Driver, err = driver.New(options)
		return a, err
	}
	if options.Identity, err = identity.New(); err != nil {
		return nil, err
	}
	options.BindAddress = net.JoinHostPort(o.bind, strconv.Itoa(config.DriverPort.In(o.settings)))
	if a.Driver, err = driver.New(options); err != nil {
		return nil, fmt.Errorf("%w; see driver.host, driver.bindAddress and driver.port", err)
	}
	_, port, err := net.SplitHostPort(a.Driver.Addr())
	a.address, a.pass = net.JoinHostPort(o.host, port), options.Identity.Pass()
	return a, err
}

// driverAddresses returns the host at which executors reach a driver in this process, and the
// address on which the driver listens. managers are addresses (host:port) of ResourceManagers or
// standalone masters; the route to them determines the default of host.
func driverAddresses(ctx context.Context, settings *config.Config, managers []string) (host, bind string, err error) {
	if host = config.DriverHost.In(settings); host == "" {
		address, err := route.SourceIP(ctx, managers)
		if err != nil {
			return "", "", fmt.Errorf("finding the address by which the cluster reaches this machine: %w; set driver.host", err)
		}
		host = address.String()
	}
	return host, cmp.Or(config.DriverBind.In(settings), host), nil
}

// run calls the driver function, by supervise.Run, and returns its error.
func (a *Application) run(ctx, application context.Context, sessionTimeout time.Duration, function func(ctx context.Context) error) error {
	defer a.closeBroadcasts()
	err := supervise.Run(ctx, application, sessionTimeout, func(ctx context.Context, sessionCreated func()) error {
		a.sessionCreated = sessionCreated
		return function(context.WithValue(storage.With(ctx, a.Files), applicationKey{}, a))
	})
	a.recording.driverReturned(ctx, err)
	return err
}

// costs returns the main causes of the application's run time so far (see ui.Costs).
func (a *Application) costs() []string { return ui.Costs(a.Driver.Events().Newest(), time.Now()) }

// stop stops the executors and then the driver, completes the event log, and pushes the last
// metrics and the trace to the collector.
func (a *Application) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	last := a.metrics()
	err := a.Driver.Stop(ctx)
	a.recording.close()
	a.telemetry.pushLast(ctx, last)
	return err
}

// localExecutorSize is the size of a local master's only executor.
type localExecutorSize struct {
	master    string
	cores     int
	resources map[string][]string // addresses by resource name
}

// CheckFits fails if a task with cpus cores and these resources is too large for its executor. The
// parameter executors is the resource profile of the executor; nil means the default profile.
func (a *Application) CheckFits(cpus int, resources map[string]float64, executors *profile.Profile) error {
	if executors != nil && cpus > executors.Cores {
		return fmt.Errorf("each task takes %d cores, and the executors of the resource profile have %d", cpus, executors.Cores)
	}
	if a.localCapacity == nil {
		return nil
	}
	if cpus > a.localCapacity.cores {
		return fmt.Errorf("each task takes %d cores, and master %s has %d", cpus, a.localCapacity.master, a.localCapacity.cores)
	}
	for name, amount := range resources {
		has := len(a.localCapacity.resources[name])
		valid := amount <= 1 || amount == math.Trunc(amount) // the driver reports invalid amounts itself
		if valid && amount > float64(has) {
			return fmt.Errorf("each task takes %v %s, and master %s has %d: set executor.resource.%s.amount",
				amount, name, a.localCapacity.master, has, name)
		}
	}
	return nil
}
