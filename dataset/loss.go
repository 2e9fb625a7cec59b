package dataset

import (
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
)

// Losses come in groups: when a node fails, its executors, and the tasks that fetch from
// them, fail one after the other. So the engine waits after a loss before it acts on all
// losses. Then a single attempt of a stage computes all lost outputs again.
const (
	// lossDelay is how long the engine waits after the loss of an executor or an output.
	lossDelay = 100 * time.Millisecond
	// unreachableDelay is how long the engine waits after a task reported that a usable executor
	// does not answer. The driver finds out in this time whether the executor is lost.
	unreachableDelay = time.Second
)

// losses are the losses on which the engine has not acted yet. Only its loop accesses them.
type losses struct {
	reportAt  time.Time // when the engine acts on the losses; zero if there are none
	executors []string  // graphIDs of lost executors
	// reports are calls to package stage that must come after the losses, for example those
	// that report failed fetches: package stage ignores a failed fetch if it has already
	// marked the output as lost.
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
		delete(e.cacheSizes, info.ID)
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

// serviceGraphID returns the id of a node's shuffle service in package stage. There, the
// service counts as the executor of the outputs that it stores, so these outputs are not
// lost with the executors that wrote them.
func serviceGraphID(service string) string { return "node " + service }

// readFromShuffleService makes later tasks read the outputs of a lost executor directly
// from its node's shuffle service, if the service stores them. Otherwise the tasks would
// first try to fetch them from the executor.
func (e *engine) readFromShuffleService(executor string) {
	for _, s := range e.stages {
		for i := range s.outputs {
			if o := &s.outputs[i]; o.ExecutorID == executor && o.Node != "" {
				o.Address = ""
			}
		}
	}
}

// afterLosses makes the engine act on the losses after at most delay, and then call report.
func (e *engine) afterLosses(delay time.Duration, report func()) {
	e.losses.reports = append(e.losses.reports, report)
	e.scheduleLosses(delay)
}

// scheduleLosses makes the engine act on the losses after at most delay.
func (e *engine) scheduleLosses(delay time.Duration) {
	if due := time.Now().Add(delay); !e.losses.pending() || due.Before(e.losses.reportAt) {
		e.losses.reportAt = due
		time.AfterFunc(delay, func() { e.post(e.reportLosses) })
	}
}

func (l *losses) pending() bool { return !l.reportAt.IsZero() }

// reportLosses reports the losses to package stage, and then calls the functions in
// reports.
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

// unreachableReport identifies one report of an unreachable executor. to is the executor
// that requested data and sent the report. attempt is the attempt of the stage whose task
// requested the data. Equal reports count once.
type unreachableReport struct {
	to      string
	attempt uint64
}

// maxUnreachableReports is the number of different reports after which the engine replaces
// an executor. One report is not enough, because the executor that sent it may itself be
// cut off.
const maxUnreachableReports = 2

// unreachable records a report that a usable executor does not answer. If the executor's host
// has sent the driver nothing for a while, the driver treats all executors on the host as lost.
// If the executor still sends heartbeats, it can run tasks, but other executors cannot read the
// outputs of these tasks. So after maxUnreachableReports different reports, the engine replaces
// the executor.
func (e *engine) unreachable(x *executor, report unreachableReport) {
	e.app.Driver.Unreachable(x.ID)
	e.afterLosses(unreachableDelay, func() {
		if !x.usable() {
			return
		}
		if x.unreachableReports == nil {
			x.unreachableReports = map[unreachableReport]bool{}
		}
		x.unreachableReports[report] = true
		if x.unreachable() {
			e.app.Driver.Replace(x.ID, "other executors get no answer from it")
		}
	})
}

// unreachable reports whether the engine replaces the executor because it does not answer
// other executors.
func (x *executor) unreachable() bool { return len(x.unreachableReports) >= maxUnreachableReports }
