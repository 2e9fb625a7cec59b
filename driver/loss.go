package driver

import "time"

// explanationWait is how long the cluster manager has to say why an executor
// ended whose stream broke. YARN's NodeManagers report a container's end once a
// second, and an ApplicationMaster that waits for nothing else asks every few
// seconds.
const explanationWait = 10 * time.Second

// openLoss is a loss of which it is not known yet whether it counts.
//
// When a stream breaks, the executor's tasks go back to the scheduler at once:
// they run elsewhere while the cluster manager finds out what happened. Only
// whether the loss counts as a failure of those tasks waits for its word. (Spark
// holds the tasks back as well until it has the reason.) Without a word in time
// it counts, so a task that takes each of its executors down with it ends its
// job in any case; and the executor, which may hang or be cut off, is ended, so
// that another can come in its place.
type openLoss struct {
	executor executor // what is known of it, for texts
	text     string
	tasks    []lostTask
	due      time.Time
}

// lostTask is a task that ran on an executor when that was lost.
type lostTask struct {
	run   *runningSet
	index int
}

// awaitExplanation keeps a loss open until the cluster manager speaks.
func (l *loop) awaitExplanation(e *executor, text string, tasks []lostTask) {
	l.losses[e.id] = &openLoss{executor: *e, text: text, tasks: tasks, due: l.now.Add(explanationWait)}
}

// managerSaysLost is the cluster manager's word on an executor's end.
func (l *loop) managerSaysLost(id string, loss Loss) {
	l.demand.changed = true
	delete(l.departures.absent, id)
	if e := l.executors[id]; e != nil {
		l.lose(e, loss)
		return
	}
	l.history.explain(id, loss.Text)
	if open := l.losses[id]; open != nil {
		delete(l.losses, id)
		l.logger.Info("executor's loss explained", "executor", id, "reason", loss.Text, "countsAsFailure", loss.CountsAsFailure)
		if loss.CountsAsFailure {
			l.charge(&open.executor, loss.Text, open.tasks)
		}
	}
}

// charge counts a loss, some time after it, as one failure of each task that
// ran there. The scheduler was told of a loss that does not count.
func (l *loop) charge(e *executor, text string, tasks []lostTask) {
	for _, lost := range tasks {
		if r := lost.run; !r.ended {
			r.failedAttempts++
			l.history.totals.FailedAttempts++
			if failures := l.scheduler.CountFailure(r.id, lost.index); failures >= r.maxFailures {
				l.endRun(r, r.taskError(lost.index, failures, e, lossFailure(text)))
			}
		}
	}
}

// expireLosses counts what the cluster manager did not explain in time, and has
// it end what it may think to be alive.
func (l *loop) expireLosses() {
	var unexplained []string
	for id, open := range l.losses {
		if !l.now.Before(open.due) {
			delete(l.losses, id)
			unexplained = append(unexplained, id)
			l.charge(&open.executor, open.text, open.tasks)
		}
	}
	if len(unexplained) > 0 {
		l.logger.Warn("nobody knows why executors are lost, ending them", "executors", unexplained)
		l.demand.manager.KillExecutors(unexplained)
	}
}

func (l *loop) nextLoss() time.Time {
	var first time.Time
	for _, open := range l.losses {
		first = earliest(first, open.due)
	}
	return first
}
