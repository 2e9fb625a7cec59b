package driver

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/scheduler"
)

// ErrUnschedulable is the error of a task set with a task that no executor can run.
var ErrUnschedulable = errors.New("its tasks can run nowhere")

// ExclusionStatus describes an executor or a node on which no tasks are launched for some time,
// because too many tasks failed there.
type ExclusionStatus struct {
	ExecutorID string    `json:"executorId,omitempty"` // "" for a node
	Host       string    `json:"host"`
	Failures   int       `json:"failures"` // failed tasks on the executor, or excluded executors on the node
	Until      time.Time `json:"until"`
}

// exclusions are the executors and nodes that are excluded for all task sets.
type exclusions map[exclusionKey]ExclusionStatus

// exclusionKey names an excluded executor, or an excluded node if executor is "".
type exclusionKey struct{ executor, host string }

func (x exclusions) add(event scheduler.Excluded) {
	x[exclusionKey{event.Executor, event.Host}] = ExclusionStatus{
		ExecutorID: event.Executor, Host: event.Host, Failures: event.Failures, Until: event.Until,
	}
}

func (x exclusions) remove(event scheduler.ExclusionEnded) {
	delete(x, exclusionKey{event.Executor, event.Host})
}

// status returns the exclusions, ordered by host and executor.
func (x exclusions) status() []ExclusionStatus {
	return slices.SortedFunc(maps.Values(x), func(a, b ExclusionStatus) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.ExecutorID, b.ExecutorID))
	})
}

// exclude records and logs an exclusion. An exclusion for all task sets also appears in the
// status. If a node is excluded for all task sets, the next request to the cluster manager
// contains the node.
func (l *loop) exclude(event scheduler.Excluded) {
	l.record.excluded(event, l.now)
	attributes := []any{"host", event.Host, "failures", event.Failures}
	if event.Executor != "" {
		attributes = append(attributes, "executor", event.Executor)
	}
	if !event.Application {
		l.logger.Warn("excluded for a job: too many of its tasks fail there", append(attributes, "job", event.TaskSet)...)
		return
	}
	l.logger.Warn("excluded: too many tasks fail there", append(attributes, "until", event.Until)...)
	l.exclusions.add(event)
	l.requester.mayHaveChanged = true
}
