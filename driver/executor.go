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
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler"
)

// executor is a registered executor.
type executor struct {
	id           string
	number       uint32 // of its registration, in events
	instance     uint64 // number that identifies its process; 0 if it cannot register again
	host         string
	dataAddress  string // host:port of its data port; "" without one
	cores        int
	logURLs      map[string]string
	link         *link
	out          outgoing
	attempts     map[scheduler.AttemptID]*attempt // those that it runs and those whose results it stores
	registered   time.Time
	lastHeard    time.Time
	resident     uint64 // memory of its process in RAM, in bytes
	stored       int    // number of results that it stores until the driver fetches them
	done         int    // number of attempts that succeeded
	failed       int    // number of attempts that failed
	heapProfiled bool   // a heap profile is among its logs
	decommission *decommission
	profile      *resourceProfile
	member       *allocation.Executor // its entry in the pool of dynamic allocation; nil if dynamic allocation is off
	idleSince    time.Time
	held         heldKeys
	credentials  uint64 // version of the delegation tokens that it has acknowledged
}

// register accepts or refuses an executor's registration.
func (l *loop) register(from *link, message *wire.ExecutorMessage) {
	r := message.GetRegister()
	id := r.GetExecutorId()
	before := l.executors[id]
	again := before != nil && from.executor == nil && before.instance != 0 && before.instance == r.GetInstance()
	refusal := l.refusal(from, r, again)
	if refusal == "" && again {
		// The executor noticed its broken stream before the driver did.
		if before.decommission != nil {
			l.decommissions.keepNotice(before)
		}
		l.lose(before, Loss{Text: "lost its connection to the driver and came again", CountsAsFailure: true})
	}
	if refusal == "" {
		if loss := l.losses.take(id); loss != nil {
			l.countFailures(loss)
			before = loss.executor
		}
		if err := l.scheduler.AddExecutor(scheduler.Executor{
			ID: id, Host: r.GetHost(), Cores: int(r.GetCores()), Profile: int(r.GetResourceProfile()),
			Resources: wire.FromResources(r.GetResources())}); err != nil {
			refusal = err.Error()
		}
	}
	if refusal != "" {
		l.logger.Warn("executor refused", "executor", id, "host", r.GetHost(), "reason", refusal)
		if from.executor == nil {
			l.send.refuse(from, refusal)
		}
		return
	}
	e := &executor{
		id: id, host: r.GetHost(), dataAddress: r.GetDataAddress(), cores: int(r.GetCores()), logURLs: r.GetLogUrls(),
		link: from, registered: l.now, lastHeard: l.now,
		profile: l.profiles.byID(int(r.GetResourceProfile())), idleSince: l.now, instance: r.GetInstance(),
		attempts: map[scheduler.AttemptID]*attempt{},
	}
	if e.profile.pool != nil {
		e.member = e.profile.pool.Add(id, l.now)
	}
	from.executor = e
	l.executors[id] = e
	e.profile.executors++
	l.record.executorRegistered(e, l.now)
	l.send.registered(e)
	if l.credentials != nil {
		l.send.credentials(e, l.credentials)
	}
	l.receiveHolds(e, message)
	if before != nil {
		// The executor still has data that was released while it was disconnected.
		for key := range before.held.releasing {
			l.release(e, key)
		}
	}
	l.cluster.changed = true
	l.registration.registered(l.now)
	l.cluster.executorRegistered(id)
	for listener := range l.listeners {
		listener.ExecutorAdded(e.info())
	}
	l.endUnschedulable()
	l.logger.Info("executor registered", "executor", id, "host", e.host, "cores", e.cores, "profile", e.profile.ID)
	if notice, announced := l.decommissions.take(id); announced {
		l.startDecommission(e, notice, false)
	}
}

// refusal returns why a registration is refused; "" if it is accepted. again is set
// if the executor is registered already and reconnects.
func (l *loop) refusal(from *link, r *wire.Register, again bool) string {
	registered := l.executors[r.GetExecutorId()]
	switch {
	case from.executor != nil:
		return "it is registered already"
	case r.GetVersion() != wire.Version:
		return fmt.Sprintf("it speaks version %d of the protocol and the driver version %d: both must be of the same binary",
			r.GetVersion(), wire.Version)
	case l.profiles.byID(int(r.GetResourceProfile())) == nil:
		return fmt.Sprintf("its resource profile %d is unknown", r.GetResourceProfile())
	case registered != nil && !again:
		return fmt.Sprintf("an executor of that id is registered already, on %s", registered.host)
	case l.stopping:
		return "the application ends"
	}
	return ""
}

// receive handles a message of a registered executor.
func (l *loop) receive(e *executor, message *wire.ExecutorMessage) {
	e.lastHeard = l.now
	if heartbeat := message.GetHeartbeat(); heartbeat != nil {
		e.resident = heartbeat.GetResidentBytes()
		l.record.memory(e, l.now)
		if heartbeat.GetHeapProfiled() && !e.heapProfiled {
			e.heapProfiled = true
			l.record.heapProfiled(e, l.now)
		}
		for _, progress := range heartbeat.GetProgress() {
			if a := e.attempt(progress.GetAttempt()); a != nil && !a.isStored() {
				a.set.addProgress(a, progress)
			}
		}
		l.recordValues()
	}
	if version := message.GetCredentialsVersion(); version != 0 {
		l.acknowledgeCredentials(e, version)
	}
	if request := message.GetDecommission(); request != nil {
		l.decommissionOwn(e, request.GetReason())
	}
	l.receiveHolds(e, message)
	for _, attempt := range message.GetCommitRequests() {
		l.answerCommit(e, attempt)
	}
	for _, arrival := range message.GetBarrierArrivals() {
		l.arriveAtBarrier(e, arrival)
	}
	for _, update := range message.GetUpdates() {
		// Ignore updates of attempts that were given up before or have ended.
		if a := e.attempt(update.GetAttempt()); a != nil {
			l.updateAttempt(a, update)
		}
	}
	successes := message.GetSuccesses().Read(&l.success)
	for successes.Next() {
		a := e.attempt(l.success.GetAttempt())
		if a == nil {
			continue
		}
		update := &l.success
		if a.set.spec.Barrier { // the update is kept until all tasks of the set have succeeded
			update = proto.CloneOf(update)
		}
		l.updateAttempt(a, update)
	}
	l.success.Result = nil // the listener owns the bytes
	if err := successes.Err(); err != nil && e.link.executor == e {
		l.lose(e, Loss{Text: fmt.Sprintf("sent what cannot be read (%v)", err), CountsAsFailure: true})
	}
	for _, p := range message.GetProfiles() {
		l.receiveProfile(e, p)
	}
	if window := message.GetWindow(); window != nil {
		l.scheduler.SetWindow(e.id, window.GetTaskSet(), int(window.GetTasks()))
	}
}

// attempt returns an attempt that the executor runs or whose result it stores, else nil.
func (e *executor) attempt(id uint64) *attempt { return e.attempts[scheduler.AttemptID(id)] }

// streamEnded handles the end of an executor's stream. Both goroutines of the
// stream report it; the second report has no effect.
func (l *loop) streamEnded(from *link, reason error) {
	from.mailbox.close(nil)
	e := from.executor
	if e == nil {
		return
	}
	if e.decommission != nil && e.decommission.stopped {
		l.decommissions.keepNotice(e)
		l.lose(e, Loss{Text: "left as it was told to: " + e.decommission.Reason})
		return
	}
	loss := Loss{Text: streamEndText(reason)}
	if l.stopping || l.cluster.manager == nil {
		loss.CountsAsFailure = true
		l.lose(e, loss)
		return
	}
	tasks := l.lose(e, loss)
	if e.decommission != nil {
		l.decommissions.keepNotice(e)
		tasks = nil // the loss is no failure of these tasks, whatever the cluster manager reports
	}
	l.losses.add(&unexplainedLoss{executor: e, text: loss.Text, tasks: tasks, due: l.now.Add(explanationTimeout)})
}

func streamEndText(reason error) string {
	if errors.Is(reason, io.EOF) || errors.Is(reason, context.Canceled) || status.Code(reason) == codes.Canceled {
		return "broke its connection to the driver"
	}
	return "lost its connection to the driver: " + status.Convert(reason).Message()
}

// lose removes a lost executor and returns the tasks that ran on it, which run again
// elsewhere. If the executor was decommissioning, the loss counts as no failure of them.
func (l *loop) lose(e *executor, loss Loss) []lostTask {
	loss.CountsAsFailure = loss.CountsAsFailure && e.decommission == nil
	delete(l.executors, e.id)
	e.profile.executors--
	l.decommissions.remove(e)
	if e.member != nil {
		e.profile.pool.Remove(e.member)
	}
	e.link.executor = nil
	e.link.mailbox.close(fmt.Errorf("executor %s %s", e.id, loss.Text))
	switch {
	case l.stopping:
		l.logger.Debug("executor left", "executor", e.id)
	case e.decommission != nil && e.decommission.stopped:
		l.logger.Info("executor left", "executor", e.id, "host", e.host, "reason", loss.Text)
	default:
		l.logger.Warn("executor lost", "executor", e.id, "host", e.host, "reason", loss.Text, "tasks", len(e.attempts))
	}
	l.history.addExecutor(e.status(), loss.Text, l.now)
	l.record.executorLost(e.id, loss, l.stopping || e.decommission != nil, l.now)
	l.loseProfiles(e, loss.Text)
	l.cluster.changed = true
	for _, set := range l.sets {
		delete(set.sentTo, e)
	}
	tasks := make([]lostTask, 0, len(e.attempts))
	attempts := slices.SortedFunc(maps.Values(e.attempts), func(a, b *attempt) int { return cmp.Compare(a.id, b.id) })
	clear(e.attempts)
	for _, a := range attempts {
		a.countEnd()
		a.lossText = loss.Text
		l.record.ended(a, events.OutcomeExecutorLost, nil, l.now)
		if !l.scheduler.RunningSinceLaunch(a.id) {
			continue // the task may not have been running, so the loss is not its failure
		}
		if loss.CountsAsFailure {
			a.failure = lossFailure(loss.Text)
		}
		tasks = append(tasks, lostTask{set: a.set, index: a.index})
	}
	l.act(l.scheduler.RemoveExecutor(e.id, scheduler.Loss{Reason: loss.Text, CountsAsFailure: loss.CountsAsFailure}))
	for _, a := range attempts {
		delete(l.attempts, a.id)
		if a.isStored() {
			l.fetch(a.set)
		}
	}
	for listener := range l.listeners {
		listener.ExecutorLost(e.info(), loss.Text)
	}
	l.reportEmpty()
	return tasks
}

// lossFailure returns the failure of a task whose executor was lost.
func lossFailure(text string) *wire.Failure { return &wire.Failure{Message: "the executor " + text} }

func (e *executor) info() ExecutorInfo {
	return ExecutorInfo{ID: e.id, Host: e.host, Cores: e.cores, Profile: e.profile.ID, DataAddress: e.dataAddress}
}
