package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
)

// model is a simple reimplementation of a scheduler, which visits every task and every executor
// each time. It gets the same events as the scheduler, checks what the scheduler returns, and
// makes the same launches in its own state.
type model struct {
	t         require.TestingT
	config    Config
	now       time.Time
	executors []*modelExecutor // in order of addition
	learned   map[string]string
	sets      []*modelSet // sets that are not over, in order of submission
	attempts  map[AttemptID]*modelAttempt
	last      AttemptID
	expecting bool
	pools     map[int]*modelPools // by profile
}

type modelExecutor struct {
	Executor
	free            int
	used            map[string]float64 // used fraction of each GPU
	decommissioning bool
}

type modelSet struct {
	TaskSet
	pool    *modelPool
	over    bool
	tasks   []modelTask
	waited  time.Duration
	delayed bool
	since   time.Time
}

type modelTask struct {
	Preferences
	waiting, done      bool
	attempts, failures int
	failedOn, failedAt string
}

type modelAttempt struct {
	id       AttemptID
	set      *modelSet
	index    int
	executor *modelExecutor
	gpus     []string
	freed    bool // the attempt's cores are free again
}

func newModel(t require.TestingT, config Config) *model {
	return &model{t: t, config: config, learned: map[string]string{}, attempts: map[AttemptID]*modelAttempt{}, pools: map[int]*modelPools{}}
}

func (m *model) executor(id string) *modelExecutor {
	for _, e := range m.executors {
		if e.ID == id {
			return e
		}
	}
	return nil
}

func (m *model) set(id uint64) *modelSet {
	for _, set := range m.sets {
		if set.ID == id {
			return set
		}
	}
	return nil
}

func (m *model) rack(host string) string {
	if m.config.RackOf != nil && m.config.RackOf(host) != "" {
		return m.config.RackOf(host)
	}
	return m.learned[host]
}

// forget removes hosts from learned, the racks that executors reported, when no executor or task
// refers to the host.
func (m *model) forget() {
	for host := range m.learned {
		named := slices.ContainsFunc(m.executors, func(e *modelExecutor) bool { return e.Host == host })
		for _, set := range m.sets {
			for _, task := range set.tasks {
				named = named || slices.Contains(task.Hosts, host)
			}
		}
		if !named {
			delete(m.learned, host)
		}
	}
}

func (m *model) add(e Executor) {
	m.executors = append(m.executors, &modelExecutor{Executor: e, free: e.Cores, used: map[string]float64{}})
	if m.rack(e.Host) == "" && e.Rack != "" {
		m.learned[e.Host] = e.Rack
	}
}

func (m *model) submit(submitted TaskSet) {
	set := &modelSet{TaskSet: submitted}
	set.pool = m.poolsOf(set.Profile).named(set.Pool)
	for index := range submitted.Tasks {
		task := modelTask{waiting: true}
		if submitted.Preferences != nil {
			task.Preferences = submitted.Preferences(index)
		}
		set.tasks = append(set.tasks, task)
	}
	m.sets = append(m.sets, set)
}

// end ends a set and returns the events that stop its attempts.
func (m *model) end(set *modelSet, reason string) []Event {
	set.over = true
	m.sets = slices.DeleteFunc(m.sets, func(other *modelSet) bool { return other == set })
	var events []Event
	for _, a := range m.running() {
		if a.set == set {
			events = append(events, KillAttempt{Attempt: a.id, Executor: a.executor.ID, Reason: reason})
		}
	}
	m.forget()
	return events
}

// running returns the attempts that run, by id.
func (m *model) running() []*modelAttempt {
	var running []*modelAttempt
	for id := AttemptID(1); id <= m.last; id++ {
		if a := m.attempts[id]; a != nil {
			running = append(running, a)
		}
	}
	return running
}

func (m *model) cancel(id uint64, reason string) []Event {
	if set := m.set(id); set != nil {
		return m.end(set, reason)
	}
	return nil
}

func (m *model) remove(id string, loss Loss) []Event {
	lost := m.executor(id)
	var attempts []*modelAttempt
	for _, a := range m.running() {
		if a.executor == lost {
			attempts = append(attempts, a)
			delete(m.attempts, a.id)
		}
	}
	m.executors = slices.DeleteFunc(m.executors, func(e *modelExecutor) bool { return e == lost })
	m.forget()
	var events []Event
	for _, a := range attempts {
		result := ResultKilled
		if loss.CountsAsFailure && !a.freed {
			result = ResultFailed
		}
		events = append(events, m.conclude(a, Outcome{Result: result, Reason: loss.Reason, CountsAsFailure: loss.CountsAsFailure})...)
	}
	return events
}

func (m *model) finished(id AttemptID, outcome Outcome) []Event {
	a := m.attempts[id]
	if a == nil {
		return nil
	}
	delete(m.attempts, id)
	a.free()
	return m.conclude(a, outcome)
}

// free frees the cores and resources of an attempt. Further calls have no effect.
func (a *modelAttempt) free() {
	if a.freed {
		return
	}
	a.freed = true
	a.executor.free += a.set.CPUs
	for _, gpu := range a.gpus {
		a.executor.used[gpu] -= min(a.set.Resources["gpu"], 1)
	}
}

// cpus returns how many cores an attempt uses.
func (a *modelAttempt) cpus() int {
	if a.freed {
		return 0
	}
	return a.set.CPUs
}

func (m *model) conclude(a *modelAttempt, outcome Outcome) []Event {
	set, task := a.set, &a.set.tasks[a.index]
	if set.over {
		return nil
	}
	if outcome.Result == ResultSucceeded {
		task.done = true
		events := []Event{TaskDone{TaskSet: set.ID, Index: a.index, Attempt: a.id}}
		if !slices.ContainsFunc(set.tasks, func(t modelTask) bool { return !t.done }) {
			events = append(events, TaskSetDone{TaskSet: set.ID})
			events = append(events, m.end(set, "")...)
		}
		return events
	}
	if outcome.Result == ResultFailed {
		task.failedOn, task.failedAt = a.executor.ID, a.executor.Host
		if outcome.CountsAsFailure {
			task.failures++
		}
		if task.failures == set.MaxFailures {
			events := []Event{TaskSetFailed{
				TaskSet: set.ID, Index: a.index, Attempt: a.id, FailureCount: task.failures, Reason: outcome.Reason,
			}}
			reason := fmt.Sprintf("task %d of %s failed %d times", a.index, set.Name, task.failures)
			return append(events, m.end(set, reason)...)
		}
	}
	task.attempts++
	task.waiting = true
	return []Event{AttemptEnded{
		TaskSet: set.ID, Index: a.index, Attempt: a.id, Failures: task.failures, Reason: outcome.Reason,
	}}
}

// level returns how local a task would be on an executor.
func (m *model) level(task *modelTask, e *modelExecutor) Locality {
	sameRack := func(host string) bool { return m.rack(host) != "" && m.rack(host) == m.rack(e.Host) }
	switch {
	case slices.Contains(task.Executors, e.ID):
		return ProcessLocal
	case slices.Contains(task.Hosts, e.Host):
		return NodeLocal
	case len(task.Executors)+len(task.Hosts) == 0:
		return NoPref
	case slices.ContainsFunc(task.Hosts, sameRack):
		return RackLocal
	default:
		return Any
	}
}

// live reports whether a level is live for a set: whether an available executor is at that level
// of some waiting task. An executor on a host that a task prefers is also at the rack level.
func (m *model) live(set *modelSet, level Locality) bool {
	for i := range set.tasks {
		task := &set.tasks[i]
		if m.expecting && level == NodeLocal && task.waiting && len(task.Executors)+len(task.Hosts) > 0 {
			return true
		}
		for _, e := range m.executors {
			if !task.waiting || e.decommissioning || e.Profile != set.Profile {
				continue
			}
			onRack := slices.ContainsFunc(task.Hosts, func(host string) bool {
				return m.rack(host) != "" && m.rack(host) == m.rack(e.Host)
			})
			if level == ProcessLocal && slices.Contains(task.Executors, e.ID) ||
				level == NodeLocal && slices.Contains(task.Hosts, e.Host) ||
				level == RackLocal && onRack {
				return true
			}
		}
	}
	return false
}

func (set *modelSet) elapsed(now time.Time) time.Duration {
	if set.delayed {
		return set.waited + now.Sub(set.since)
	}
	return set.waited
}

// waitFor returns how long the delay clock of a set must run to open a level.
func (m *model) waitFor(set *modelSet, level Locality) time.Duration {
	var wait time.Duration
	for l, w := range map[Locality]time.Duration{
		ProcessLocal: m.config.LocalityWaitProcess, NodeLocal: m.config.LocalityWaitNode, RackLocal: m.config.LocalityWaitRack,
	} {
		if l < level && m.live(set, l) {
			wait += w
		}
	}
	return wait
}

// mayRun reports whether a task may run on an executor, whether or not cores are free.
func (m *model) mayRun(set *modelSet, task *modelTask, e *modelExecutor) bool {
	if !task.waiting || e.decommissioning || e.Profile != set.Profile {
		return false
	}
	if level := m.level(task, e); level != NoPref && set.elapsed(m.now) < m.waitFor(set, level) {
		return false
	}
	if task.failedAt != e.Host {
		return true
	}
	for _, other := range m.executors {
		if other.decommissioning || !other.isLargeFor(set) || other.Profile != set.Profile {
			continue
		}
		if other.Host != e.Host || (task.failedOn == e.ID && other != e) {
			return false
		}
	}
	return true
}

func (m *model) launch(set *modelSet, l Launch) {
	e := m.executor(l.Executor)
	require.NotNil(m.t, e)
	task := &set.tasks[l.Index]
	level := m.level(task, e)
	require.True(m.t, task.waiting, "%+v: the task is running or done", l)
	require.GreaterOrEqual(m.t, e.free, set.CPUs, "%+v: cores are over-committed", l)
	gpus := m.takeGPUs(set, e, l)
	require.Equal(m.t, level, l.Locality, "%+v", l)
	require.True(m.t, m.mayRun(set, task, e), "%+v: the level is not open, or the task avoids the executor", l)
	require.Equal(m.t, task.attempts, l.Number, "%+v", l)
	require.Greater(m.t, l.Attempt, m.last)
	if level != RackLocal {
		for i := range set.tasks {
			other := &set.tasks[i]
			if m.mayRun(set, other, e) && m.level(other, e) == level {
				require.False(m.t, task.attempts == 0 && other.attempts > 0, "%+v: task %d is retried and goes first", l, i)
				require.False(m.t, task.attempts == 0 && other.attempts == 0 && i < l.Index, "%+v: task %d goes first", l, i)
			}
		}
	}
	m.last = l.Attempt
	task.waiting = false
	e.free -= set.CPUs
	m.attempts[l.Attempt] = &modelAttempt{id: l.Attempt, set: set, index: l.Index, executor: e, gpus: gpus}
}

func (m *model) deadline() (time.Time, bool) {
	var next time.Duration
	for _, set := range m.sets {
		free := slices.ContainsFunc(m.executors, func(e *modelExecutor) bool {
			return !e.decommissioning && e.free >= set.CPUs && e.Profile == set.Profile
		})
		for _, level := range []Locality{NodeLocal, RackLocal, Any} {
			left := m.waitFor(set, level) - set.elapsed(m.now)
			if free && set.delayed && left > 0 && (next == 0 || left < next) {
				next = left
			}
		}
	}
	return m.now.Add(next), next > 0
}

func (m *model) status(set *modelSet) TaskSetStatus {
	status := TaskSetStatus{ID: set.ID, Name: set.Name, Tasks: set.Tasks}
	for _, task := range set.tasks {
		if task.waiting {
			status.Waiting++
		}
		if task.done {
			status.Done++
		}
	}
	for _, a := range m.attempts {
		if a.set == set {
			status.Running++
		}
	}
	return status
}

// check compares the demand and the snapshot of a scheduler with the model.
func (m *model) check(s *Scheduler) {
	demands := map[int]*Demand{}
	hosts := map[int]map[string]int{}
	for _, p := range profiles {
		demands[p], hosts[p] = &Demand{}, map[string]int{}
	}
	var snapshot Snapshot
	for _, set := range m.sets {
		status := m.status(set)
		require.Equal(m.t, status.Tasks, status.Waiting+status.Running+status.Done)
		demand := demands[set.Profile]
		demand.WaitingTasks += status.Waiting
		demand.WaitingCPUs += status.Waiting * set.CPUs
		snapshot.TaskSets = append(snapshot.TaskSets, status)
		for _, task := range set.tasks {
			if task.waiting {
				if len(task.Executors)+len(task.Hosts) > 0 {
					demand.TasksWithPreferences++
				}
				for _, host := range slices.Compact(slices.Sorted(slices.Values(task.Hosts))) {
					hosts[set.Profile][host]++
				}
			}
		}
	}
	for _, a := range m.attempts {
		demands[a.set.Profile].RunningTasks++
		demands[a.set.Profile].RunningCPUs += a.cpus()
	}
	for _, e := range m.executors {
		status := ExecutorStatus{Executor: e.Executor, FreeCores: e.free, Decommissioning: e.decommissioning}
		used := 0
		for _, a := range m.attempts {
			if a.executor == e {
				status.RunningTasks++
				used += a.cpus()
			}
		}
		require.Equal(m.t, e.Cores, used+e.free)
		snapshot.Executors = append(snapshot.Executors, status)
	}
	var all Demand
	allHosts := map[string]int{}
	for _, p := range profiles {
		require.Equal(m.t, *demands[p], s.DemandOf(p))
		require.Equal(m.t, hosts[p], s.PreferredHostsOf(p))
		all.WaitingTasks += demands[p].WaitingTasks
		all.WaitingCPUs += demands[p].WaitingCPUs
		all.RunningTasks += demands[p].RunningTasks
		all.RunningCPUs += demands[p].RunningCPUs
		all.TasksWithPreferences += demands[p].TasksWithPreferences
		for host, tasks := range hosts[p] {
			allHosts[host] += tasks
		}
	}
	require.Equal(m.t, all, s.Demand())
	require.Equal(m.t, allHosts, s.PreferredHosts())
	require.Equal(m.t, snapshot, s.Snapshot())
}
