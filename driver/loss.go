package driver

import "time"

// explanationTimeout is how long the driver waits for the cluster manager's report why an
// executor's stream broke. NodeManagers report a container's end once a second, and an idle
// ApplicationMaster polls the ResourceManager every few seconds.
const explanationTimeout = 10 * time.Second

// unexplainedLosses are executors, by id, whose streams broke and whose ends the cluster manager
// has not reported yet.
//
// Their tasks are retried on other executors at once; in Spark, tasks wait for the report. The
// report only decides whether the loss counts as a failure of the tasks. If it does not arrive
// in time, the loss counts, so that a task that crashes every executor fails its job after a
// number of attempts. The executor may still run, for example if its network failed, so it is
// then killed and replaced.
type unexplainedLosses map[string]*unexplainedLoss

type unexplainedLoss struct {
	executor *executor
	text     string
	tasks    []lostTask
	due      time.Time
}

// lostTask is a task that was running on an executor when the executor was lost.
type lostTask struct {
	set   *runningSet
	index int
}

func (u unexplainedLosses) add(loss *unexplainedLoss) { u[loss.executor.id] = loss }

// take removes and returns the loss of an executor, nil if there is none.
func (u unexplainedLosses) take(id string) *unexplainedLoss {
	loss := u[id]
	delete(u, id)
	return loss
}

// expired removes and returns the losses that the cluster manager has not reported in time.
func (u unexplainedLosses) expired(now time.Time) []*unexplainedLoss {
	var expired []*unexplainedLoss
	for id, loss := range u {
		if !now.Before(loss.due) {
			delete(u, id)
			expired = append(expired, loss)
		}
	}
	return expired
}

// next returns the earliest time at which a loss expires; the zero time if there is none.
func (u unexplainedLosses) next() time.Time {
	var first time.Time
	for _, loss := range u {
		first = earliest(first, loss.due)
	}
	return first
}

// executorLost handles the cluster manager's report of an executor's end.
func (l *loop) executorLost(id string, loss Loss) {
	l.requester.mayHaveChanged = true
	l.decommissions.takeNotice(id)
	if e := l.executors[id]; e != nil {
		l.removeLost(e, loss)
		return
	}
	l.history.setLossReason(id, loss.Reason)
	l.record.executorLost(id, loss, l.stopping, l.now)
	if unexplained := l.losses.take(id); unexplained != nil {
		l.logger.Info("executor's loss explained", "executor", id, "reason", loss.Reason, "countsAsFailure", loss.CountsAsFailure)
		if loss.CountsAsFailure {
			unexplained.text = loss.Reason
			l.countFailures(unexplained)
		}
	}
}

// expireLosses handles the losses that the cluster manager has not reported in time: it counts
// them as failures, and kills the executors.
func (l *loop) expireLosses() {
	var ids []string
	for _, loss := range l.losses.expired(l.now) {
		ids = append(ids, loss.executor.id)
		l.countFailures(loss)
	}
	if len(ids) > 0 {
		l.logger.Warn("nobody knows why executors are lost, ending them", "executors", ids)
		l.requester.kill(ids)
	}
}

// countFailures counts an executor's loss as a failure of each task that was running on the
// executor. When the executor was removed, the loss was passed to the scheduler as not counting.
func (l *loop) countFailures(loss *unexplainedLoss) {
	for _, lost := range loss.tasks {
		if set := lost.set; !set.ended {
			set.failedAttempts++
			l.history.totals.FailedAttempts++
			if failures := l.scheduler.CountFailure(set.id, lost.index); failures >= set.maxFailures {
				l.endSet(set, set.taskError(lost.index, failures, loss.executor, lossFailure(loss.text)))
			}
		}
	}
}
