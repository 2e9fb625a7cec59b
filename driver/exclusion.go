package driver

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/scheduler"
	"github.com/bobbin-yarn/bobbin/scheduler/exclusion"
)

// ErrUnschedulable ends a job whose tasks may run on none of the executors that
// there are, for too long.
var ErrUnschedulable = errors.New("its tasks can run nowhere")

// ExclusionStatus is an executor, or a whole node, that gets no more tasks for
// a while, because too many failed there.
type ExclusionStatus struct {
	ExecutorID string    `json:"executorId,omitempty"` // "" for the node
	Host       string    `json:"host"`
	Failures   int       `json:"failures"` // tasks on the executor, or excluded executors of the node
	Until      time.Time `json:"until"`
}

func exclusionOf(c *config.Config) exclusion.Rules {
	return exclusion.Rules{
		Enabled:                           config.ExcludeTasks.In(c),
		TaskAttemptsPerExecutor:           config.TaskAttemptsPerExecutor.In(c),
		TaskAttemptsPerNode:               config.TaskAttemptsPerNode.In(c),
		SetFailedTasksPerExecutor:         config.JobFailedTasksPerExecutor.In(c),
		SetFailedExecutorsPerNode:         config.JobFailedExecutorsPerNode.In(c),
		ApplicationFailedTasksPerExecutor: config.ApplicationFailedTasksPerExecutor.In(c),
		ApplicationFailedExecutorsPerNode: config.NodeMaxFailures.In(c),
		Timeout:                           config.ExcludeTimeout.In(c),
		KillExcluded:                      config.KillExcludedExecutors.In(c),
		UnschedulableTimeout:              config.UnschedulableTimeout.In(c),
	}
}

// place is an executor, or a node where the id is "".
type place struct{ executor, host string }

// excluded notes an exclusion. The cluster manager hears of those of nodes for
// all jobs.
func (l *loop) excluded(event scheduler.Excluded) {
	attributes := []any{"host", event.Host, "failures", event.Failures}
	if event.Executor != "" {
		attributes = append(attributes, "executor", event.Executor)
	}
	if !event.Application {
		l.logger.Warn("a job leaves a place alone where its tasks fail", append(attributes, "job", event.TaskSet)...)
		return
	}
	l.logger.Warn("excluded: too many tasks fail there", append(attributes, "until", event.Until)...)
	l.exclusions[place{event.Executor, event.Host}] = ExclusionStatus{
		ExecutorID: event.Executor, Host: event.Host, Failures: event.Failures, Until: event.Until,
	}
	l.demand.changed = true
}

func (l *loop) readmitted(event scheduler.ExclusionEnded) {
	l.logger.Info("no longer excluded", "host", event.Host, "executor", event.Executor)
	delete(l.exclusions, place{event.Executor, event.Host})
	l.demand.changed = true
}

// unschedulable has an executor leave that does nothing as it is excluded, so
// that another may come in its place.
func (l *loop) unschedulable(event scheduler.TaskSetUnschedulable) {
	l.logger.Warn("a job cannot go on with the executors that there are", "job", event.TaskSet, "reason", event.Reason,
		"until", event.Until, "givenUp", event.IdleExecutor)
	if e := l.executors[event.IdleExecutor]; e != nil && l.demand.manager != nil {
		l.departByItself(e, "it is excluded, and a job needs another")
	}
}

// aborted ends a run that could not go on for too long.
func (l *loop) aborted(event scheduler.TaskSetAborted) {
	if r := l.runs[event.TaskSet]; r != nil {
		l.endRun(r, fmt.Errorf("job %q: %w: %s", r.job.Name, ErrUnschedulable, event.Reason))
	}
}

// shownExclusions are those that hold for all jobs, by host.
func (l *loop) shownExclusions() []ExclusionStatus {
	return slices.SortedFunc(maps.Values(l.exclusions), func(a, b ExclusionStatus) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.ExecutorID, b.ExecutorID))
	})
}
