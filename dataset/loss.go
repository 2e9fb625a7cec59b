package dataset

import (
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
)

// After a loss, the engine waits for more. The executors of a lost node are lost one after
// the other, and the tasks that fetch from them fail one after the other, but one attempt
// of a stage should make all of their outputs again.
const (
	// lossDelay is how long the engine waits after the loss of an executor or an output.
	lossDelay = 100 * time.Millisecond
	// silenceDelay is how long the engine waits after an executor gave a task no answer
	// within network.timeout.
	silenceDelay = time.Second
)

// losses are the losses on which the engine has not acted yet. Its loop owns them.
type losses struct {
	due       time.Time // when the engine acts on them; zero if there are none
	executors []string  // names of lost executors
	// reports are reports to package stage that wait for the losses, in their order: a
	// fetch failure of output that is known to be lost does not count.
	reports []func()
}

// ExecutorLost implements driver.ExecutorListener.
func (e *engine) ExecutorLost(info driver.ExecutorInfo, _ string) {
	e.post(func() {
		x := e.executors[info.ID]
		if x == nil || x.lost {
			return
		}
		x.lost = true
		for block, executors := range e.cached {
			if delete(executors, info.ID); len(executors) == 0 {
				delete(e.cached, block)
			}
			e.replication.update(block)
		}
		e.replication.start()
		e.cancelStranded()
		e.losses.executors = append(e.losses.executors, x.name())
		e.awaitLosses(lossDelay)
	})
}

// afterLosses makes a report to package stage after at most a delay.
func (e *engine) afterLosses(delay time.Duration, report func()) {
	e.losses.reports = append(e.losses.reports, report)
	e.awaitLosses(delay)
}

// awaitLosses makes the engine act on the losses after at most a delay.
func (e *engine) awaitLosses(delay time.Duration) {
	if due := time.Now().Add(delay); !e.losses.pending() || due.Before(e.losses.due) {
		e.losses.due = due
		time.AfterFunc(delay, func() { e.post(e.reportLosses) })
	}
}

func (l *losses) pending() bool { return !l.due.IsZero() }

// reportLosses acts on the losses.
func (e *engine) reportLosses() {
	known := e.losses
	e.losses = losses{}
	if len(known.executors) > 0 {
		e.act(e.graph.ExecutorsLost(known.executors...))
	}
	for _, report := range known.reports {
		report()
	}
}

// silence is a report that an executor gave no answer: to another executor, in an attempt
// of a stage.
type silence struct {
	to      string
	attempt uint64
}

// maxSilences is the number of reports after which the engine replaces an executor. A
// single report may come from an executor that is cut off itself.
const maxSilences = 2

// unreachable records that an executor gave no answer. If its host has sent the driver
// nothing for a while, all executors there are lost now. If the executor sends heartbeats,
// it can run tasks, but others cannot read their outputs: after maxSilences reports it is
// replaced.
func (e *engine) unreachable(id string, report silence) {
	x := e.executors[id]
	if x == nil || !x.usable() {
		return
	}
	e.app.Driver.Unreachable(id)
	e.afterLosses(silenceDelay, func() {
		if !x.usable() {
			return
		}
		if x.silences == nil {
			x.silences = map[silence]bool{}
		}
		x.silences[report] = true
		if x.unreachable() {
			e.app.Driver.Replace(id, "other executors get no answer from it")
		}
	})
}

// unreachable reports whether the executor is being replaced because others get no answer.
func (x *executor) unreachable() bool { return len(x.silences) >= maxSilences }
