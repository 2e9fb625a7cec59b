package executorbackend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// leaveWait is how long an executor that ends waits for tasks whose contexts
// it has cancelled. Go cannot end a goroutine from outside: one that outlives
// this is named in the log and ends with the process.
const leaveWait = 3 * time.Second

// errStopped is the cause of the end of a task's context when the driver
// stops the executor.
var errStopped = errors.New("the executor was told to stop")

// Serve is an executor over a stream such as wire.Pipe makes: it must end when
// ctx does, and its CloseSend may be called while Send is.
// Tasks run under contexts made from ctx. Serve returns nil when the driver
// told it to stop and *ExitError when the driver refused it or the stream
// broke, after it cancelled what was running and waited a bounded time for it.
func Serve(ctx context.Context, options Options, stream wire.ExecutorSide) error {
	options = options.withDefaults()
	life := newLife(options)
	defer life.blocks.Close()
	return serve(ctx, options, stream, func() { _ = stream.CloseSend() }, life).err
}

// engine is an executor at work. The goroutine that receives messages starts
// tasks and kills them; the goroutine in which a task ran reports its end.
type engine struct {
	options     Options
	maxResult   int64
	maxDirect   int           // bytes of a result that goes with its task's last update
	killTimeout time.Duration // 0 for ever
	tasksCtx    context.Context
	out         *outgoing
	blocks      *block.Store
	hold        func(key string) // of every task
	registered  bool             // told so; of the goroutine that receives

	mu         sync.Mutex
	sets       map[uint64]*taskSet
	gangs      map[uint64][]*wire.BarrierPeer // of barrier sets
	tasks      map[uint64]*task               // waiting and running, by attempt
	waiting    []*task                        // for cores, in order
	free       int                            // cores
	ended      bool                           // nothing starts any more
	stuck      map[*task]struct{}             // given up and not ended
	origins    origins
	pace       pace
	impatience impatience
	leaving    *ExitError // once this executor wished to leave
	running    sync.WaitGroup
}

// sessionEnd is the end of an executor's stream.
type sessionEnd struct {
	err        error
	registered bool // it was registered on it
	idle       bool // every task has ended, and it did not wish to leave
}

// serve runs an executor over one stream. leave ends the stream: it is called
// at the end, and by another goroutine when nothing can be sent any more.
func serve(ctx context.Context, options Options, stream wire.ExecutorSide, leave func(), life *life) sessionEnd {
	defer leave()
	tasksCtx, cancelTasks := context.WithCancelCause(ctx)
	defer cancelTasks(nil)
	out := &outgoing{send: stream.Send, life: life}
	e := &engine{
		options:     options,
		maxResult:   int64(config.TaskMaxResult.In(options.Config)),
		maxDirect:   int(min(config.TaskMaxDirectResult.In(options.Config), wire.MaxPart)),
		killTimeout: config.TaskKillTimeout.In(options.Config),
		tasksCtx:    tasksCtx,
		out:         out,
		blocks:      life.blocks,
		hold:        out.hold,
		sets:        map[uint64]*taskSet{},
		gangs:       map[uint64][]*wire.BarrierPeer{},
		tasks:       map[uint64]*task{},
		stuck:       map[*task]struct{}{},
		origins:     newOrigins(),
		free:        options.Cores,
	}
	if err := stream.Send(&wire.ExecutorMessage{Register: &wire.Register{
		ExecutorId: options.ID, Host: options.Host, Cores: uint32(options.Cores),
		LogUrls: options.LogURLs, ResourceProfile: uint32(options.Profile), Version: wire.Version,
		Instance: life.instance, Resources: wire.ResourcesOf(options.Resources), DataAddress: life.dataAddress,
	}, Holds: life.holding()}); err != nil {
		// gRPC tells the receiving side why a stream takes no messages.
		if _, reason := stream.Recv(); reason != nil {
			err = reason
		}
		return sessionEnd{err: e.disconnected(ctx, err), idle: true}
	}

	quit := make(chan struct{})
	var heeding sync.WaitGroup
	heeding.Go(func() { e.heedSignals(quit) })
	if !options.Shared {
		heeding.Go(func() { e.nameOutliving(quit) })
	}
	if options.replaceable && !options.Shared {
		heeding.Go(func() { e.watchDisk(quit) })
	}
	beating := e.startHeartbeat(leave)
	err := e.receive(ctx, stream)
	if failed := beating.stop(); failed != nil && err != nil {
		err = failed
	}
	if err == nil {
		cancelTasks(errStopped)
	} else {
		cancelTasks(err)
	}
	close(quit)
	heeding.Wait()
	idle := e.end()
	out.end()
	life.endStream()
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil && e.leaving != nil {
		err = e.leaving
	}
	return sessionEnd{err: err, registered: e.registered, idle: idle && e.leaving == nil}
}

// receive takes the driver's messages until one says stop, which is nil.
func (e *engine) receive(ctx context.Context, stream wire.ExecutorSide) error {
	for {
		message, err := stream.Recv()
		if err != nil {
			return e.disconnected(ctx, err)
		}
		if refused := message.GetRefused(); refused != nil {
			return exitError(ExitRefused, "the driver refuses executor %s: %s", e.options.ID, refused.GetReason())
		}
		if message.GetRegistered() != nil {
			e.registered = true
			e.options.Logger.Info("registered with the driver", "executor", e.options.ID, "cores", e.options.Cores)
		}
		if notice := message.GetDecommission(); notice != nil {
			e.noteDecommission(notice)
		}
		e.take(message)
		if stop := message.GetStop(); stop != nil {
			e.options.Logger.Info("told to stop", "executor", e.options.ID, "reason", stop.GetReason())
			return nil
		}
	}
}

// noteDecommission tells that the executor will be taken away. The driver sends
// no further task, and a Stop when those that run have ended.
func (e *engine) noteDecommission(notice *wire.Decommission) {
	e.mu.Lock()
	tasks := len(e.tasks)
	e.mu.Unlock()
	attributes := []any{"executor", e.options.ID, "reason", notice.GetReason(), "tasks", tasks}
	if millis := notice.GetDeadlineMillis(); millis != 0 {
		attributes = append(attributes, "deadline", time.UnixMilli(millis))
	}
	e.options.Logger.Info("no further tasks: this executor will be taken away", attributes...)
}

func (e *engine) disconnected(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return exitError(ExitDisconnected, "executor %s lost its stream to the driver: %w", e.options.ID, err)
}

// take acts on the fields of a message that are about tasks, in the order that
// wire.DriverMessage defines.
func (e *engine) take(message *wire.DriverMessage) {
	var unable []*wire.TaskUpdate
	if keys := message.GetRelease(); len(keys) > 0 {
		e.out.release(keys) // before a launched task can hold one of them again
	}
	e.keepShared(message.GetTaskSets())
	e.mu.Lock()
	e.addSets(message.GetTaskSets())
	for _, gang := range message.GetBarrierPeers() {
		e.gangs[gang.GetTaskSet()] = gang.GetPeers()
	}
	e.answer(message)
	if message.GetRecall() {
		unable = e.giveBackQueued()
	}
	for _, launch := range message.GetLaunches() {
		for i, index := range launch.GetIndexes() {
			t := &task{engine: e, launch: launch, attempt: launch.GetAttempt() + uint64(i), index: int(index), input: launch.Input(i)}
			if update := e.launch(t); update != nil {
				unable = append(unable, update)
			}
		}
	}
	for _, kill := range message.GetKills() {
		if update := e.kill(kill); update != nil {
			unable = append(unable, update)
		}
	}
	e.forgetSets(message.GetForget())
	e.mu.Unlock()
	if attempts := message.GetFetches(); len(attempts) > 0 {
		e.out.fetch(attempts)
		e.running.Go(e.out.flushNow)
	}
	if len(unable) > 0 {
		// Sending may block, and the next message may be a kill.
		e.running.Go(func() { e.out.put(unable...) })
	}
}

// launch starts an attempt, or lets it wait for cores. It returns the attempt's
// last update where it cannot run here at all.
func (e *engine) launch(t *task) *wire.TaskUpdate {
	if _, known := e.tasks[t.attempt]; known || e.ended {
		return nil
	}
	t.set = e.sets[t.launch.GetTaskSet()]
	if t.set == nil {
		return failed(t.attempt, &wire.Failure{Message: fmt.Sprintf(
			"executor %s was sent a task of task set %d before the set itself", e.options.ID, t.launch.GetTaskSet())})
	}
	t.cpus = max(int(t.launch.GetCpus()), 1)
	if t.cpus > e.options.Cores {
		return failed(t.attempt, &wire.Failure{Message: fmt.Sprintf(
			"the task takes %d cores and executor %s has %d", t.cpus, e.options.ID, e.options.Cores)})
	}
	t.origin = e.origins.of(e.tasksCtx, t.set)
	t.gang, t.received = e.gangs[t.set.id], time.Now()
	t.ctx, t.cancel = context.WithCancelCause(t.origin.ctx)
	e.tasks[t.attempt] = t
	e.wait(t)
	e.startWaiting()
	return nil
}

// wait has a task wait for cores: one that was not queued by the driver goes
// before those that were.
func (e *engine) wait(t *task) {
	if t.launch.GetQueued() {
		e.waiting = append(e.waiting, t)
		e.impatience.watch(e.giveBackLate)
		return
	}
	at := slices.IndexFunc(e.waiting, func(other *task) bool { return other.launch.GetQueued() })
	if at < 0 {
		at = len(e.waiting)
	}
	e.waiting = slices.Insert(e.waiting, at, t)
}

// startWaiting starts what waits, in order, as far as cores are free.
func (e *engine) startWaiting() {
	for len(e.waiting) > 0 && e.waiting[0].cpus <= e.free && !e.ended {
		t := e.takeWaiting()
		e.running.Go(func() {
			for t != nil {
				t = e.run(t)
			}
		})
	}
}

// takeWaiting takes the first of those that wait, with its cores.
func (e *engine) takeWaiting() *task {
	t := e.waiting[0]
	e.waiting[0], e.waiting = nil, e.waiting[1:]
	e.free -= t.cpus
	t.started, t.began = true, time.Now()
	e.impatience.moved = t.began
	return t
}

// kill cancels an attempt's context. It returns the last update of one that
// had not started.
func (e *engine) kill(kill *wire.KillTask) *wire.TaskUpdate {
	t := e.tasks[kill.GetAttempt()]
	if t == nil {
		return e.killRan(kill)
	}
	t.cancel(&killedError{reason: kill.GetReason()})
	if t.started {
		if e.killTimeout > 0 && t.reaper == nil {
			t.reaper = time.AfterFunc(e.killTimeout, func() { e.reap(t, kill.GetReason()) })
		}
		return nil
	}
	delete(e.tasks, kill.GetAttempt())
	e.waiting = slices.DeleteFunc(e.waiting, func(other *task) bool { return other == t })
	e.startWaiting()
	return killedUpdate(kill.GetAttempt(), kill.GetReason())
}

// finished frees an attempt's cores, starts what waited for them and reports its
// last update, if there is one. Of queued tasks the next one runs in the same
// goroutine, if that goes on: a new one would have its stack grown, which takes
// longer than a short task does.
func (e *engine) finished(t *task, took time.Duration, goesOn bool, update *wire.TaskUpdate) (next *task) {
	e.mu.Lock()
	if t.reaper != nil {
		t.reaper.Stop()
	}
	if t.givenUp {
		delete(e.stuck, t)
	}
	update = e.last(t, update)
	t.cancel(nil) // not before: how it was killed, if it was, is its context's cause
	delete(e.tasks, t.attempt)
	e.origins.ended = true
	e.free += t.cpus
	more := goesOn && t.launch.GetQueued() && len(e.waiting) > 0 && e.waiting[0].launch.GetQueued()
	if more && e.waiting[0].cpus <= e.free && !e.ended {
		next = e.takeWaiting()
	}
	e.startWaiting()
	window := e.pace.window(t, took, e.options.Cores)
	e.mu.Unlock()
	e.out.report(window, more, update)
	return next
}

// end waits for cancelled tasks, a bounded time, and reports whether all have
// ended.
func (e *engine) end() bool {
	e.mu.Lock()
	e.ended = true
	for _, t := range e.waiting {
		t.cancel(nil)
		delete(e.tasks, t.attempt)
	}
	e.waiting = nil
	e.impatience.stop()
	e.mu.Unlock()

	quiet := make(chan struct{})
	go func() { e.running.Wait(); close(quiet) }()
	timer := time.NewTimer(leaveWait)
	defer timer.Stop()
	select {
	case <-quiet:
		return true
	case <-timer.C:
		e.mu.Lock()
		defer e.mu.Unlock()
		if len(e.stuck) > 0 {
			e.options.Logger.Warn("tasks that were given up end with the process", "tasks", len(e.stuck))
		}
		for _, t := range e.tasks {
			e.options.Logger.Warn("a task does not end though its context did; it ends with the process",
				"taskSet", t.set.name, "task", t.index, "waited", leaveWait)
		}
	}
	return false
}
