// Package worker is a machine's part of a standalone cluster. A worker
// registers with the master that leads, says at intervals that it lives, and
// runs executors and drivers as the master says, each as a process with a
// session, a directory and log files of its own. It tells how they end, and
// serves a page with its status and their logs.
//
// A master that restarts, or another that takes its place, is told all that
// runs; executors and drivers notice nothing. When the worker ends, whatever it
// runs ends with it, however it ends: see package guard.
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
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// Options describe a worker.
type Options struct {
	// Masters are host:port of all masters; one of them leads. At least one.
	Masters []string
	// Credentials are the cluster's.
	Credentials *protocol.Credentials
	// Settings are those of this machine: what it has, where it keeps it, for how
	// long. Nil is the default configuration.
	Settings *config.Config
	// Cache is the directory of the cache of programs and files, which workers of
	// a machine may share. Where it is "", it is in the worker's directory.
	Cache string
	// Decommission gives the reason why the worker is to take nothing more and to
	// end when what it runs has ended. Nil gives none.
	Decommission <-chan string
	// Registered is called each time a master, host:port, has taken the worker. It
	// must not wait. Nil is not called.
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

// Run is a worker until ctx ends, or until it was decommissioned and nothing
// runs any more, which returns nil too. What it runs has then ended. It fails
// where the worker cannot be started, and with a *RefusedError where a master
// does not take it at all; for one that is away it waits.
func Run(ctx context.Context, options Options) error {
	options, err := options.withDefaults()
	if err != nil {
		return err
	}
	machine, err := inspectMachine(ctx, options)
	if err != nil {
		return err
	}
	directory, err := claimDirectory(config.WorkerDir.In(options.Settings))
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
		err = directory.leave()
	}
	if refused := (*RefusedError)(nil); errors.As(w.stopping, &refused) {
		err = errors.Join(refused, err)
	}
	return err
}

// worker is the state of the event loop and what goes with it.
type worker struct {
	options   Options
	machine   machine
	directory *workDirectory
	logger    *slog.Logger
	masters   *masters
	cache     *cache
	runner    *runner
	page      *page
	id        string // names this life of the worker
	url       string // of the page

	events chan event
	over   chan struct{}  // closed when the loop has ended
	tasks  sync.WaitGroup // goroutines that send events

	// What follows is the loop's alone.
	reports      *reports
	running      map[string]*running // by directory: owner/process
	history      []finished          // the latest that ended, the oldest first
	ended        map[string]bool     // applications that are over, and what runs of them has not ended yet
	current      *attachment         // nil while no master has the worker
	queue        []*protocol.WorkerMessage
	began        time.Time
	decommission *decommission // nil where it is not going
	stopping     error         // why it ends, nil where it does not
	heartbeat    *time.Ticker
}

// event is a message to the loop.
type event any

// open starts what the worker has beside its loop.
func (w *worker) open() (err error) {
	settings := w.options.Settings
	w.began = time.Now()
	cacheDirectory := w.options.Cache
	if cacheDirectory == "" {
		cacheDirectory = w.directory.of(cacheName)
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
	if err := w.succeed(); err != nil {
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
	w.page.serve(w.directory, w.status)
	w.logger.Info("worker started", "id", w.id, "cores", w.machine.cores, "memory", w.machine.memory,
		"resources", w.machine.resources, "directory", w.directory.path, "page", w.url)
	return nil
}

// succeed takes the place of the worker that had the directory before.
func (w *worker) succeed() error {
	killed, err := w.directory.predecessor()
	if err == nil && killed != "" {
		w.logger.Warn("the worker before was killed, cleaning up after it", "worker", killed, "directory", w.directory.path)
		err = w.directory.cleanUpAfter(killed)
	}
	if err != nil {
		w.logger.Warn("something of the worker before is left", "worker", killed, "error", err)
	}
	return w.directory.enter(w.id)
}

// close ends what open started.
func (w *worker) close() error {
	w.page.close()
	err := w.runner.guard.close()
	w.runner.spawner.close()
	return err
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// workerID names a life of a worker, so that people can tell it from others.
func workerID(began time.Time, host string, port int) string {
	random := make([]byte, 3)
	_, _ = rand.Read(random) // never fails
	name := notInID.ReplaceAllString(host, "-")
	return fmt.Sprintf("worker-%s-%.64s-%d-%s", began.UTC().Format("20060102150405"), name, port, hex.EncodeToString(random))
}

// post sends the loop an event, from a goroutine that the loop waits for.
func (w *worker) post(e event) { w.events <- e }

// ask has the loop answer.
func ask[T any](ctx context.Context, w *worker, question func() T) (T, error) {
	answer := make(chan T, 1)
	var none T
	select {
	case w.events <- func() { answer <- question() }:
	case <-w.over:
		return none, errors.New("the worker has ended")
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
	return <-answer, nil
}

// Errors with which what runs is ended.
var (
	errKilled   = errors.New("the master had it ended")
	errStopped  = errors.New("its worker was stopped")
	errDeadline = errors.New("its worker was decommissioned, and the time for that has passed")
)

// loop serves events until the worker ends.
func (w *worker) loop(ctx context.Context) {
	linked, unlink := context.WithCancel(context.WithoutCancel(ctx))
	attaching := &connector{masters: w.masters, logger: w.logger, hello: w.hello, events: w.events, slow: slowMaster}
	w.tasks.Go(func() { attaching.run(linked) })
	cleaning, stopCleaning := w.startCleaning()
	w.heartbeat = time.NewTicker(time.Hour) // until a master says how often
	defer w.heartbeat.Stop()

	stop, wanted := ctx.Done(), w.options.Decommission
	var flushed <-chan time.Time
	for !w.left(flushed) {
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
		case reason, ok := <-wanted:
			if wanted = nil; ok {
				w.startDecommission(reason)
			}
		case <-w.decommission.timeout():
			w.endAll(errDeadline)
			w.decommission.timer = nil
		case <-cleaning:
			w.clean()
		case <-stop:
			stop = nil
			w.logger.Info("worker stops", "reason", context.Cause(ctx), "running", len(w.running))
			w.stop(errStopped)
		case <-flushed:
			w.current = nil
		}
		if flushed == nil && w.idle() {
			w.enqueue(&protocol.WorkerMessage{Unregister: &protocol.Unregister{}})
			flushed = time.After(leaveTimeout)
		}
	}
	stopCleaning()
	unlink()
	close(w.over)
	w.tasks.Wait()
}

// leaveTimeout bounds how long a worker that stops tries to tell the master.
const leaveTimeout = 2 * time.Second

// idle reports whether the worker is to end and nothing runs any more.
func (w *worker) idle() bool {
	return (w.stopping != nil || w.decommission != nil) && len(w.running) == 0
}

// left reports whether the worker has ended, and the master has heard so where
// there is one.
func (w *worker) left(leaving <-chan time.Time) bool {
	return leaving != nil && w.current == nil
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

// tell queues a message to the master; where there is none, a hello will say it.
func (w *worker) enqueue(message *protocol.WorkerMessage) { w.queue = append(w.queue, message) }

// hello is the worker as it is now. What changes from now on is queued for the
// master that gets it.
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

// obey does what the master says.
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

// stop has the worker end, and what it runs before. The master hears of it first,
// so that it does not launch here again what ends here.
func (w *worker) stop(why error) {
	if w.stopping != nil {
		return
	}
	w.stopping = why
	if w.decommission == nil {
		w.enqueue(stoppingMessage())
	}
	w.endAll(errStopped)
}

// endAll has everything that runs end.
func (w *worker) endAll(cause error) {
	for _, r := range w.running {
		r.end(cause)
	}
}

// refusal is why nothing new is started, nil where it is.
func (w *worker) refusal() error {
	switch {
	case w.stopping != nil:
		return w.stopping
	case w.decommission != nil:
		return fmt.Errorf("its worker is being decommissioned: %s", w.decommission.reason)
	}
	return nil
}

// owners are the applications and drivers of which something runs.
func (w *worker) owners() map[string]bool {
	owners := map[string]bool{}
	for r := range maps.Values(w.running) {
		owners[r.owner] = true
	}
	return owners
}

// tidy removes what the executors of an application that is over have left
// beside their logs, once none of them runs.
func (w *worker) removeWork(application string) {
	if !w.ended[application] || w.owners()[application] {
		return
	}
	delete(w.ended, application)
	path := w.directory.of(application)
	w.tasks.Go(func() {
		if err := removeWorkDirectories(path); err != nil {
			w.logger.Warn("cleaning up after an application", "application", application, "error", err)
		}
	})
}

// startCleaning ticks where old directories are to be removed.
func (w *worker) startCleaning() (<-chan time.Time, func()) {
	if !config.WorkerCleanup.In(w.options.Settings) {
		return nil, func() {}
	}
	ticker := time.NewTicker(config.WorkerCleanupInterval.In(w.options.Settings))
	return ticker.C, ticker.Stop
}

// clean removes what is old, beside the loop.
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

// hostname is this machine's name, "" where it has none.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}
