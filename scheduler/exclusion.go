package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Exclusion is when executors and nodes where tasks fail get no more of them.
// Only failures that count are counted. Where a number is 0 its default holds,
// which is Spark's.
type Exclusion struct {
	// Enabled is whether anything is excluded at all. Where it is, the rules below
	// take the place of the one that a failed task goes elsewhere if it can.
	Enabled bool
	// TaskAttemptsPerExecutor and TaskAttemptsPerNode are how often one task may
	// fail on an executor (1) and on a node (2) before it is not tried there
	// again.
	TaskAttemptsPerExecutor, TaskAttemptsPerNode int
	// SetFailedTasksPerExecutor is how many tasks of one set may fail on an
	// executor before the set leaves it alone (2), SetFailedExecutorsPerNode how
	// many executors of a node are so before the set leaves the node alone (2).
	SetFailedTasksPerExecutor, SetFailedExecutorsPerNode int
	// ApplicationFailedTasksPerExecutor and ApplicationFailedExecutorsPerNode are
	// the same for all sets (2 and 2). They count the failures within Timeout of
	// sets that succeeded: in the others the tasks may be to blame.
	ApplicationFailedTasksPerExecutor, ApplicationFailedExecutorsPerNode int
	// Timeout is how long an exclusion for the application lasts; 1 hour.
	Timeout time.Duration
	// KillExcluded asks for the ends of executors that are excluded for the
	// application.
	KillExcluded bool
	// UnschedulableTimeout is how long a set waits for another executor when it
	// has a task that may run on none that is there; 2 minutes.
	UnschedulableTimeout time.Duration
}

func (x Exclusion) withDefaults() Exclusion {
	x.TaskAttemptsPerExecutor = cmp.Or(x.TaskAttemptsPerExecutor, 1)
	x.TaskAttemptsPerNode = cmp.Or(x.TaskAttemptsPerNode, 2)
	x.SetFailedTasksPerExecutor = cmp.Or(x.SetFailedTasksPerExecutor, 2)
	x.SetFailedExecutorsPerNode = cmp.Or(x.SetFailedExecutorsPerNode, 2)
	x.ApplicationFailedTasksPerExecutor = cmp.Or(x.ApplicationFailedTasksPerExecutor, 2)
	x.ApplicationFailedExecutorsPerNode = cmp.Or(x.ApplicationFailedExecutorsPerNode, 2)
	x.Timeout = cmp.Or(x.Timeout, time.Hour)
	x.UnschedulableTimeout = cmp.Or(x.UnschedulableTimeout, 2*time.Minute)
	return x
}

// excludedPlaces are the executors and nodes that a task or a set stays away
// from. A nil one excludes nothing.
type excludedPlaces struct {
	executors, hosts map[string]struct{}
}

func (x *excludedPlaces) excludes(e *executor) bool {
	if x == nil {
		return false
	}
	if _, excluded := x.executors[e.ID]; excluded {
		return true
	}
	_, excluded := x.hosts[e.Host]
	return excluded
}

// add excludes something that may be excluded already, and says whether it was
// not.
func add(places *map[string]struct{}, name string) bool {
	if _, there := (*places)[name]; there {
		return false
	}
	if *places == nil {
		*places = map[string]struct{}{}
	}
	(*places)[name] = struct{}{}
	return true
}

// failureCounts are the failures of a task by executor and by host.
type failureCounts struct {
	onExecutor, onHost map[string]int
	excludedPlaces
}

// setFailures are the failures of a set that count.
type setFailures struct {
	// byExecutor has the tasks that failed there, with their latest failures.
	byExecutor map[string]*executorFailures
	// onHost counts the executors of each host that the set leaves alone.
	onHost map[string]int
}

type executorFailures struct {
	host  string
	tasks map[int32]time.Time
}

// noteFailure follows up a failure that counts, for the task and for its set.
func (s *Scheduler) noteFailure(events []Event, set *taskSet, index int32, e *executor) []Event {
	x := &s.config.Exclusion
	if !x.Enabled {
		return events
	}
	s.suspects[set.id] = set
	h := set.history(index)
	if h.counts == nil {
		h.counts = &failureCounts{onExecutor: map[string]int{}, onHost: map[string]int{}}
	}
	c := h.counts
	c.onExecutor[e.ID]++
	c.onHost[e.Host]++
	if c.onExecutor[e.ID] >= x.TaskAttemptsPerExecutor {
		add(&c.executors, e.ID)
	}
	if c.onHost[e.Host] >= x.TaskAttemptsPerNode {
		add(&c.hosts, e.Host)
	}

	f := &set.failures
	if f.byExecutor == nil {
		f.byExecutor, f.onHost = map[string]*executorFailures{}, map[string]int{}
	}
	on := f.byExecutor[e.ID]
	if on == nil {
		on = &executorFailures{host: e.Host, tasks: map[int32]time.Time{}}
		f.byExecutor[e.ID] = on
	}
	on.tasks[index] = s.now
	if len(on.tasks) < x.SetFailedTasksPerExecutor {
		return events
	}
	if set.excluded == nil {
		set.excluded = &excludedPlaces{}
	}
	if !add(&set.excluded.executors, e.ID) {
		return events
	}
	events = e.recall(append(events, Excluded{TaskSet: set.id, Executor: e.ID, Host: e.Host, Failures: len(on.tasks)}))
	f.onHost[e.Host]++
	if f.onHost[e.Host] >= x.SetFailedExecutorsPerNode && add(&set.excluded.hosts, e.Host) {
		events = append(events, Excluded{TaskSet: set.id, Host: e.Host, Failures: f.onHost[e.Host]})
		for _, other := range s.inOrder() {
			if other.Host == e.Host {
				events = other.recall(events)
			}
		}
	}
	return events
}

// applicationExclusion is what is excluded for all sets.
type applicationExclusion struct {
	// failures are those of sets that succeeded, by executor.
	failures map[string][]time.Time
	// executors are excluded, whether they are there still or not.
	executors map[string]exclusion
	// hosts are excluded until then.
	hosts map[string]time.Time
}

type exclusion struct {
	host  string
	until time.Time
}

func (x *applicationExclusion) excludes(e *executor) bool {
	if len(x.executors) == 0 && len(x.hosts) == 0 {
		return false
	}
	_, itself := x.executors[e.ID]
	_, node := x.hosts[e.Host]
	return itself || node
}

// foldFailures counts the failures of a set that succeeded for the application.
func (s *Scheduler) foldFailures(events []Event, set *taskSet) []Event {
	x, rules := &s.excluded, &s.config.Exclusion
	for _, id := range slices.Sorted(maps.Keys(set.failures.byExecutor)) {
		on := set.failures.byExecutor[id]
		if s.executors[id] == nil {
			continue // it is gone, and its failures with it
		}
		failures := append(x.failures[id], slices.Collect(maps.Values(on.tasks))...)
		failures = slices.DeleteFunc(failures, func(at time.Time) bool { return s.now.Sub(at) >= rules.Timeout })
		if _, already := x.executors[id]; already || len(failures) < rules.ApplicationFailedTasksPerExecutor {
			if x.failures == nil {
				x.failures = map[string][]time.Time{}
			}
			x.failures[id] = failures
			continue
		}
		delete(x.failures, id)
		events = s.exclude(events, id, on.host, len(failures))
	}
	return events
}

// exclude excludes an executor for the application, and its node where it is one
// too many there.
func (s *Scheduler) exclude(events []Event, id, host string, failures int) []Event {
	x, rules := &s.excluded, &s.config.Exclusion
	if x.executors == nil {
		x.executors, x.hosts = map[string]exclusion{}, map[string]time.Time{}
	}
	until := s.now.Add(rules.Timeout)
	x.executors[id] = exclusion{host: host, until: until}
	events = append(events, Excluded{Application: true, Executor: id, Host: host, Failures: failures, Until: until})
	kill := []*executor{s.executors[id]}
	onHost := 0
	for _, other := range x.executors {
		if other.host == host {
			onHost++
		}
	}
	if _, already := x.hosts[host]; !already && onHost >= rules.ApplicationFailedExecutorsPerNode {
		x.hosts[host] = until
		events = append(events, Excluded{Application: true, Host: host, Failures: onHost, Until: until})
		for _, e := range s.inOrder() {
			if e.Host == host && e.ID != id {
				kill = append(kill, e)
			}
		}
	}
	for _, e := range kill {
		e.excluded = true
		e.settle()
		events = e.recall(events)
		if rules.KillExcluded && !e.decommissioning {
			events = append(events, KillExecutor{Executor: e.ID, Reason: fmt.Sprintf("excluded for the application: too many tasks failed on host %s", host)})
		}
	}
	return events
}

// readmit ends the exclusions for the application whose time is over.
func (s *Scheduler) readmit(events []Event) []Event {
	x := &s.excluded
	before := len(events)
	for _, id := range slices.Sorted(maps.Keys(x.executors)) {
		if one := x.executors[id]; !s.now.Before(one.until) {
			delete(x.executors, id)
			events = append(events, ExclusionEnded{Executor: id, Host: one.host})
		}
	}
	for _, host := range slices.Sorted(maps.Keys(x.hosts)) {
		if !s.now.Before(x.hosts[host]) {
			delete(x.hosts, host)
			events = append(events, ExclusionEnded{Host: host})
		}
	}
	if len(events) > before {
		for _, e := range s.inOrder() {
			e.excluded = x.excludes(e)
			e.settle()
		}
	}
	return events
}

// next is when the first exclusion for the application ends; the zero time where
// there is none.
func (x *applicationExclusion) next() time.Time {
	var next time.Time
	for _, one := range x.executors {
		next = earlier(next, one.until)
	}
	for _, until := range x.hosts {
		next = earlier(next, until)
	}
	return next
}

// earlier of two times, of which the zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// ExcludedNodes are the nodes, in order, that are excluded for the application:
// a further executor there would get no tasks.
func (s *Scheduler) ExcludedNodes() []string {
	return slices.Sorted(maps.Keys(s.excluded.hosts))
}

// inOrder are all executors in the order of their addition.
func (s *Scheduler) inOrder() []*executor {
	return slices.SortedFunc(maps.Values(s.executors), func(a, b *executor) int { return cmp.Compare(a.order, b.order) })
}
