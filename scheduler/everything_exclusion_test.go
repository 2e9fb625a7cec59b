package scheduler

import (
	"maps"
	"slices"
	"time"
)

// addFailures adds the failures of a set that succeeded to the application's failures.
func (w *watcher) addFailures(set *watchedSet) {
	byExecutor := map[string]map[int]time.Time{}
	for _, f := range set.failures {
		if byExecutor[f.executor] == nil {
			byExecutor[f.executor] = map[int]time.Time{}
		}
		byExecutor[f.executor][f.index] = f.at
	}
	for _, id := range slices.Sorted(maps.Keys(byExecutor)) {
		if w.executors[id] == nil {
			continue
		}
		failures := w.failures[id]
		for _, at := range byExecutor[id] {
			failures = append(failures, at)
		}
		w.failures[id] = slices.DeleteFunc(failures, func(at time.Time) bool { return !at.Add(w.rules.Timeout).After(w.now) })
		if _, already := w.excluded[id]; already || len(w.failures[id]) < w.rules.ApplicationFailedTasksPerExecutor {
			continue
		}
		delete(w.failures, id)
		w.excluded[id] = w.now.Add(w.rules.Timeout)
		onHost := 0
		for other := range w.excluded {
			if w.hosts[other] == w.hosts[id] {
				onHost++
			}
		}
		if _, already := w.nodes[w.hosts[id]]; !already && onHost >= w.rules.ApplicationFailedExecutorsPerNode {
			w.nodes[w.hosts[id]] = w.now.Add(w.rules.Timeout)
		}
	}
}

// isExcluded reports whether an executor is excluded for a task, according to the failures that
// the watcher has recorded.
func (w *watcher) isExcluded(set *watchedSet, index int, e *watchedExecutor) bool {
	_, itself := w.excluded[e.ID]
	_, node := w.nodes[e.Host]
	taskHere, taskOnHost := 0, 0
	failed := map[string]map[int]bool{}
	for _, f := range set.failures {
		if f.index == index && f.executor == e.ID {
			taskHere++
		}
		if f.index == index && f.host == e.Host {
			taskOnHost++
		}
		if f.host == e.Host {
			if failed[f.executor] == nil {
				failed[f.executor] = map[int]bool{}
			}
			failed[f.executor][f.index] = true
		}
	}
	bad := 0
	for _, tasks := range failed {
		if len(tasks) >= w.rules.SetFailedTasksPerExecutor {
			bad++
		}
	}
	return itself || node || taskHere >= w.rules.TaskAttemptsPerExecutor || taskOnHost >= w.rules.TaskAttemptsPerNode ||
		len(failed[e.ID]) >= w.rules.SetFailedTasksPerExecutor || bad >= w.rules.SetFailedExecutorsPerNode
}
