package driver

import (
	"slices"
	"time"
)

// stopTimeout is how long an executor may take to stop. Then the driver requests that the
// cluster manager kills it.
const stopTimeout = 10 * time.Second

// Decommission announces that the cluster will end executors. No new tasks are launched on them.
// An executor is stopped when it runs no tasks and no [ExecutorListener] moves its data.
// Executors that have not stopped at the notice's deadline are killed. Their tasks are retried
// on other executors without counting a failure. The notice for an executor that is not
// registered applies when it registers. Of two notices for an executor, the one with the earlier
// deadline applies.
func (d *Driver) Decommission(ids []string, notice DecommissionNotice) {
	ids = slices.Clone(ids)
	d.do(func(l *loop) { l.decommission(ids, notice) })
}

// Replace decommissions an executor for the given reason. When the executor has stopped, the
// cluster manager starts another one. Replace does nothing if the executor is not registered.
func (d *Driver) Replace(id, reason string) {
	d.do(func(l *loop) {
		if e := l.executors[id]; e != nil {
			l.decommissionWithoutClusterManager(e, reason)
		}
	})
}

// decommission is the state of an executor that is being decommissioned.
type decommission struct {
	DecommissionNotice
	withoutClusterManager bool      // the executor or the driver started the decommission, not a notice of the cluster manager
	stopped               bool      // set when the driver has sent the executor Stop
	killAt                time.Time // when the executor is to be killed; the zero time means never

	handovers     map[ExecutorListener]struct{} // listeners that move the executor's data
	announcedIdle bool                          // whether the executor ran no tasks when ExecutorDecommissioned was last called
}

// decommissions contains the executors that are being decommissioned, and the notices for
// executors that have not registered.
type decommissions struct {
	executors    map[*executor]struct{}
	unregistered map[string]DecommissionNotice // by executor id
	nextDeadline time.Time                     // lower bound of all deadlines; the zero time means that there is no deadline
}

func newDecommissions() decommissions {
	return decommissions{executors: map[*executor]struct{}{}, unregistered: map[string]DecommissionNotice{}}
}

// storeNotice stores a notice for an unregistered executor. Of two notices for an executor, it
// stores the one with the earlier deadline.
func (d *decommissions) storeNotice(id string, notice DecommissionNotice) {
	if known, ok := d.unregistered[id]; ok && !earlierDeadline(notice.Deadline, known.Deadline) {
		return
	}
	d.unregistered[id] = notice
	d.nextDeadline = earliest(d.nextDeadline, notice.Deadline)
}

// takeNotice removes and returns the notice that storeNotice stored for an executor.
func (d *decommissions) takeNotice(id string) (DecommissionNotice, bool) {
	notice, ok := d.unregistered[id]
	delete(d.unregistered, id)
	return notice, ok
}

// begin records a notice for a registered executor. A notice has no effect if the recorded
// notice has the same or an earlier deadline. own becomes decommission.withoutClusterManager.
// first reports whether this is the executor's first notice. changed reports whether the notice
// was recorded and must be sent to the executor.
func (d *decommissions) begin(e *executor, notice DecommissionNotice, own bool) (first, changed bool) {
	first = e.decommission == nil
	switch {
	case first:
		e.decommission = &decommission{withoutClusterManager: own}
		d.executors[e] = struct{}{}
	case !earlierDeadline(notice.Deadline, e.decommission.Deadline):
		return false, false
	}
	e.decommission.DecommissionNotice = notice
	d.killBy(e, notice.Deadline)
	return first, true
}

// stop records that the driver sends the executor Stop.
func (d *decommissions) stop(e *executor, now time.Time) {
	e.decommission.stopped = true
	d.killBy(e, now.Add(stopTimeout))
}

func (d *decommissions) killBy(e *executor, due time.Time) {
	e.decommission.killAt = earliest(e.decommission.killAt, due)
	d.nextDeadline = earliest(d.nextDeadline, e.decommission.killAt)
}

// keepNotice stores the notice of an executor that was lost but may register again.
func (d *decommissions) keepNotice(e *executor) {
	if e.instance == 0 {
		return
	}
	notice := e.decommission.DecommissionNotice
	if e.decommission.stopped {
		notice.Deadline = time.Time{} // the executor has probably stopped, so it need not be killed at the deadline
	}
	d.storeNotice(e.id, notice)
}

func (d *decommissions) remove(e *executor) { delete(d.executors, e) }

// expired returns the registered executors whose time killAt has passed. It also removes the
// notices for unregistered executors whose deadlines have passed, and returns the ids of these
// executors.
func (d *decommissions) expired(now time.Time) (executors []*executor, unregistered []string) {
	if d.nextDeadline.IsZero() || now.Before(d.nextDeadline) {
		return nil, nil
	}
	d.nextDeadline = time.Time{}
	for e := range d.executors {
		if due := e.decommission.killAt; due.IsZero() || now.Before(due) {
			d.nextDeadline = earliest(d.nextDeadline, due)
		} else {
			executors = append(executors, e)
		}
	}
	for id, notice := range d.unregistered {
		if notice.Deadline.IsZero() || now.Before(notice.Deadline) {
			d.nextDeadline = earliest(d.nextDeadline, notice.Deadline)
		} else {
			unregistered = append(unregistered, id)
			delete(d.unregistered, id)
		}
	}
	return executors, unregistered
}

// earlierDeadline reports whether deadline a is before deadline b. The zero time means no
// deadline.
func earlierDeadline(a, b time.Time) bool { return !a.IsZero() && (b.IsZero() || a.Before(b)) }

func (l *loop) decommission(ids []string, notice DecommissionNotice) {
	if l.stopping {
		return
	}
	for _, id := range ids {
		if e := l.executors[id]; e != nil {
			l.startDecommission(e, notice, false)
		} else if l.losses[id] == nil {
			l.decommissions.storeNotice(id, notice)
		}
	}
}

// startDecommission decommissions an executor: it launches no more tasks on the executor, sends
// it the notice, and calls ExecutorDecommissioned of the listeners. If the executor runs no
// tasks and no listener moves its data, it stops the executor.
func (l *loop) startDecommission(e *executor, notice DecommissionNotice, own bool) {
	first, changed := l.decommissions.begin(e, notice, own)
	if !changed {
		return
	}
	if first {
		l.handleSchedulerEvents(l.scheduler.DecommissionExecutor(e.id))
		if e.allocationEntry != nil {
			e.profile.pool.Remove(e.allocationEntry)
		}
		l.requester.mayHaveChanged = true
	}
	l.record.decommissioned(e, notice, l.now)
	l.send.decommission(e, notice)
	attributes := []any{"executor", e.id, "host", e.host, "reason", notice.Reason, "tasks", len(e.attempts)}
	if !notice.Deadline.IsZero() {
		attributes = append(attributes, "deadline", notice.Deadline)
	}
	l.logger.Info("executor gets no further tasks", attributes...)
	if first {
		l.beginHandover(e)
	}
	if len(e.attempts) == 0 {
		l.stopIdle(e)
	}
}

// decommissionWithoutClusterManager decommissions an executor without a notice of the cluster
// manager.
func (l *loop) decommissionWithoutClusterManager(e *executor, reason string) {
	if e.decommission == nil && !l.stopping {
		l.startDecommission(e, DecommissionNotice{Reason: reason}, true)
	}
}

// stopIdle stops a decommissioned executor that runs no tasks, unless a listener still moves its
// data.
func (l *loop) stopIdle(e *executor) {
	if e.decommission.stopped || l.executors[e.id] != e || l.awaitsHandover(e) {
		return
	}
	l.decommissions.stop(e, l.now)
	l.send.stop(e, e.decommission.Reason)
	if e.decommission.withoutClusterManager {
		// After this call, the cluster manager replaces the executor and does not count its end
		// as a failure.
		l.requester.kill([]string{e.id})
	}
}

// expireDecommissions kills decommissioning executors whose deadlines have passed.
func (l *loop) expireDecommissions() {
	executors, ids := l.decommissions.expired(l.now)
	for _, e := range executors {
		ids = append(ids, e.id)
		text := "was given up with its tasks: " + e.decommission.Reason
		if e.decommission.stopped {
			text = "did not leave though it was told to: " + e.decommission.Reason
		}
		l.removeLost(e, Loss{Reason: text})
	}
	slices.Sort(ids)
	l.requester.kill(ids)
}
