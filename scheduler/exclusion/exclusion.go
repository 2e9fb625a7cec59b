// Package exclusion decides on which executors and nodes no more tasks are launched because
// tasks failed there.
//
// Failures are counted at three levels. [TaskFailures] excludes executors and nodes for a task
// that failed there, [TaskSetFailures] for a task set of which several tasks failed there, and
// [ApplicationExclusions] for the whole application, by the failures of task sets that
// succeeded. Callers report only failures that count towards a task's limit of failures.
package exclusion

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Rules configure how many failures exclude an executor or a node. A zero field means the
// default in parentheses, which is the same as in Spark.
type Rules struct {
	// Enabled enables exclusion. If it is false, a failed task is only retried on another host.
	Enabled bool
	// TaskAttemptsPerExecutor (1) is how often a task must fail on an executor before the
	// executor is excluded for the task. TaskAttemptsPerNode (2) is how often it must fail on a
	// node before the node is excluded for the task.
	TaskAttemptsPerExecutor, TaskAttemptsPerNode int
	// SetFailedTasksPerExecutor (2) is how many tasks of a set must fail on an executor before
	// the executor is excluded for the set. SetFailedExecutorsPerNode (2) is how many executors
	// on a node must be excluded for the set before the node is excluded for the set.
	SetFailedTasksPerExecutor, SetFailedExecutorsPerNode int
	// ApplicationFailedTasksPerExecutor (2) and ApplicationFailedExecutorsPerNode (2) are the
	// corresponding numbers for exclusions for the whole application. Only failures in sets that
	// succeeded count, because failures in other sets may be caused by the tasks. A failure
	// counts for the duration Timeout.
	ApplicationFailedTasksPerExecutor, ApplicationFailedExecutorsPerNode int
	// Timeout (1 hour) is how long an exclusion for the application lasts.
	Timeout time.Duration
	// KillExcluded requests that executors are killed when they are excluded for the
	// application.
	KillExcluded bool
	// UnschedulableTimeout (2 minutes) is how long a set waits for another executor if all
	// executors are excluded for a task of the set. The set is then aborted.
	UnschedulableTimeout time.Duration
}

// WithDefaults returns the rules with each zero value replaced by its default.
func (r Rules) WithDefaults() Rules {
	r.TaskAttemptsPerExecutor = cmp.Or(r.TaskAttemptsPerExecutor, 1)
	r.TaskAttemptsPerNode = cmp.Or(r.TaskAttemptsPerNode, 2)
	r.SetFailedTasksPerExecutor = cmp.Or(r.SetFailedTasksPerExecutor, 2)
	r.SetFailedExecutorsPerNode = cmp.Or(r.SetFailedExecutorsPerNode, 2)
	r.ApplicationFailedTasksPerExecutor = cmp.Or(r.ApplicationFailedTasksPerExecutor, 2)
	r.ApplicationFailedExecutorsPerNode = cmp.Or(r.ApplicationFailedExecutorsPerNode, 2)
	r.Timeout = cmp.Or(r.Timeout, time.Hour)
	r.UnschedulableTimeout = cmp.Or(r.UnschedulableTimeout, 2*time.Minute)
	return r
}

// excludedNames are the ids of executors and the names of nodes that are excluded.
type excludedNames struct {
	executors, nodes map[string]bool
}

// Excludes reports whether an executor, or the node that it is on, is excluded.
func (x *excludedNames) Excludes(executor, node string) bool {
	return x.Any() && (x.executors[executor] || x.nodes[node])
}

// Any reports whether any executor or node is excluded.
func (x *excludedNames) Any() bool { return len(x.executors)+len(x.nodes) > 0 }

// add adds a name to names and reports whether it is new.
func add(names *map[string]bool, name string) bool {
	if *names == nil {
		*names = map[string]bool{}
	}
	known := (*names)[name]
	(*names)[name] = true
	return !known
}

// TaskFailures contains the failures of one task, and the executors and nodes excluded for the
// task.
type TaskFailures struct {
	onExecutor, onNode map[string]int
	excludedNames
}

// AddFailure adds a failure of the task, and excludes the executor, the node or both for the
// task according to the rules.
func (t *TaskFailures) AddFailure(rules *Rules, executor, node string) {
	if t.onExecutor == nil {
		t.onExecutor, t.onNode = map[string]int{}, map[string]int{}
	}
	t.onExecutor[executor]++
	t.onNode[node]++
	if t.onExecutor[executor] >= rules.TaskAttemptsPerExecutor {
		add(&t.executors, executor)
	}
	if t.onNode[node] >= rules.TaskAttemptsPerNode {
		add(&t.nodes, node)
	}
}

// TaskSetFailures contains the failures in one task set, and the executors and nodes excluded
// for the set.
type TaskSetFailures struct {
	byExecutor      map[string]*executorFailures
	executorsOnNode map[string]int // number of excluded executors by node
	excludedNames
}

// executorFailures contains the latest failure time of each task that failed on an executor.
type executorFailures struct {
	node  string
	tasks map[int32]time.Time
}

// HasFailures reports whether any failure was added.
func (s *TaskSetFailures) HasFailures() bool { return len(s.byExecutor) > 0 }

// AddFailure adds a failure of a task on an executor. If the failure excludes the executor for
// the set, tasks is the number of tasks that failed on the executor, else 0. If it also excludes
// the node, executors is the number of excluded executors on the node, else 0.
func (s *TaskSetFailures) AddFailure(rules *Rules, task int32, executor, node string, now time.Time) (tasks, executors int) {
	if s.byExecutor == nil {
		s.byExecutor, s.executorsOnNode = map[string]*executorFailures{}, map[string]int{}
	}
	failures := s.byExecutor[executor]
	if failures == nil {
		failures = &executorFailures{node: node, tasks: map[int32]time.Time{}}
		s.byExecutor[executor] = failures
	}
	failures.tasks[task] = now
	if len(failures.tasks) < rules.SetFailedTasksPerExecutor || !add(&s.executors, executor) {
		return 0, 0
	}
	s.executorsOnNode[node]++
	if s.executorsOnNode[node] >= rules.SetFailedExecutorsPerNode && add(&s.nodes, node) {
		executors = s.executorsOnNode[node]
	}
	return len(failures.tasks), executors
}

// ApplicationExclusions contains the executors and nodes that are excluded for the whole
// application, and the failures that are counted for further exclusions.
type ApplicationExclusions struct {
	failures  map[string][]time.Time       // times of failures in sets that succeeded, by executor
	executors map[string]executorExclusion // excluded executors, including lost ones, by id
	nodes     map[string]time.Time         // when the exclusions of nodes end, by node
}

type executorExclusion struct {
	node  string
	until time.Time
}

// Exclusion is the beginning or end of an exclusion for the application.
type Exclusion struct {
	Executor, Node string // Executor is "" at the end of a node's exclusion
	// FailedTasks is how many tasks failed on the executor. If the exclusion of the
	// executor also excludes its node, ExcludedExecutors is how many executors of the node
	// are excluded, else 0.
	FailedTasks, ExcludedExecutors int
	Until                          time.Time
}

// Any reports whether any executor or node is excluded.
func (x *ApplicationExclusions) Any() bool { return len(x.executors)+len(x.nodes) > 0 }

// Excludes reports whether an executor, or the node that it is on, is excluded.
func (x *ApplicationExclusions) Excludes(executor, node string) bool {
	_, byExecutor := x.executors[executor]
	_, byNode := x.nodes[node]
	return byExecutor || byNode
}

// AddSet is called when a set has succeeded. It adds the set's failures on executors that are
// alive, and returns the exclusions that begin.
func (x *ApplicationExclusions) AddSet(rules *Rules, set *TaskSetFailures, alive func(executor string) bool, now time.Time) []Exclusion {
	var begun []Exclusion
	for _, id := range slices.Sorted(maps.Keys(set.byExecutor)) {
		if !alive(id) {
			continue
		}
		inSet := set.byExecutor[id]
		failures := append(x.failures[id], slices.Collect(maps.Values(inSet.tasks))...)
		failures = slices.DeleteFunc(failures, func(at time.Time) bool { return now.Sub(at) >= rules.Timeout })
		if _, excluded := x.executors[id]; excluded || len(failures) < rules.ApplicationFailedTasksPerExecutor {
			if x.failures == nil {
				x.failures = map[string][]time.Time{}
			}
			x.failures[id] = failures
			continue
		}
		delete(x.failures, id)
		begun = append(begun, x.exclude(rules, id, inSet.node, len(failures), now.Add(rules.Timeout)))
	}
	return begun
}

// exclude excludes an executor. If too many executors of its node are then excluded, it also
// excludes the node.
func (x *ApplicationExclusions) exclude(rules *Rules, executor, node string, tasks int, until time.Time) Exclusion {
	if x.executors == nil {
		x.executors, x.nodes = map[string]executorExclusion{}, map[string]time.Time{}
	}
	x.executors[executor] = executorExclusion{node: node, until: until}
	onNode := 0
	for _, other := range x.executors {
		if other.node == node {
			onNode++
		}
	}
	begun := Exclusion{Executor: executor, Node: node, FailedTasks: tasks, Until: until}
	if _, excluded := x.nodes[node]; !excluded && onNode >= rules.ApplicationFailedExecutorsPerNode {
		x.nodes[node] = until
		begun.ExcludedExecutors = onNode
	}
	return begun
}

// RemoveExecutor removes the failures of a lost executor. An exclusion of the executor stays
// until it expires.
func (x *ApplicationExclusions) RemoveExecutor(executor string) { delete(x.failures, executor) }

// Expire removes the exclusions that have expired at the time now, and returns them.
func (x *ApplicationExclusions) Expire(now time.Time) []Exclusion {
	var ended []Exclusion
	for _, id := range slices.Sorted(maps.Keys(x.executors)) {
		if e := x.executors[id]; !now.Before(e.until) {
			delete(x.executors, id)
			ended = append(ended, Exclusion{Executor: id, Node: e.node})
		}
	}
	for _, node := range slices.Sorted(maps.Keys(x.nodes)) {
		if !now.Before(x.nodes[node]) {
			delete(x.nodes, node)
			ended = append(ended, Exclusion{Node: node})
		}
	}
	return ended
}

// NextExpiry returns when the next exclusion expires; the zero time if there is none.
func (x *ApplicationExclusions) NextExpiry() time.Time {
	var next time.Time
	for _, e := range x.executors {
		if next.IsZero() || e.until.Before(next) {
			next = e.until
		}
	}
	for _, until := range x.nodes {
		if next.IsZero() || until.Before(next) {
			next = until
		}
	}
	return next
}

// Nodes returns the excluded nodes, sorted.
func (x *ApplicationExclusions) Nodes() []string { return slices.Sorted(maps.Keys(x.nodes)) }
