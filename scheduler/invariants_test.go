package scheduler

import (
	"maps"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func (w *watcher) act(events []Event) {
	for _, event := range events {
		switch event := event.(type) {
		case TaskDone:
			set := w.sets[event.TaskSet]
			require.False(w.t, set.over || set.done[event.Index], "task %d of set %d is done twice", event.Index, event.TaskSet)
			set.done[event.Index] = true
		case TaskSetDone:
			set := w.sets[event.TaskSet]
			require.Len(w.t, set.done, set.Tasks)
			set.over = true
			w.addFailures(set)
		case AttemptEnded:
			set := w.sets[event.TaskSet]
			require.Equal(w.t, set.counted[event.Index], event.Failures, "%+v: a failure was counted that is not its own", event)
			if set.Barrier {
				w.commits.Forget(event.TaskSet) // all tasks of the set are retried, and commit again
			}
		case TaskSetFailed:
			w.sets[event.TaskSet].over = true
		case TaskSetAborted:
			w.sets[event.TaskSet].over = true
		case Recall:
			for _, a := range w.executors[event.Executor].queue {
				a.recalled = true
			}
		case KillAttempt:
			if a := w.running[event.Attempt]; a != nil {
				a.killed = true
			}
		}
	}
}

func (w *watcher) offer() {
	w.offerOnce()
	for _, p := range w.s.profiles {
		leaf := p.pools.OnlyCandidate()
		if leaf == nil {
			continue
		}
		set := leaf.Leaf
		if w.s.barriers > 0 || set.hasPreferences() || set.needsExecutorChecks() || set.waiting == 0 {
			continue
		}
		require.Less(w.t, p.free.maxFree, set.cpus, "cores are free although a set waits")
	}
	for _, a := range w.running {
		if slices.Contains(a.on.queue, a) && !a.killed && w.mustBeRecalled(a) {
			require.True(w.t, a.recalled, "%+v is queued where it must not run, or before others", a.Launch)
		}
	}
}

// mustBeRecalled reports whether a queued attempt must not run on its executor, or whether
// another set is before the attempt's set in the order of sets.
func (w *watcher) mustBeRecalled(a *watchedAttempt) bool {
	if a.on.decommissioning || w.isExcluded(a.set, -1, a.on) {
		return true
	}
	for _, set := range w.sets {
		if set == a.set || set.over || w.waiting(set) == 0 || w.s.sets[set.ID].waiting == 0 {
			continue // w.waiting also counts finished tasks of a barrier set, the scheduler does not
		}
		if !a.set.over && !w.s.sets[a.TaskSet].node.Precedes(w.s.sets[set.ID].node) {
			return true
		}
	}
	return false
}

func (w *watcher) offerOnce() {
	started := map[*watchedSet]int{}
	launches, recalls := w.s.Offer(w.now)
	w.act(recalls)
	for _, l := range launches {
		set, e := w.sets[l.TaskSet], w.executors[l.Executor]
		require.NotNil(w.t, e, "%+v: no such executor", l)
		require.False(w.t, set.over || set.done[l.Index], "%+v: the task needs no attempt", l)
		require.False(w.t, e.decommissioning, "%+v: the executor is decommissioning", l)
		require.False(w.t, w.isExcluded(set, l.Index, e), "%+v: the executor is excluded", l)
		others := 0
		for _, a := range w.running {
			if a.set == set && a.Index == l.Index {
				others++
				require.NotEqual(w.t, a.Executor, l.Executor, "%+v: the original runs there", l)
				require.NotEqual(w.t, a.Number, l.Number)
			}
		}
		require.LessOrEqual(w.t, others, 1)
		require.Equal(w.t, l.Speculative, others == 1, "%+v: it runs already", l)
		a := &watchedAttempt{Launch: l, set: set, on: e}
		require.Equal(w.t, l.Queued, w.s.attempts.byID[l.Attempt].state == attemptQueued)
		e.sent = append(e.sent, a)
		if l.Queued {
			require.Less(w.t, e.free, set.CPUs, "%+v: a core is free", l)
			require.LessOrEqual(w.t, l.Locality, NoPref, "%+v: far from its data", l)
			require.False(w.t, set.Barrier || len(set.Resources) > 0 || set.launched[l.Index], "%+v", l)
			e.queue, e.waiting = append(e.queue, a), append(e.waiting, a)
			require.LessOrEqual(w.t, len(e.queue), 5, "%+v: no window is larger", l)
		} else {
			e.free -= set.CPUs
			require.GreaterOrEqual(w.t, e.free, 0, "%+v: cores are over-committed", l)
		}
		set.launched[l.Index] = true
		if amount := set.Resources["gpu"]; amount > 0 {
			require.Len(w.t, l.Resources["gpu"], 1)
			e.used[l.Resources["gpu"][0]] += amount
			require.LessOrEqual(w.t, e.used[l.Resources["gpu"][0]], 1.0, "%+v: a GPU is over-committed", l)
		}
		w.running[l.Attempt] = a
		started[set]++
	}
	for set, n := range started {
		if set.Barrier {
			require.Equal(w.t, set.Tasks, n, "only some tasks of barrier set %d", set.ID)
			for _, a := range w.running {
				require.True(w.t, a.set != set || !a.killed, "an earlier attempt still runs")
			}
		}
	}
}

// waiting returns how many tasks of a set neither run nor are finished.
func (w *watcher) waiting(set *watchedSet) int {
	busy := map[int]bool{}
	for _, a := range w.running {
		if a.set == set && !set.done[a.Index] {
			busy[a.Index] = true
		}
	}
	return set.Tasks - len(set.done) - len(busy)
}

func (w *watcher) check(*rapid.T) {
	require.Equal(w.t, slices.Sorted(maps.Keys(w.nodes)), w.s.ExcludedNodes())
	demand := w.s.Demand()
	require.Len(w.t, w.running, demand.RunningTasks)
	for _, status := range w.s.Snapshot().Executors {
		require.Equal(w.t, w.executors[status.ID].free, status.FreeCores)
	}
	for id, set := range w.sets {
		if why, reason := w.s.WhyWaiting(id); set.over {
			require.Equal(w.t, WaitNone, why)
		} else {
			require.Equal(w.t, why == WaitNone, reason == "")
		}
	}
}
