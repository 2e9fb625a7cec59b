package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/allocation"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler"
)

// executor is one that is registered.
type executor struct {
	id         string
	instance   uint64 // 0 for one that never comes again
	host       string
	data       string // host:port of its data port; "" where it has none
	cores      int
	logURLs    map[string]string
	link       *link
	outgoing   *wire.DriverMessage              // of this turn
	attempts   map[scheduler.AttemptID]*attempt // that it runs
	registered time.Time
	lastHeard  time.Time
	resident   uint64
	ran        int        // attempts whose results wait here
	done       int        // tasks
	failed     int        // attempts
	departure  *departure // nil where nothing is known of its end
	kind       *kind
	member     *allocation.Executor // nil without dynamic allocation
	idleSince  time.Time
	lastLaunch int                 // bytes of the inputs of the latest launch of this turn's message
	forget     []uint64            // task sets that have ended; it goes with the next message
	forgotten  int                 // bytes of their common parts
	holds      map[string]struct{} // keys of what it has that others may want
	releasing  map[string]struct{} // keys released of which it has not said that it knows
}

// register takes an executor in, or says why not.
func (l *loop) register(from *link, message *wire.ExecutorMessage) {
	r := message.GetRegister()
	id := r.GetExecutorId()
	refused := ""
	before := l.executors[id]
	cameAgain := before != nil && from.executor == nil && before.instance != 0 && before.instance == r.GetInstance()
	switch {
	case from.executor != nil:
		refused = "it is registered already"
	case r.GetVersion() != wire.Version:
		refused = fmt.Sprintf("it speaks version %d of the protocol and the driver version %d: both must be of the same binary",
			r.GetVersion(), wire.Version)
	case l.kind(int(r.GetResourceProfile())) == nil:
		refused = fmt.Sprintf("its resource profile %d is unknown", r.GetResourceProfile())
	case l.executors[id] != nil && !cameAgain:
		refused = fmt.Sprintf("an executor of that id is registered already, on %s", l.executors[id].host)
	case l.d.options.Excluded(r.GetHost()):
		refused = fmt.Sprintf("node %s is excluded", r.GetHost())
	case l.stopping:
		refused = "the application ends"
	}
	if refused == "" && cameAgain {
		// It noticed before the driver did that its stream had broken.
		if before.departure != nil {
			l.departures.keep(before)
		}
		l.lose(before, Loss{Text: "lost its connection to the driver and came again", CountsAsFailure: true})
	}
	if open := l.losses[id]; refused == "" && open != nil {
		delete(l.losses, id)
		l.charge(&open.executor, open.text, open.tasks)
		before = &open.executor
	}
	if refused == "" {
		if err := l.scheduler.AddExecutor(scheduler.Executor{
			ID: id, Host: r.GetHost(), Cores: int(r.GetCores()), Profile: int(r.GetResourceProfile()),
			Resources: wire.FromResources(r.GetResources())}); err != nil {
			refused = err.Error()
		}
	}
	if refused != "" {
		l.logger.Warn("executor refused", "executor", id, "host", r.GetHost(), "reason", refused)
		if from.executor == nil {
			from.out.put(&wire.DriverMessage{Refused: &wire.Refused{Reason: refused}})
			from.out.close(nil)
		}
		return
	}
	e := &executor{
		id: id, host: r.GetHost(), data: r.GetDataAddress(), cores: int(r.GetCores()), logURLs: r.GetLogUrls(),
		link: from, registered: l.now, lastHeard: l.now,
		kind: l.kind(int(r.GetResourceProfile())), idleSince: l.now, instance: r.GetInstance(),
		attempts: map[scheduler.AttemptID]*attempt{},
	}
	if e.kind.pool != nil {
		e.member = e.kind.pool.Add(id, l.now)
	}
	from.executor = e
	l.executors[id] = e
	e.kind.executors++
	l.outgoing(e).Registered = &wire.Registered{}
	l.heardOfHolds(e, message)
	if before != nil {
		l.rejoined(e, before)
	}
	l.demand.changed = true
	l.arrival.came(l.now)
	if l.demand.manager != nil {
		l.demand.manager.ExecutorRegistered(id)
	}
	for listener := range l.listeners {
		listener.ExecutorAdded(e.info())
	}
	l.endTooWide()
	l.logger.Info("executor registered", "executor", id, "host", e.host, "cores", e.cores, "profile", e.kind.profile.ID)
	if notice, announced := l.departures.absent[id]; announced {
		delete(l.departures.absent, id)
		l.depart(e, notice, false)
	}
}

// heard takes what an executor says.
func (l *loop) heard(e *executor, message *wire.ExecutorMessage) {
	e.lastHeard = l.now
	if heartbeat := message.GetHeartbeat(); heartbeat != nil {
		e.resident = heartbeat.GetResidentBytes()
		for _, progress := range heartbeat.GetProgress() {
			l.progressed(e, progress)
		}
	}
	if wish := message.GetDecommission(); wish != nil {
		l.departByItself(e, wish.GetReason())
	}
	l.heardOfHolds(e, message)
	for _, attempt := range message.GetCommitRequests() {
		l.mayCommit(e, attempt)
	}
	for _, arrival := range message.GetBarrierArrivals() {
		l.arrived(e, arrival)
	}
	for _, update := range message.GetUpdates() {
		// An attempt that is not this executor's was given up before: its last
		// word came too late, or came twice.
		if a := l.attemptAt(e, update.GetAttempt()); a != nil {
			l.update(a, update)
		}
	}
	successes := message.GetSuccesses().Read(&l.success)
	for successes.Next() {
		a := l.attemptAt(e, l.success.GetAttempt())
		if a == nil {
			continue
		}
		update := &l.success
		if a.run.job.Barrier { // it is kept until all of the set have succeeded
			update = proto.CloneOf(update)
		}
		l.update(a, update)
	}
	l.success.Result = nil // whoever has it now may let go of it
	if err := successes.Err(); err != nil && e.link.executor == e {
		l.lose(e, Loss{Text: fmt.Sprintf("sent what cannot be read (%v)", err), CountsAsFailure: true})
	}
	if window := message.GetWindow(); window != nil {
		l.scheduler.SetWindow(e.id, window.GetTaskSet(), int(window.GetTasks()))
	}
}

// streamEnded is the end of a link, said by both of its goroutines.
func (l *loop) streamEnded(from *link, reason error) {
	from.out.close(nil)
	e := from.executor
	if e == nil {
		return
	}
	loss := Loss{Text: brokenText(reason)}
	if e.departure != nil && e.departure.dismissed {
		l.departures.keep(e)
		l.lose(e, Loss{Text: e.departure.left()})
		return
	}
	if l.stopping || l.demand.manager == nil {
		loss.CountsAsFailure = true
		l.lose(e, loss)
		return
	}
	tasks := l.lose(e, loss)
	if e.departure != nil {
		l.departures.keep(e)
		tasks = nil // whatever the explanation will be, they are not to blame
	}
	l.awaitExplanation(e, loss.Text, tasks)
}

// brokenText says how a stream broke. One that was ended from the other side
// tells nothing more.
func brokenText(reason error) string {
	if errors.Is(reason, io.EOF) || errors.Is(reason, context.Canceled) || status.Code(reason) == codes.Canceled {
		return "broke its connection to the driver"
	}
	return "lost its connection to the driver: " + status.Convert(reason).Message()
}

// lose takes an executor out and gives its tasks back to the scheduler. It
// returns the tasks that ran there. The loss of an executor whose end was
// announced never counts as a failure.
func (l *loop) lose(e *executor, loss Loss) []lostTask {
	loss.CountsAsFailure = loss.CountsAsFailure && e.departure == nil
	delete(l.executors, e.id)
	e.kind.executors--
	l.departures.forget(e)
	if e.member != nil {
		e.kind.pool.Remove(e.member)
	}
	e.link.executor = nil
	e.link.out.close(fmt.Errorf("executor %s %s", e.id, loss.Text))
	switch {
	case l.stopping:
		l.logger.Debug("executor left", "executor", e.id)
	case e.departure != nil && e.departure.dismissed:
		l.logger.Info("executor left", "executor", e.id, "host", e.host, "reason", loss.Text)
	default:
		l.logger.Warn("executor lost", "executor", e.id, "host", e.host, "reason", loss.Text, "tasks", len(e.attempts))
	}
	l.history.lost(e, loss.Text, l.now)
	l.demand.changed = true
	for _, r := range l.runs {
		delete(r.sentTo, e)
	}
	tasks := make([]lostTask, 0, len(e.attempts))
	attempts := slices.SortedFunc(maps.Values(e.attempts), func(a, b *attempt) int { return cmp.Compare(a.id, b.id) })
	clear(e.attempts)
	for _, a := range attempts {
		l.stopped(a)
		a.lost = loss.Text
		if !l.scheduler.RunningSinceLaunch(a.id) {
			continue // it runs again, and has not failed
		}
		if loss.CountsAsFailure {
			a.failure = lossFailure(loss.Text)
		}
		tasks = append(tasks, lostTask{run: a.run, index: a.index})
	}
	l.act(l.scheduler.RemoveExecutor(e.id, scheduler.Loss{Reason: loss.Text, CountsAsFailure: loss.CountsAsFailure}))
	for _, a := range attempts {
		r, away := a.run, a.away != nil
		delete(l.attempts, a.id)
		if away {
			l.fetch(r)
		}
	}
	for listener := range l.listeners {
		listener.ExecutorLost(e.info(), loss.Text)
	}
	l.noteEmpty()
	return tasks
}

// lossFailure is how a task fails whose executor was lost.
func lossFailure(text string) *wire.Failure { return &wire.Failure{Message: "the executor " + text} }
