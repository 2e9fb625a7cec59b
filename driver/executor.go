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
	id                 string
	registrationNumber uint32 // identifies the executor in events; counts registrations from 1
	instance           uint64 // random number that identifies the executor's process; 0 if the executor cannot register again
	host               string
	dataAddress        string // host:port of its data port; "" if it has none
	cores              int
	logURLs            map[string]string
	stream             *executorStream
	outgoing           outgoing
	attempts           map[scheduler.AttemptID]*attempt // attempts that the executor runs or has queued, and attempts whose results it stores
	registered         time.Time
	lastHeard          time.Time
	residentBytes      uint64 // resident memory of the executor's process, in bytes
	storedResults      int    // number of results that the executor stores until the driver fetches them
	succeededAttempts  int    // number of attempts that succeeded
	failedAttempts     int    // number of attempts that failed
	heapProfiled       bool   // one of the executor's log files is a heap profile
	decommission       *decommission
	profile            *resourceProfile
	allocationEntry    *allocation.Executor // the executor in the pool of dynamic allocation; nil if dynamic allocation is off
	idleSince          time.Time
	held               heldKeys
	credentialsVersion uint64 // version of the delegation tokens that the executor has acknowledged
}

// register accepts or refuses an executor's registration.
func (l *loop) register(from *executorStream, message *wire.ExecutorMessage) {
	r := message.GetRegister()
	id := r.GetExecutorId()
	before := l.executors[id]
	again := before != nil && from.executor == nil && before.instance != 0 && before.instance == r.GetInstance()
	refusal := l.whyRefused(from, r, again)
	if refusal == "" && again {
		// The executor reconnects before the driver has detected that its previous stream broke.
		if before.decommission != nil {
			l.decommissions.keepNotice(before)
		}
		l.removeLost(before, Loss{Reason: "lost its connection to the driver and came again", CountsAsFailure: true})
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
		stream: from, registered: l.now, lastHeard: l.now,
		profile: l.profiles.byID(int(r.GetResourceProfile())), idleSince: l.now, instance: r.GetInstance(),
		attempts: map[scheduler.AttemptID]*attempt{},
	}
	if e.profile.pool != nil {
		e.allocationEntry = e.profile.pool.Add(id, l.now)
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
		// The executor still has the data of keys that were released while it was disconnected.
		for key := range before.held.releasing {
			l.release(e, key)
		}
	}
	l.requester.mayHaveChanged = true
	l.registration.registered(l.now)
	l.requester.executorRegistered(id)
	for listener := range l.listeners {
		listener.ExecutorAdded(e.info())
	}
	l.endUnschedulableBarriers()
	l.logger.Info("executor registered", "executor", id, "host", e.host, "cores", e.cores, "profile", e.profile.ID)
	if notice, announced := l.decommissions.takeNotice(id); announced {
		l.startDecommission(e, notice, false)
	}
}

// whyRefused returns why a registration is refused; "" if it is accepted. again is true if the
// executor reconnects before the end of its previous stream was detected.
func (l *loop) whyRefused(from *executorStream, r *wire.Register, again bool) string {
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
		e.residentBytes = heartbeat.GetResidentBytes()
		l.record.memorySample(e, l.now)
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
		l.decommissionWithoutClusterManager(e, request.GetReason())
	}
	l.receiveHolds(e, message)
	for _, attempt := range message.GetCommitRequests() {
		l.answerCommit(e, attempt)
	}
	for _, arrival := range message.GetBarrierArrivals() {
		l.arriveAtBarrier(e, arrival)
	}
	for _, update := range message.GetUpdates() {
		// Ignore updates of attempts whose end the executor has already reported.
		if a := e.attempt(update.GetAttempt()); a != nil {
			l.updateAttempt(a, update)
		}
	}
	successes := message.GetSuccesses().Read(&l.reusedSuccess)
	for successes.Next() {
		a := e.attempt(l.reusedSuccess.GetAttempt())
		if a == nil {
			continue
		}
		update := &l.reusedSuccess
		if a.set.spec.Barrier { // the update is stored until all tasks of the set have succeeded
			update = proto.CloneOf(update)
		}
		l.updateAttempt(a, update)
	}
	l.reusedSuccess.Result = nil // the listener now owns the bytes of the result
	if err := successes.Err(); err != nil && e.stream.executor == e {
		l.removeLost(e, Loss{Reason: fmt.Sprintf("sent what cannot be read (%v)", err), CountsAsFailure: true})
	}
	for _, p := range message.GetProfiles() {
		l.receivePprof(e, p)
	}
	if window := message.GetWindow(); window != nil {
		l.scheduler.SetWindow(e.id, window.GetTaskSet(), int(window.GetTasks()))
	}
}

// attempt returns the attempt with the given id if the executor runs it, has it queued or stores
// its result, else nil.
func (e *executor) attempt(id uint64) *attempt { return e.attempts[scheduler.AttemptID(id)] }

// streamEnded handles the end of an executor's stream. Both goroutines of the stream call it;
// the second call has no effect.
func (l *loop) streamEnded(from *executorStream, reason error) {
	from.mailbox.close(nil)
	e := from.executor
	if e == nil {
		return
	}
	if e.decommission != nil && e.decommission.stopped {
		l.decommissions.keepNotice(e)
		l.removeLost(e, Loss{Reason: "left as it was told to: " + e.decommission.Reason})
		return
	}
	loss := Loss{Reason: streamEndReason(reason)}
	if l.stopping || l.requester.manager == nil {
		loss.CountsAsFailure = true
		l.removeLost(e, loss)
		return
	}
	tasks := l.removeLost(e, loss)
	if e.decommission != nil {
		l.decommissions.keepNotice(e)
		tasks = nil // so that the loss does not count as a failure of these tasks, whatever the cluster manager reports
	}
	l.losses.add(&unexplainedLoss{executor: e, text: loss.Reason, tasks: tasks, due: l.now.Add(explanationTimeout)})
}

func streamEndReason(reason error) string {
	if errors.Is(reason, io.EOF) || errors.Is(reason, context.Canceled) || status.Code(reason) == codes.Canceled {
		return "broke its connection to the driver"
	}
	return "lost its connection to the driver: " + status.Convert(reason).Message()
}

// removeLost removes a lost executor, and retries all its tasks on other executors. It returns
// the tasks that were certainly running on the executor, without those that were queued. If the
// executor was decommissioning, its loss does not count as a failure of any task.
func (l *loop) removeLost(e *executor, loss Loss) []lostTask {
	loss.CountsAsFailure = loss.CountsAsFailure && e.decommission == nil
	delete(l.executors, e.id)
	e.profile.executors--
	l.decommissions.remove(e)
	if e.allocationEntry != nil {
		e.profile.pool.Remove(e.allocationEntry)
	}
	e.stream.executor = nil
	e.stream.mailbox.close(fmt.Errorf("executor %s %s", e.id, loss.Reason))
	switch {
	case l.stopping:
		l.logger.Debug("executor left", "executor", e.id)
	case e.decommission != nil && e.decommission.stopped:
		l.logger.Info("executor left", "executor", e.id, "host", e.host, "reason", loss.Reason)
	default:
		l.logger.Warn("executor lost", "executor", e.id, "host", e.host, "reason", loss.Reason, "tasks", len(e.attempts))
	}
	l.history.addExecutor(e.status(), loss.Reason, l.now)
	l.record.executorLost(e.id, loss, l.stopping || e.decommission != nil, l.now)
	l.failPprofRequests(e, loss.Reason)
	l.requester.mayHaveChanged = true
	for _, set := range l.sets {
		delete(set.executorsWithShared, e)
	}
	tasks := make([]lostTask, 0, len(e.attempts))
	attempts := slices.SortedFunc(maps.Values(e.attempts), func(a, b *attempt) int { return cmp.Compare(a.id, b.id) })
	clear(e.attempts)
	for _, a := range attempts {
		a.countEnd()
		a.lossReason = loss.Reason
		l.record.ended(a, events.OutcomeExecutorLost, nil, l.now)
		if !l.scheduler.RunningSinceLaunch(a.id) {
			continue // the task may not have been running, so the loss does not count as its failure
		}
		if loss.CountsAsFailure {
			a.failure = lossFailure(loss.Reason)
		}
		tasks = append(tasks, lostTask{set: a.set, index: a.index})
	}
	l.handleSchedulerEvents(l.scheduler.RemoveExecutor(e.id, scheduler.Loss{Reason: loss.Reason, CountsAsFailure: loss.CountsAsFailure}))
	for _, a := range attempts {
		delete(l.attempts, a.id)
		if a.isStored() {
			l.fetch(a.set)
		}
	}
	for listener := range l.listeners {
		listener.ExecutorLost(e.info(), loss.Reason)
	}
	l.notifyNoExecutors()
	return tasks
}

// lossFailure returns the failure of a task whose executor was lost.
func lossFailure(text string) *wire.Failure { return &wire.Failure{Message: "the executor " + text} }

func (e *executor) info() ExecutorInfo {
	return ExecutorInfo{ID: e.id, Host: e.host, Cores: e.cores, Profile: e.profile.ID, DataAddress: e.dataAddress,
		NodeLeaves: e.decommission != nil && e.decommission.NodeLeaves}
}
