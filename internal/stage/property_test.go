package stage_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/stage"
)

// world generates random events for a graph and its model.
type world struct {
	*rapid.T
	graph     *stage.Graph
	model     *model
	nextJob   stage.JobID
	executors []string          // executors that have not been lost
	hosts     map[string]string // hosts of all executors, including lost ones
	lostAt    map[string]uint64 // for each lost executor, the latest attempt at the time of its loss
	runs      []stage.Run       // all attempts so far
	seen      []seenOutput      // outputs that running tasks may have seen
	submitted int
	versions  map[stage.ShuffleID]version
	delivered map[stage.StageID]map[int]bool
}

type seenOutput struct {
	shuffle stage.ShuffleID
	task    int
	output  stage.Output
}

// version contains the outputs of a shuffle and their generation, as last returned.
type version struct {
	generation uint64
	outputs    []stage.Output
}

var errSet = errors.New("the set has failed")

func (w *world) chance(percent int, what string) bool {
	return rapid.IntRange(0, 99).Draw(w.T, what) < percent
}

// apply applies an event to the model and to the graph.
func (w *world) apply(do func(), event func() []stage.Action) {
	var actions []stage.Action
	w.model.event(do, func() []stage.Action { actions = event(); return actions })
	for _, action := range actions {
		if run, ok := action.(stage.Run); ok {
			w.runs = append(w.runs, run)
		}
	}
	w.checkOutputs()
}

func (w *world) checkOutputs() {
	for id := range w.model.specs {
		outputs, complete, generation := w.graph.Outputs(id)
		s := w.model.stages[stage.StageID{Shuffle: id}]
		if s == nil || s.tasks < 0 {
			require.Nil(w, outputs)
			require.False(w, complete)
			delete(w.versions, id)
			continue
		}
		require.Equal(w, s.complete(), complete)
		require.Len(w, outputs, s.tasks)
		for task, output := range outputs {
			want := s.outputs[task].Output
			if want.Executor == "" {
				require.Zero(w, output)
				continue
			}
			require.NotZero(w, output.Generation)
			w.seen = append(w.seen, seenOutput{id, task, output})
			output.Generation = 0
			require.Equal(w, want, output)
		}
		before := w.versions[id]
		if before.outputs != nil && before.generation == generation {
			require.Equal(w, before.outputs, outputs, "the same generation of shuffle %d", id)
		}
		w.versions[id] = version{generation, outputs}
	}
	w.seen = w.seen[max(0, len(w.seen)-50):]
}

func (w *world) addExecutor() {
	id := fmt.Sprint("e", len(w.hosts))
	w.hosts[id] = fmt.Sprint("h", rapid.IntRange(0, 2).Draw(w.T, "host"))
	w.executors = append(w.executors, id)
}

func (w *world) submit() {
	w.nextJob++
	w.submitted++
	job := w.nextJob
	if w.chance(20, "late id") { // because the ids of jobs need not be submitted in ascending order
		job += 1000
	}
	reads := w.drawReads(stage.ShuffleID(len(w.model.specs)), 3)
	w.apply(func() { w.model.submit(job, reads) }, func() []stage.Action {
		actions, err := w.graph.Submit(job, reads, slices.Collect(maps.Values(w.model.specs)))
		require.NoError(w, err)
		return actions
	})
}

// drawReads draws up to most shuffles whose ids are at most last.
func (w *world) drawReads(last stage.ShuffleID, most int) []stage.ShuffleID {
	if last == 0 {
		return nil
	}
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) stage.ShuffleID {
		return stage.ShuffleID(rapid.IntRange(1, int(last)).Draw(t, "shuffle"))
	}), 0, min(most, int(last)), rapid.ID).Draw(w.T, "reads")
}

func (w *world) plan() {
	var asked []stage.StageID
	for _, id := range w.stages() {
		if w.model.stages[id].asked || w.chance(5, "plan without being asked") {
			asked = append(asked, id)
		}
	}
	if len(asked) == 0 {
		return
	}
	id := rapid.SampledFrom(asked).Draw(w.T, "stage")
	tasks := rapid.SampledFrom([]int{1, 2, 3, 4, 0, 70}).Draw(w.T, "tasks")
	w.apply(func() { w.model.planned(id, tasks) }, func() []stage.Action { return w.graph.Planned(id, tasks) })
}

func (w *world) stages() []stage.StageID {
	return slices.SortedFunc(maps.Keys(w.model.stages), func(a, b stage.StageID) int {
		return int(a.Shuffle) - int(b.Shuffle) + 1000*(int(a.Job)-int(b.Job))
	})
}

// drawRun draws an attempt, usually a live one.
func (w *world) drawRun() (stage.Run, bool) {
	runs := w.runs
	if !w.chance(10, "any attempt") {
		runs = slices.DeleteFunc(slices.Clone(runs), func(run stage.Run) bool { return w.model.attempts[run.Attempt] == nil })
	}
	if len(runs) == 0 {
		return stage.Run{}, false
	}
	return rapid.SampledFrom(runs).Draw(w.T, "attempt"), true
}

// drawTask draws a task of the attempt, usually one whose end was not reported.
func (w *world) drawTask(run stage.Run) int {
	tasks := run.Tasks
	if a := w.model.attempts[run.Attempt]; a != nil && !w.chance(5, "any task") {
		tasks = slices.Sorted(maps.Keys(a.pending))
	}
	return rapid.SampledFrom(tasks).Draw(w.T, "task")
}

func (w *world) taskDone() {
	run, ok := w.drawRun()
	if !ok {
		return
	}
	w.finish(run, w.drawTask(run), w.chance(5, "changed"))
}

func (w *world) finish(run stage.Run, task int, changed bool) {
	// The task may have run on an executor that was lost after the start of the attempt.
	executors := slices.Clone(w.executors)
	for _, id := range slices.Sorted(maps.Keys(w.lostAt)) {
		if w.lostAt[id] >= run.Attempt && w.chance(20, "on a lost executor") {
			executors = append(executors, id)
		}
	}
	executor := rapid.SampledFrom(executors).Draw(w.T, "executor")
	output := stage.Output{Executor: executor, Host: w.hosts[executor], Checksum: uint64(run.Stage.Shuffle)*1000 + uint64(task)}
	if changed {
		output.Checksum += 1 << 20 * uint64(rapid.IntRange(1, 2).Draw(w.T, "version"))
	}
	var want, counts bool
	w.apply(func() { want = w.model.taskDone(run.Attempt, task, output) }, func() (actions []stage.Action) {
		counts, actions = w.graph.TaskDone(run.Attempt, task, output)
		return actions
	})
	require.Equal(w, want, counts)
	if counts && run.Stage.Job != 0 {
		require.False(w, w.delivered[run.Stage][task], "%s: the result of task %d is delivered twice", run.Stage, task)
		if w.delivered[run.Stage] == nil {
			w.delivered[run.Stage] = map[int]bool{}
		}
		w.delivered[run.Stage][task] = true
	}
}

func (w *world) fetchFailed() {
	run, ok := w.drawRun()
	if !ok || len(w.seen) == 0 {
		return
	}
	task := w.drawTask(run)
	var read []seenOutput
	if a := w.model.attempts[run.Attempt]; a != nil {
		for _, seen := range w.seen {
			if slices.Contains(a.stage.reads, seen.shuffle) {
				read = append(read, seen)
			}
		}
	}
	if len(read) == 0 {
		read = w.seen
	}
	failed := rapid.SampledFrom(read).Draw(w.T, "output")
	failure := stage.FetchFailure{
		Shuffle: failed.shuffle, Map: failed.task, Generation: failed.output.Generation, ExecutorGone: w.chance(50, "executor gone"),
	}
	outputs, _, _ := w.graph.Outputs(failed.shuffle)
	current := failed.task < len(outputs) && outputs[failed.task].Generation == failure.Generation
	w.apply(func() { w.model.fetchFailed(run.Attempt, task, failure, current) },
		func() []stage.Action { return w.graph.FetchFailed(run.Attempt, task, failure) })
}

func (w *world) setEnded() {
	run, ok := w.drawRun()
	if !ok {
		return
	}
	var err error
	if w.chance(30, "failed") {
		err = errSet
	}
	w.apply(func() { w.model.setEnded(run.Attempt, err) }, func() []stage.Action { return w.graph.SetEnded(run.Attempt, err) })
}

// executorsLost loses an executor, or all executors of a host, and checks that at most one
// attempt of each stage computes the lost outputs again.
func (w *world) executorsLost() {
	ids := []string{rapid.SampledFrom(w.executors).Draw(w.T, "executor")}
	if host := w.hosts[ids[0]]; w.chance(20, "host lost") {
		ids = slices.DeleteFunc(slices.Clone(w.executors), func(id string) bool { return w.hosts[id] != host })
	}
	w.executors = slices.DeleteFunc(w.executors, func(id string) bool { return slices.Contains(ids, id) })
	if len(w.runs) > 0 {
		for _, id := range ids {
			w.lostAt[id] = w.runs[len(w.runs)-1].Attempt
		}
	}
	w.apply(func() { w.model.executorsLost(ids) }, func() []stage.Action {
		actions := w.graph.ExecutorsLost(ids...)
		started := map[stage.StageID]bool{}
		for _, action := range actions {
			if run, ok := action.(stage.Run); ok {
				require.False(w, started[run.Stage], "two attempts of %v", run.Stage)
				started[run.Stage] = true
			}
		}
		return actions
	})
	for len(w.executors) < 2 {
		w.addExecutor()
	}
}

func (w *world) relocated() {
	if len(w.seen) == 0 {
		return
	}
	seen := rapid.SampledFrom(w.seen).Draw(w.T, "output")
	to := rapid.SampledFrom(w.executors).Draw(w.T, "executor")
	r := stage.Relocation{
		Shuffle: seen.shuffle, Map: seen.task, Attempt: seen.output.Attempt, From: seen.output.Executor, Executor: to, Host: w.hosts[to],
	}
	w.apply(func() { w.model.relocated(r) }, func() []stage.Action {
		counts, actions := w.graph.Relocated(r)
		if outputs, _, _ := w.graph.Outputs(r.Shuffle); counts {
			require.Equal(w, r.Executor, outputs[r.Map].Executor)
		}
		return actions
	})
}

func (w *world) cancel() {
	if len(w.model.jobs) == 0 {
		return
	}
	w.cancelJob(rapid.SampledFrom(w.model.jobs).Draw(w.T, "job"))
}

func (w *world) cancelJob(job stage.JobID) {
	w.apply(func() { w.model.mustFail[job] = true }, func() []stage.Action { return w.graph.Cancel(job, errSet) })
}

func (w *world) release(id stage.ShuffleID) {
	w.apply(func() { w.model.release(id) }, func() []stage.Action { return w.graph.Release(id) })
}

// finishJobs runs all jobs to their ends without further failures.
func (w *world) finishJobs() {
	for len(w.model.jobs) > 0 {
		progress := false
		for _, id := range w.stages() {
			if s := w.model.stages[id]; s != nil && s.asked {
				progress = true
				w.apply(func() { w.model.planned(id, 2) }, func() []stage.Action { return w.graph.Planned(id, 2) })
			}
		}
		for _, run := range slices.Clone(w.runs) {
			a := w.model.attempts[run.Attempt]
			if a == nil {
				continue
			}
			progress = true
			if a.drained {
				w.apply(func() { w.model.setEnded(run.Attempt, nil) }, func() []stage.Action { return w.graph.SetEnded(run.Attempt, nil) })
				continue
			}
			for _, task := range run.Tasks {
				w.finish(run, task, false)
			}
		}
		require.True(w, progress, "the jobs %v wait for nothing", w.model.jobs)
	}
}

func TestGraphActsAsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 4).Draw(t, "most fetch failures")
		w := &world{
			T: t, graph: stage.New(stage.Config{MaxFetchFailures: limit}), model: newModel(limit),
			hosts: map[string]string{}, lostAt: map[string]uint64{}, versions: map[stage.ShuffleID]version{},
			delivered: map[stage.StageID]map[int]bool{},
		}
		for id := range stage.ShuffleID(rapid.IntRange(1, 6).Draw(t, "shuffles")) {
			w.model.specs[id+1] = stage.ShuffleSpec{ID: id + 1, Reads: w.drawReads(id, 2), Determinate: w.chance(70, "determinate")}
		}
		for range 4 {
			w.addExecutor()
		}
		w.submit()
		often := func(times int, f func()) []func() { return slices.Repeat([]func(){f}, times) }
		events := slices.Concat(
			often(8, w.plan), often(24, w.taskDone), often(4, w.fetchFailed), often(2, w.setEnded), often(2, w.executorsLost),
			often(2, w.relocated), often(1, w.cancel), often(1, func() { w.release(1 + stage.ShuffleID(rapid.IntRange(0, 5).Draw(t, "shuffle"))) }),
			often(2, func() {
				if w.submitted < 8 {
					w.submit()
				}
			}), often(1, w.addExecutor),
		)
		for range rapid.IntRange(1, 150).Draw(t, "events") {
			rapid.SampledFrom(events).Draw(t, "event")()
		}
		w.finishJobs()
		require.Len(t, w.model.ended, w.submitted)
		for id := range w.model.specs {
			w.release(id)
		}
		w.apply(func() {}, func() []stage.Action { return w.graph.ExecutorsLost("nobody") })
		require.Zero(t, w.graph.Known())
	})
}
