// Package worker implements a worker of a standalone cluster. A worker registers with the
// leading master and sends it heartbeats. It launches and stops executors and drivers as the
// master orders. Each executor or driver is a process with its own session, directory and log
// files. The worker reports their ends to the master, and serves a web page with its status
// and their logs.
//
// A new leader receives a report of all executors and drivers, which continue to run. When the
// worker ends, even by SIGKILL, all its processes are killed; see package guard. The caller
// calls Run.
package worker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/shufflehandler"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// Options configure a worker.
type Options struct {
	// Masters are the addresses, host:port, of all known masters. At least one is required.
	Masters []string
	// Credentials are the cluster's credentials. They are required.
	Credentials *protocol.Credentials
	// Settings are the worker's settings; nil means the defaults.
	Settings *config.Config
	// Cache is the directory for cached programs and files. Workers on the same machine may
	// share it. "" means a directory below the worker's own.
	Cache string
	// Decommission may be nil. When it receives a reason, the worker is decommissioned: it
	// starts no new executors or drivers, and ends when the running ones have ended.
	Decommission <-chan string
	// Registered may be nil. It is called with the master's host:port after each registration.
	// It must not block.
	Registered func(master string)
	Logger     *slog.Logger // nil logs nothing
}

func (o Options) withDefaults() (Options, error) {
	if o.Settings == nil {
		o.Settings = config.Default()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case len(o.Masters) == 0:
		return o, errors.New("a worker needs the address of a master")
	case o.Credentials == nil:
		return o, errors.New("a worker needs the cluster's credentials")
	}
	return o, nil
}

// Run runs a worker. It returns nil after ctx has ended, or after the worker was
// decommissioned and its executors and drivers have ended. When Run returns, all the worker's
// processes have ended. Run fails if the worker cannot be started. It fails with a
// *RefusedError if a master refuses the worker. If no master can be reached, Run retries
// without a limit.
func Run(ctx context.Context, options Options) error {
	options, err := options.withDefaults()
	if err != nil {
		return err
	}
	machine, err := inspectMachine(ctx, options)
	if err != nil {
		return err
	}
	directory, err := lockDirectory(config.WorkerDir.In(options.Settings))
	if err != nil {
		return err
	}
	defer func() { _ = directory.release() }()
	w := &worker{
		options: options, machine: machine, directory: directory, logger: options.Logger,
		events: make(chan event), over: make(chan struct{}),
		masters: newMasters(options.Masters, options.Credentials.DialOptions()),
		reports: newReports(), running: map[string]*running{}, ended: map[string]bool{},
	}
	defer w.masters.Close()
	if err := w.open(); err != nil {
		return err
	}
	w.loop(ctx)
	if err = w.close(); err == nil {
		err = directory.clearOwner()
	}
	if refused := (*RefusedError)(nil); errors.As(w.stopping, &refused) {
		err = errors.Join(refused, err)
	}
	return err
}

// worker has the state of the event loop, and the worker's parts.
type worker struct {
	options   Options
	machine   machine
	directory *workDirectory
	logger    *slog.Logger
	masters   *masters
	cache     *cache
	runner    *runner
	page      *page
	shuffles  shufflehandler.Handler // map outputs of applications that have not ended
	id        string                 // the worker's id; see workerID
	url       string                 // URL of the web page

	events chan event
	over   chan struct{}  // closed when the event loop has ended
	tasks  sync.WaitGroup // goroutines that send events

	// Only the event loop uses the fields below.
	reports      *reports
	running      map[string]*running // running executors and drivers, by directory: owner/process
	history      []finished          // ended executors and drivers that the web page still shows, oldest first
	ended        map[string]bool     // ids of ended applications whose executors still run
	current      *attachment         // nil while the worker is not registered
	queue        []*protocol.WorkerMessage
	began        time.Time
	decommission *decommission // nil if the worker is not being decommissioned
	stopping     error         // why the worker stops; nil if it does not stop
	heartbeat    *time.Ticker
}

// event is a message to the worker's event loop.
type event any

// open starts the worker's parts, except the event loop.
func (w *worker) open() (err error) {
	settings := w.options.Settings
	w.began = time.Now()
	cacheDirectory := w.options.Cache
	if cacheDirectory == "" {
		cacheDirectory = w.directory.join(cacheName)
	}
	if w.cache, err = newCache(cacheDirectory, w.masters.fetch); err != nil {
		return err
	}
	if w.page, err = listen(w.machine.host, config.WorkerUIPort.In(settings)); err != nil {
		return err
	}
	if w.machine.port == 0 {
		w.machine.port = w.page.port()
	}
	w.id = workerID(w.began, w.machine.host, w.machine.port)
	w.url = w.page.url(w.machine.host)
	if err := w.takeDirectory(); err != nil {
		w.page.close()
		return err
	}
	guarding, err := superviseGuard("/proc/self/exe", w.id+"/", w.logger)
	if err != nil {
		w.page.close()
		return err
	}
	w.runner = &runner{
		spawner: newSpawner(),
		guard:   guarding,
		limits:  logLimits{size: int64(config.LogMaxSize.In(settings)), older: config.LogMaxFiles.In(settings)},
		grace:   config.WorkerKillGrace.In(settings),
		logger:  w.logger,
	}
	w.page.serve(w.directory, w.status, &w.shuffles)
	w.logger.Info("worker started", "id", w.id, "cores", w.machine.cores, "memory", w.machine.memory,
		"resources", w.machine.resources, "directory", w.directory.path, "page", w.url)
	return nil
}

// takeDirectory writes this worker's id into the directory's lock file. If the previous worker
// was killed, it first cleans up after that worker.
func (w *worker) takeDirectory() error {
	killed, err := w.directory.predecessor()
	if err == nil && killed != "" {
		w.logger.Warn("the previous worker was killed, cleaning up after it", "worker", killed, "directory", w.directory.path)
		err = w.directory.cleanUpAfter(killed)
	}
	if err != nil {
		w.logger.Warn("cannot clean up after the previous worker", "worker", killed, "error", err)
	}
	return w.directory.setOwner(w.id)
}

// close stops the parts that open has started, and removes the map outputs that the worker has
// served.
func (w *worker) close() error {
	w.page.close()
	err := w.runner.guard.close()
	w.runner.spawner.close()
	if err := w.directory.removeShuffles(); err != nil {
		w.logger.Warn("map outputs stay on disk", "error", err)
	}
	return err
}

var invalidIDChars = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// workerID returns a new id, which contains the worker's start time, host and port.
func workerID(began time.Time, host string, port int) string {
	random := make([]byte, 3)
	_, _ = rand.Read(random) // never fails
	name := invalidIDChars.ReplaceAllString(host, "-")
	return fmt.Sprintf("worker-%s-%.64s-%d-%s", began.UTC().Format("20060102150405"), name, port, hex.EncodeToString(random))
}

// post sends an event to the event loop. Only goroutines of w.tasks may call it.
func (w *worker) post(e event) { w.events <- e }

// ask makes the event loop call question, and returns the result.
func ask[T any](ctx context.Context, w *worker, question func() T) (T, error) {
	answer := make(chan T, 1)
	var zero T
	select {
	case w.events <- func() { answer <- question() }:
	case <-w.over:
		return zero, errors.New("the worker has ended")
	case <-ctx.Done():
		return zero, context.Cause(ctx)
	}
	return <-answer, nil
}

// The causes with which the worker cancels the contexts of executors and drivers.
var (
	errKilled   = errors.New("the master ordered its end")
	errStopped  = errors.New("its worker was stopped")
	errDeadline = errors.New("its worker was decommissioned, and the time for that has passed")
)

// loop is the event loop. It returns when the worker has ended.
func (w *worker) loop(ctx context.Context) {
	connected, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	c := &connector{masters: w.masters, logger: w.logger, hello: w.hello, events: w.events, slowTimeout: slowMasterTimeout}
	w.tasks.Go(func() { c.run(connected) })
	cleaning, stopCleaning := w.startCleaning()
	w.heartbeat = time.NewTicker(time.Hour) // until a welcome sets the interval
	defer w.heartbeat.Stop()

	stop, decommission := ctx.Done(), w.options.Decommission
	var sendDeadline <-chan time.Time
	for !w.isDone(sendDeadline) {
		var out chan<- *protocol.WorkerMessage
		var next *protocol.WorkerMessage
		if w.current != nil && len(w.queue) > 0 {
			out, next = w.current.send, w.queue[0]
		}
		select {
		case out <- next:
			w.queue = w.queue[1:]
		case e := <-w.events:
			w.handle(e)
		case <-w.heartbeat.C:
			if w.current != nil && len(w.queue) == 0 {
				w.enqueue(&protocol.WorkerMessage{Heartbeat: &protocol.Heartbeat{}})
			}
		case reason, ok := <-decommission:
			if decommission = nil; ok {
				w.startDecommission(reason)
			}
		case <-w.decommission.timeout():
			w.stopAll(errDeadline)
			w.decommission.timer = nil
		case <-cleaning:
			w.clean()
		case <-stop:
			stop = nil
			w.logger.Info("worker stops", "reason", context.Cause(ctx), "running", len(w.running))
			w.stop(errStopped)
		case <-sendDeadline:
			w.current = nil
		}
		if sendDeadline == nil && w.idle() {
			w.enqueue(&protocol.WorkerMessage{Unregister: &protocol.Unregister{}})
			sendDeadline = time.After(unregisterTimeout)
		}
	}
	stopCleaning()
	disconnect()
	close(w.over)
	w.tasks.Wait()
}

// unregisterTimeout is how long a worker that ends tries to send its last messages.
const unregisterTimeout = 2 * time.Second

// idle reports whether the worker is stopping or decommissioning and has no running executors
// or drivers.
func (w *worker) idle() bool {
	return (w.stopping != nil || w.decommission != nil) && len(w.running) == 0
}

// isDone reports whether the event loop must end: the worker sends its last messages, so that
// sendDeadline is not nil, and has no connection to a master.
func (w *worker) isDone(sendDeadline <-chan time.Time) bool {
	return sendDeadline != nil && w.current == nil
}

func (w *worker) handle(e event) {
	switch e := e.(type) {
	case func():
		e()
	case attached:
		w.current = e.to
		interval := time.Duration(e.to.welcome.GetHeartbeatInterval()) * time.Millisecond
		w.heartbeat.Reset(interval)
		w.logger.Info("registered with master", "master", e.to.master, "heartbeat", interval)
		if w.options.Registered != nil {
			w.options.Registered(e.to.master)
		}
	case detached:
		if w.current == e.from {
			w.current = nil
		}
	case refused:
		w.stop(e.err)
	case ordered:
		if w.current == e.by {
			w.execute(e.order)
		}
	case executorChanged:
		w.executorChanged(e)
	case driverChanged:
		w.driverChanged(e)
	}
}

// enqueue queues a message to the master. Method hello empties the queue, because a hello
// contains the whole state.
func (w *worker) enqueue(message *protocol.WorkerMessage) { w.queue = append(w.queue, message) }

// hello returns the first message to a master, with the current state. Changes after it are
// queued.
func (w *worker) hello(ctx context.Context) (*protocol.WorkerHello, error) {
	return ask(ctx, w, func() *protocol.WorkerHello {
		hello := &protocol.WorkerHello{
			Version: protocol.Version, WorkerId: w.id, Host: w.machine.host, Port: uint32(w.machine.port), WebUrl: w.url,
			Cores: uint32(w.machine.cores), Memory: int64(w.machine.memory), Resources: protocol.ToAddresses(w.machine.resources),
			Decommissioning: w.decommission != nil || w.stopping != nil,
		}
		w.reports.fill(hello)
		w.queue = nil
		switch {
		case w.decommission != nil:
			w.enqueue(w.decommission.message())
		case w.stopping != nil:
			w.enqueue(stoppingMessage())
		}
		return hello
	})
}

func (w *worker) execute(order *protocol.WorkerOrder) {
	w.reports.acknowledge(order.GetAcknowledged())
	for _, kill := range order.GetKillExecutors() {
		w.killExecutor(executorID{kill.GetApplicationId(), kill.GetExecutorId()})
	}
	for _, kill := range order.GetKillDrivers() {
		w.killDriver(kill.GetDriverId(), kill.GetLaunch())
	}
	for _, launch := range order.GetLaunchExecutors() {
		w.launchExecutor(launch)
	}
	for _, launch := range order.GetLaunchDrivers() {
		w.launchDriver(launch)
	}
	for _, application := range order.GetFinishedApplications() {
		if checkID(application) == nil {
			w.ended[application] = true
			w.removeWork(application)
		}
	}
	if order.GetDecommission() {
		w.startDecommission("the master asked for it")
	}
}

// stop stops all executors and drivers; the worker ends when they have ended. Unless the
// worker is already being decommissioned, stop first reports to the master that the worker
// accepts no more executors and drivers.
func (w *worker) stop(why error) {
	if w.stopping != nil {
		return
	}
	w.stopping = why
	if w.decommission == nil {
		w.enqueue(stoppingMessage())
	}
	w.stopAll(errStopped)
}

func (w *worker) stopAll(cause error) {
	for _, r := range w.running {
		r.end(cause)
	}
}

// refusal returns why the worker accepts no new executors and drivers, or nil if it accepts
// them.
func (w *worker) refusal() error {
	switch {
	case w.stopping != nil:
		return w.stopping
	case w.decommission != nil:
		return fmt.Errorf("its worker is being decommissioned: %s", w.decommission.reason)
	}
	return nil
}

// owners returns the ids of the applications and drivers that have running processes.
func (w *worker) owners() map[string]bool {
	owners := map[string]bool{}
	for r := range maps.Values(w.running) {
		owners[r.owner] = true
	}
	return owners
}

// removeWork removes all files except the logs of an application that has ended, if none of
// its executors runs.
func (w *worker) removeWork(application string) {
	if !w.ended[application] || w.owners()[application] {
		return
	}
	delete(w.ended, application)
	w.shuffles.Remove(application)
	path := w.directory.join(application)
	w.tasks.Go(func() {
		if err := removeWorkDirectories(path); err != nil {
			w.logger.Warn("cleaning up after an application", "application", application, "error", err)
		}
	})
}

// startCleaning starts a ticker. It returns the ticker's channel, which receives a value whenever
// old directories must be removed, and a function that stops the ticker. The channel is nil if
// worker.cleanup is off.
func (w *worker) startCleaning() (<-chan time.Time, func()) {
	if !config.WorkerCleanup.In(w.options.Settings) {
		return nil, func() {}
	}
	ticker := time.NewTicker(config.WorkerCleanupInterval.In(w.options.Settings))
	return ticker.C, ticker.Stop
}

func (w *worker) clean() {
	cleaner := &cleaner{
		directory: w.directory, cache: w.cache, ttl: config.WorkerCleanupTTL.In(w.options.Settings), now: time.Now, logger: w.logger,
	}
	inUse := w.owners()
	w.tasks.Go(func() {
		if err := cleaner.clean(inUse); err != nil {
			w.logger.Warn("cleaning up", "error", err)
		}
	})
}

// hostname returns this machine's host name, or "" if it is unknown.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}
