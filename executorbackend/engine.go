package executorbackend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/broadcast"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// stopTimeout is how long a stopping executor waits until its cancelled tasks end. Go cannot end
// a goroutine from outside. So a task that takes longer is logged, and ends with the process.
const stopTimeout = 3 * time.Second

// errStopped is the cause with which contexts of tasks are cancelled when the driver stops the
// executor.
var errStopped = errors.New("the executor was told to stop")

// Serve runs an executor over a stream, such as one from [wire.Pipe]. The stream must end when
// ctx does, and allow CloseSend during Send. The contexts of tasks derive from ctx. Serve
// returns nil when the driver stops the executor, and an *ExitError if the driver refuses the
// executor or the stream breaks. Before it returns, it cancels the running tasks and waits up to
// 3 s for them to end.
func Serve(ctx context.Context, options Options, stream wire.ExecutorSide) error {
	x := newExecutor(options.withDefaults())
	x.startServices(nil)
	defer x.close()
	return x.serve(ctx, stream, func() { _ = stream.CloseSend() }).err
}

// engine is the part of an executor's state that belongs to one stream to the driver.
type engine struct {
	*executor
	maxResult       int64
	maxDirectResult int           // largest size in bytes of a result that is sent with the task's end; larger results are stored until the driver fetches them
	killTimeout     time.Duration // how long a killed task may take to end; 0 means no limit
	tasksCtx        context.Context
	out             *outbox
	holdKey         func(key string) // out.hold, stored so that all tasks share one function value
	registered      bool             // set when the driver has accepted this executor; used by the receiving goroutine only

	mu              sync.Mutex
	sets            map[uint64]*taskSet
	peers           map[uint64][]*wire.BarrierPeer // executors and hosts of the tasks of barrier sets, by task set
	tasks           map[uint64]*task               // tasks that wait or run, by attempt id
	waiting         []*task                        // tasks that wait for cores, in the order in which they start
	freeCores       int
	ended           bool // set when no more tasks may start
	stuckTasks      map[*task]struct{}
	labels          leakLabels
	durations       taskDurations
	stall           stallTimer
	decommissioning *ExitError // the error that serve returns if this executor has requested its decommission; else nil
	running         sync.WaitGroup
}

// streamEnd describes how an executor's stream to the driver ended.
type streamEnd struct {
	err        error
	registered bool // set if the driver had accepted the executor
	resumable  bool // set if the executor may register again: its tasks have ended and it has not requested its decommission
}

// serve runs the executor over one stream, until the stream ends or the driver stops the
// executor. It calls closeStream before it returns. If a send blocks for network.timeout, it
// calls closeStream earlier, from another goroutine.
func (x *executor) serve(ctx context.Context, stream wire.ExecutorSide, closeStream func()) streamEnd {
	defer closeStream()
	tasksCtx, cancelTasks := context.WithCancelCause(broadcast.With(shuffle.With(ctx, x.shuffles), x.broadcasts))
	defer cancelTasks(nil)
	options := x.options
	out := &outbox{send: stream.Send, executor: x}
	e := &engine{
		executor:        x,
		maxResult:       int64(config.TaskMaxResult.In(options.Config)),
		maxDirectResult: int(min(config.TaskMaxDirectResult.In(options.Config), wire.MaxPart)),
		killTimeout:     config.TaskKillTimeout.In(options.Config),
		tasksCtx:        tasksCtx,
		out:             out,
		holdKey:         out.hold,
		sets:            map[uint64]*taskSet{},
		peers:           map[uint64][]*wire.BarrierPeer{},
		tasks:           map[uint64]*task{},
		stuckTasks:      map[*task]struct{}{},
		labels:          newLeakLabels(),
		freeCores:       options.Cores,
	}
	if err := stream.Send(&wire.ExecutorMessage{Register: &wire.Register{
		ExecutorId: options.ID, Host: options.Host, Cores: uint32(options.Cores),
		LogUrls: options.LogURLs, ResourceProfile: uint32(options.Profile), Version: wire.Version,
		Instance: x.instance, Resources: wire.ResourcesOf(options.Resources), DataAddress: x.dataAddress,
	}, Holds: x.heldKeys()}); err != nil {
		// When Send fails, Recv returns the reason.
		if _, reason := stream.Recv(); reason != nil {
			err = reason
		}
		return streamEnd{err: e.disconnected(ctx, err), resumable: true}
	}

	quit := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { e.watchSignals(quit) })
	if !options.SharesProcess {
		watching.Go(func() { e.watchLeaks(quit) })
	}
	if options.replaceable && !options.SharesProcess {
		watching.Go(func() { e.watchDisk(quit) })
	}
	heartbeats := e.startHeartbeats(closeStream)
	err := e.receive(ctx, stream)
	if failed := heartbeats.stop(); failed != nil && err != nil {
		err = failed
	}
	if err == nil {
		cancelTasks(errStopped)
	} else {
		cancelTasks(err)
	}
	close(quit)
	watching.Wait()
	allEnded := e.awaitTasks()
	out.stopTimer()
	x.dropStreamBlocks()
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil && e.decommissioning != nil {
		err = e.decommissioning
	}
	return streamEnd{err: err, registered: e.registered, resumable: allEnded && e.decommissioning == nil}
}

// receive receives the driver's messages and acts on them. It returns nil when the driver stops
// the executor, and an error when the stream ends or the driver refuses the executor.
func (e *engine) receive(ctx context.Context, stream wire.ExecutorSide) error {
	for {
		message, err := stream.Recv()
		if err != nil {
			return e.disconnected(ctx, err)
		}
		if refused := message.GetRefused(); refused != nil {
			return exitError(ExitRefused, "the driver refuses executor %s: %s", e.options.ID, refused.GetReason())
		}
		e.handleMessage(message)
		if stop := message.GetStop(); stop != nil {
			e.options.Logger.Info("told to stop", "executor", e.options.ID, "reason", stop.GetReason())
			return nil
		}
	}
}

func (e *engine) disconnected(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return exitError(ExitDisconnected, "executor %s lost its stream to the driver: %w", e.options.ID, err)
}

// handleMessage acts on the fields of a message in the order that wire.DriverMessage documents,
// except Refused and Stop.
func (e *engine) handleMessage(message *wire.DriverMessage) {
	if message.GetRegistered() != nil {
		e.registered = true
		e.options.Logger.Info("registered with the driver", "executor", e.options.ID, "cores", e.options.Cores)
	}
	if credentials := message.GetCredentials(); credentials != nil {
		e.useCredentials(credentials)
	}
	if notice := message.GetDecommission(); notice != nil {
		e.logDecommission(notice)
	}
	if keys := message.GetRelease(); len(keys) > 0 {
		e.out.release(keys)
	}
	e.storeShared(message.GetTaskSets())
	var updates []*wire.TaskUpdate // the last updates of attempts that end in this function
	e.mu.Lock()
	e.addSets(message.GetTaskSets())
	for _, barrier := range message.GetBarrierPeers() {
		e.peers[barrier.GetTaskSet()] = barrier.GetPeers()
	}
	e.deliverReplies(message)
	if message.GetRecall() {
		updates = e.recallQueued()
	}
	for _, launch := range message.GetLaunches() {
		for i, index := range launch.GetIndexes() {
			t := &task{engine: e, launch: launch, attempt: launch.GetAttempt() + uint64(i), index: int(index), input: launch.Input(i)}
			if update := e.launch(t); update != nil {
				updates = append(updates, update)
			}
		}
	}
	for _, kill := range message.GetKills() {
		if update := e.kill(kill); update != nil {
			updates = append(updates, update)
		}
	}
	e.forgetSets(message.GetForget())
	e.mu.Unlock()
	for _, request := range message.GetProfiles() {
		e.running.Go(func() { e.takePprof(request) })
	}
	if attempts := message.GetFetches(); len(attempts) > 0 {
		e.out.fetch(attempts)
		e.running.Go(e.out.flushNow)
	}
	if len(updates) > 0 {
		// Send in another goroutine, because a send may block, and the next message, which may
		// contain a kill, must be received meanwhile.
		e.running.Go(func() { e.out.put(updates...) })
	}
}

// useCredentials passes new delegation tokens to Options.Credentials, and acknowledges them to
// the driver.
func (e *engine) useCredentials(credentials *wire.Credentials) {
	if e.options.Credentials != nil {
		if err := e.options.Credentials(credentials.GetContent()); err != nil {
			e.options.Logger.Error("new delegation tokens cannot be used", "version", credentials.GetVersion(), "error", err)
			return
		}
	}
	e.out.acknowledgeCredentials(credentials.GetVersion())
}

// launch starts an attempt, or queues it until cores are free. If the attempt cannot run on this
// executor, launch returns the attempt's last update, else nil. The caller holds the lock.
func (e *engine) launch(t *task) *wire.TaskUpdate {
	if _, known := e.tasks[t.attempt]; known || e.ended {
		return nil
	}
	t.set = e.sets[t.launch.GetTaskSet()]
	if t.set == nil {
		return failureUpdate(t.attempt, &wire.Failure{Message: fmt.Sprintf(
			"executor %s was sent a task of task set %d before the set itself", e.options.ID, t.launch.GetTaskSet())})
	}
	t.cpus = max(int(t.launch.GetCpus()), 1)
	if t.cpus > e.options.Cores {
		return failureUpdate(t.attempt, &wire.Failure{Message: fmt.Sprintf(
			"the task takes %d cores and executor %s has %d", t.cpus, e.options.ID, e.options.Cores)})
	}
	t.leakLabel = e.labels.next(e.tasksCtx, t.set)
	t.peers, t.launchReceivedAt = e.peers[t.set.id], time.Now()
	t.ctx, t.cancel = context.WithCancelCause(t.leakLabel.ctx)
	e.tasks[t.attempt] = t
	e.enqueue(t)
	e.startWaiting()
	return nil
}

// enqueue adds a task to the tasks that wait for cores. Tasks launched without Launch.Queued
// come first, because the driver has reserved free cores for them. Tasks launched with
// Launch.Queued follow.
func (e *engine) enqueue(t *task) {
	if t.launch.GetQueued() {
		e.waiting = append(e.waiting, t)
		e.stall.start(e.recallStalled)
		return
	}
	at := slices.IndexFunc(e.waiting, func(other *task) bool { return other.launch.GetQueued() })
	if at < 0 {
		at = len(e.waiting)
	}
	e.waiting = slices.Insert(e.waiting, at, t)
}

// startWaiting starts waiting tasks, in order, as long as enough cores are free.
func (e *engine) startWaiting() {
	for len(e.waiting) > 0 && e.waiting[0].cpus <= e.freeCores && !e.ended {
		t := e.dequeue()
		e.running.Go(func() {
			for t != nil {
				t = e.run(t)
			}
		})
	}
}

// dequeue removes the first waiting task, assigns its cores, and returns it.
func (e *engine) dequeue() *task {
	t := e.waiting[0]
	e.waiting[0], e.waiting = nil, e.waiting[1:]
	e.freeCores -= t.cpus
	t.started, t.startedAt = true, time.Now()
	e.stall.lastStart = t.startedAt
	return t
}

// kill cancels an attempt's context. If the attempt has not started, or has ended and its result
// is stored on this executor, kill returns an update that reports the attempt as killed; else
// nil.
func (e *engine) kill(kill *wire.KillTask) *wire.TaskUpdate {
	attempt, reason := kill.GetAttempt(), kill.GetReason()
	t := e.tasks[attempt]
	if t == nil {
		if e.blocks.Remove(block.TaskResult(attempt)) {
			return killedUpdate(attempt, reason)
		}
		return nil // the attempt's last update has been sent or is about to be sent
	}
	t.cancel(&killedError{reason: reason})
	if t.started {
		if e.killTimeout > 0 && t.reaper == nil {
			t.reaper = time.AfterFunc(e.killTimeout, func() { e.abandonKilled(t, reason) })
		}
		return nil
	}
	delete(e.tasks, attempt)
	e.waiting = slices.DeleteFunc(e.waiting, func(other *task) bool { return other == t })
	e.startWaiting()
	return killedUpdate(attempt, reason)
}

// finish frees an attempt's cores, starts waiting tasks, and reports the attempt's last update,
// if any. If continues is true, finish may return a queued task, which the calling goroutine
// must run. This is faster than starting a goroutine, because growing the stack of a new
// goroutine takes longer than a short task.
func (e *engine) finish(t *task, took time.Duration, continues bool, update *wire.TaskUpdate) (next *task) {
	e.mu.Lock()
	if t.reaper != nil {
		t.reaper.Stop()
	}
	if t.stuck {
		delete(e.stuckTasks, t)
	}
	update = e.lastUpdate(t, update)
	t.cancel(nil) // after lastUpdate, which reads the context's cause
	delete(e.tasks, t.attempt)
	e.labels.taskEnded = true
	e.freeCores += t.cpus
	more := continues && t.launch.GetQueued() && len(e.waiting) > 0 && e.waiting[0].launch.GetQueued()
	if more && e.waiting[0].cpus <= e.freeCores && !e.ended {
		next = e.dequeue()
	}
	e.startWaiting()
	window := e.durations.addAndWindow(t, took, e.options.Cores)
	e.mu.Unlock()
	e.out.report(window, more, update)
	return next
}

// awaitTasks removes waiting tasks and waits, for stopTimeout at most, until the running tasks
// have ended. Their contexts are already cancelled. It reports whether all have ended.
func (e *engine) awaitTasks() bool {
	e.mu.Lock()
	e.ended = true
	for _, t := range e.waiting {
		t.cancel(nil)
		delete(e.tasks, t.attempt)
	}
	e.waiting = nil
	e.stall.stop()
	e.mu.Unlock()

	ended := make(chan struct{})
	go func() { e.running.Wait(); close(ended) }()
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
		e.mu.Lock()
		defer e.mu.Unlock()
		if len(e.stuckTasks) > 0 {
			e.options.Logger.Warn("tasks that were given up end with the process", "tasks", len(e.stuckTasks))
		}
		for _, t := range e.tasks {
			e.options.Logger.Warn("a task does not end though its context did; it ends with the process",
				"taskSet", t.set.name, "task", t.index, "waited", stopTimeout)
		}
	}
	return false
}
