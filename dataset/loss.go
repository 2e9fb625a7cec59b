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
	// unreachableDelay is how long the engine waits after an executor gave a task no answer
	// within network.timeout.
	unreachableDelay = time.Second
)

// losses are the losses on which the engine has not acted yet. Its loop owns them.
type losses struct {
	reportAt  time.Time // when the engine acts on them; zero if there are none
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
		e.readFromShuffleService(info.ID)
		for block, executors := range e.cached {
			if delete(executors, info.ID); len(executors) == 0 {
				delete(e.cached, block)
			}
			e.replication.update(block)
		}
		e.replication.start()
		e.cancelImpossible()
		e.losses.executors = append(e.losses.executors, x.graphID())
		e.scheduleLosses(lossDelay)
	})
}

// serviceGraphID returns the id by which package stage knows a node's shuffle service.
// Package stage treats the service as the executor of the outputs that it keeps, so these
// are not lost with the executors that wrote them.
func serviceGraphID(service string) string { return "node " + service }

// readFromShuffleService makes later tasks read the outputs of a lost executor directly
// from its node's shuffle service, if that keeps them. Otherwise the tasks would ask the
// executor first.
func (e *engine) readFromShuffleService(executor string) {
	for _, s := range e.stages {
		for i := range s.outputs {
			if o := &s.outputs[i]; o.ExecutorID == executor && o.Node != "" {
				o.Address = ""
			}
		}
	}
}

// afterLosses makes a report to package stage after at most a delay.
func (e *engine) afterLosses(delay time.Duration, report func()) {
	e.losses.reports = append(e.losses.reports, report)
	e.scheduleLosses(delay)
}

// scheduleLosses makes the engine act on the losses after at most a delay.
func (e *engine) scheduleLosses(delay time.Duration) {
	if due := time.Now().Add(delay); !e.losses.pending() || due.Before(e.losses.reportAt) {
		e.losses.reportAt = due
		time.AfterFunc(delay, func() { e.post(e.reportLosses) })
	}
}

func (l *losses) pending() bool { return !l.reportAt.IsZero() }

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

// unreachableReport is a report that an executor gave no answer: to another executor, in an attempt
// of a stage.
type unreachableReport struct {
	to      string
	attempt uint64
}

// maxUnreachableReports is the number of reports after which the engine replaces an executor. A
// single report may come from an executor that is cut off itself.
const maxUnreachableReports = 2

// unreachable records that an executor gave no answer. If its host has sent the driver
// nothing for a while, all executors there are lost now. If the executor sends heartbeats,
// it can run tasks, but others cannot read their outputs: after maxSilences reports it is
// replaced.
func (e *engine) unreachable(id string, report unreachableReport) {
	x := e.executors[id]
	if x == nil || !x.usable() {
		return
	}
	e.app.Driver.Unreachable(id)
	e.afterLosses(unreachableDelay, func() {
		if !x.usable() {
			return
		}
		if x.unreachableReports == nil {
			x.unreachableReports = map[unreachableReport]bool{}
		}
		x.unreachableReports[report] = true
		if x.unreachable() {
			e.app.Driver.Replace(id, "other executors get no answer from it")
		}
	})
}

// unreachable reports whether the executor is being replaced because others get no answer.
func (x *executor) unreachable() bool { return len(x.unreachableReports) >= maxUnreachableReports }
