package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

type executorKey struct {
	application string
	id          uint32
}

// executor is an executor that runs on a worker, or that the worker was ordered to launch.
type executor struct {
	key             executorKey
	application     *application // nil if the executor is only to be stopped
	worker          *worker
	profile         *protocol.ExecutorProfile
	reserved        reservation
	state           protocol.ExecutorState
	killing         bool // whether the worker was ordered to stop the executor
	decommissioning bool // whether the worker is being decommissioned
	registered      bool // whether the executor has registered with its driver
	logURL          string
}

// isActive reports whether the executor counts towards its application's request.
func (e *executor) isActive() bool { return e.application != nil && !e.killing && !e.decommissioning }

// update calls change, which changes the executor. It then corrects the totals of the
// executor's application if the result of isActive has changed.
func (e *executor) update(change func()) {
	before, application := e.isActive(), e.application
	change()
	if after := e.isActive(); application != nil && before != after {
		if before {
			application.count(e, -1)
		} else {
			application.count(e, 1)
		}
	}
}

func (w *worker) executorsInOrder() []*executor {
	all := make([]*executor, 0, len(w.executors))
	for _, e := range w.executors {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *executor) int {
		return cmp.Or(cmp.Compare(a.key.application, b.key.application), cmp.Compare(a.key.id, b.key.id))
	})
	return all
}

// addExecutor adds an executor to its worker and its application. The worker's capacity must
// already include the executor's reservation.
func (c *Cluster) addExecutor(e *executor) {
	e.worker.executors[e.key] = e
	if e.application != nil {
		e.application.add(e)
	}
}

func (c *Cluster) launch(now time.Time, a *application, w *worker, profile *protocol.ExecutorProfile, cores int) {
	s := executorSize(profile)
	s.cores = cores
	e := &executor{
		key: executorKey{a.id, c.nextExecutorID(a)}, application: a, worker: w, profile: profile,
		reserved: w.capacity.reserve(s),
		state:    protocol.ExecutorState_EXECUTOR_LAUNCHING,
	}
	c.addExecutor(e)
	a.usedWorkers[w.id] = true
	c.orderLaunch(e)
	order := c.orderApplication(a)
	order.Executors = append(order.Executors, e.forApplication())
	c.note("launching an executor", "application", a.id, "executor", e.key.id, "worker", w.id, "host", w.address.host, "cores", cores)
}

func (c *Cluster) orderLaunch(e *executor) {
	order := c.orderWorker(e.worker)
	order.LaunchExecutors = append(order.LaunchExecutors, &protocol.LaunchExecutor{
		ApplicationId: e.key.application,
		ExecutorId:    e.key.id,
		Profile:       e.profile,
		Cores:         uint32(e.reserved.cores),
		Resources:     protocol.ToAddresses(e.reserved.resources),
		Command:       e.application.description.GetCommand(),
	})
}

func (c *Cluster) orderKill(e *executor) {
	order := c.orderWorker(e.worker)
	order.KillExecutors = append(order.KillExecutors, &protocol.KillExecutor{ApplicationId: e.key.application, ExecutorId: e.key.id})
}

func (c *Cluster) kill(e *executor) {
	if e.killing {
		return
	}
	e.update(func() { e.killing = true })
	c.dirty = true
	c.orderKill(e)
}

func (e *executor) forApplication() *protocol.ApplicationExecutor {
	return &protocol.ApplicationExecutor{
		Id: e.key.id, WorkerId: e.worker.id, Host: e.worker.address.host, Cores: uint32(e.reserved.cores),
		Profile: e.profile.GetId(), State: e.state, LogUrl: e.logURL,
	}
}

func (c *Cluster) handleExecutorReport(now time.Time, w *worker, report *protocol.ExecutorReport) {
	key := executorKey{report.GetApplicationId(), report.GetExecutorId()}
	e := w.executors[key]
	if e == nil {
		if !report.GetState().Ended() {
			c.takeOverExecutor(now, w, report)
		}
		return
	}
	if report.GetState().Ended() {
		c.endExecutor(now, e, report.GetState(), report.GetText(), report.GetExitCode())
		return
	}
	if e.state == report.GetState() && e.logURL == report.GetLogUrl() {
		return
	}
	if e.state == protocol.ExecutorState_EXECUTOR_LAUNCHING {
		e.state = report.GetState()
	}
	e.logURL = report.GetLogUrl()
	if e.application != nil && !e.killing {
		order := c.orderApplication(e.application)
		order.Executors = append(order.Executors, e.forApplication())
	}
}

// takeOverExecutor adds an executor that a worker reports but that this master does not know,
// because the master was restarted or the worker was considered lost. If the application
// considers the executor ended (see hasGivenUp), the worker is ordered to stop it.
func (c *Cluster) takeOverExecutor(now time.Time, w *worker, report *protocol.ExecutorReport) {
	key := executorKey{report.GetApplicationId(), report.GetExecutorId()}
	a := c.applications[key.application]
	if a == nil && checkID("an application", key.application) == nil && !c.applicationHasEnded(key.application) {
		a = c.expectApplication(now, key.application)
	}
	e := &executor{
		key: key, worker: w, profile: report.GetProfile(), state: report.GetState(), logURL: report.GetLogUrl(),
		decommissioning: w.decommissioning,
		reserved: reservation{
			cores:     int(report.GetCores()),
			memory:    report.GetProfile().GetMemory() + report.GetProfile().GetOverhead(),
			resources: protocol.FromAddresses(report.GetResources()),
		},
	}
	w.capacity.add(e.reserved)
	if a == nil || a.executors[key.id] != nil || a.sentAllExecutors || a.hasGivenUp(key.id) {
		c.note("a worker has an executor that is not wanted any more", "application", key.application, "executor", key.id, "worker", w.id)
		e.killing = true
		c.addExecutor(e)
		c.orderKill(e)
		return
	}
	// If an end of this executor was recorded, the application has not attached yet, so the end
	// was not sent.
	a.dropEnd(key.id)
	e.application = a
	a.highestID = max(a.highestID, key.id)
	a.usedWorkers[w.id] = true
	c.addExecutor(e)
	delete(a.expected, key.id)
	if a.registeredIDs[key.id] {
		e.registered = true
	}
	if a.killed[key.id] {
		c.kill(e)
	}
	c.completeIfNoneExpected(a)
}

// reconcileExecutors compares the executors that a worker should run with those that the
// worker reported when it attached (named). It launches again, or ends, the executors that the
// worker did not report. It repeats the kill order for reported executors that should not run.
func (c *Cluster) reconcileExecutors(now time.Time, w *worker, named map[executorKey]bool) {
	for _, e := range w.executorsInOrder() {
		launching := e.state == protocol.ExecutorState_EXECUTOR_LAUNCHING
		switch {
		case named[e.key]:
			if e.killing {
				c.orderKill(e)
			}
		case e.killing:
			c.endExecutor(now, e, protocol.ExecutorState_EXECUTOR_KILLED, "it had not been started on "+w.name(), 0)
		case launching && e.application.launchable():
			c.orderLaunch(e) // the launch order was lost
		case launching:
			// The launch order needs the application's command, which is unknown while the
			// application is detached.
			c.endExecutor(now, e, protocol.ExecutorState_EXECUTOR_LOST, "it had not been started on "+w.name(), 0)
		default:
			c.endExecutor(now, e, protocol.ExecutorState_EXECUTOR_LOST, fmt.Sprintf("%s does not have it any more", w.name()), 0)
		}
	}
}

// endExecutor removes an executor and reports its end to its application.
func (c *Cluster) endExecutor(now time.Time, e *executor, state protocol.ExecutorState, text string, exitCode int32) {
	delete(e.worker.executors, e.key)
	e.worker.capacity.release(e.reserved)
	c.dirty = true
	a := e.application
	if a == nil {
		return
	}
	a.remove(e)
	if a.hasEnded() {
		return
	}
	counts := state == protocol.ExecutorState_EXECUTOR_EXITED && exitCode != 0 && !e.killing
	c.reportEnd(a, &protocol.ExecutorEnd{Id: e.key.id, State: state, Text: text, ExitCode: exitCode, CountsAsFailure: counts})
	c.note("an executor has ended", "application", a.id, "executor", e.key.id, "worker", e.worker.id, "state", state, "reason", text)
	failed := state == protocol.ExecutorState_EXECUTOR_FAILED ||
		state == protocol.ExecutorState_EXECUTOR_EXITED && (exitCode != 0 || !e.registered)
	if failed && !e.killing && a.attached {
		a.failedOn[e.worker.id]++
		if !e.registered { // the driver counts failures of registered executors itself
			c.countFailure(now, a, e, text)
		}
	}
}
