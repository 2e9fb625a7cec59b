package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/scheduler/commit"
	"github.com/bobbin-yarn/bobbin/scheduler/exclusion"
	"github.com/bobbin-yarn/bobbin/scheduler/pool"
	"github.com/bobbin-yarn/bobbin/scheduler/speculation"
)

// watcher checks the invariants of a scheduler with all features enabled. It has its own records
// of cores, failures and exclusions.
type watcher struct {
	t         *rapid.T
	s         *Scheduler
	now       time.Time
	rules     exclusion.Rules
	executors map[string]*watchedExecutor
	sets      map[uint64]*watchedSet
	running   map[AttemptID]*watchedAttempt
	commits   *commit.Coordinator
	number    int
	// failures are the times of the failures that count for the application, by executor.
	// excluded and nodes are the times at which the exclusions of executors and nodes end.
	failures        map[string][]time.Time
	excluded, nodes map[string]time.Time
	hosts           map[string]string
}

type watchedExecutor struct {
	Executor
	decommissioning bool
	free            int
	used            map[string]float64
	// queue are the attempts that the scheduler assumes to be queued at the executor, because
	// the ends of other attempts have not been reported. waiting are the attempts that are
	// really queued.
	queue, waiting []*watchedAttempt
	// sent are all attempts that were sent to the executor and have not ended.
	sent []*watchedAttempt
	// unreported are the attempts that have ended but whose ends have not been reported to the
	// scheduler, in the order in which they ended.
	unreported []*watchedAttempt
}

type watchedSet struct {
	TaskSet
	over     bool
	done     map[int]bool
	launched map[int]bool
	failures []watchedFailure
	// counted is, by index of the task, how many failures of the task count.
	counted map[int]int
}

type watchedFailure struct {
	index    int
	executor string
	host     string
	at       time.Time
}

type watchedAttempt struct {
	Launch
	set    *watchedSet
	on     *watchedExecutor
	killed bool
	// committed is set if the attempt was allowed to commit.
	committed bool
	// recalled is set if the executor was sent a recall after it was sent the attempt.
	recalled bool
	// outcome is nil if the attempt has not ended.
	outcome *Outcome
}

func TestWithEverythingEnabled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := exclusion.Rules{Enabled: true, Timeout: 20 * time.Second, UnschedulableTimeout: 5 * time.Second}.WithDefaults()
		w := &watcher{
			t: t, now: start, rules: rules, executors: map[string]*watchedExecutor{}, sets: map[uint64]*watchedSet{},
			running: map[AttemptID]*watchedAttempt{}, commits: commit.NewCoordinator(), failures: map[string][]time.Time{},
			excluded: map[string]time.Time{}, nodes: map[string]time.Time{}, hosts: map[string]string{},
			s: New(Config{
				Mode: pool.Mode(rapid.IntRange(0, 1).Draw(t, "mode")), Pools: fairPools, Exclusion: rules,
				Speculation:         speculation.Rules{Enabled: true, Quantile: 0.3, DurationThreshold: 2 * time.Second},
				LocalityWaitNode:    time.Second,
				BarrierReserveDelay: time.Second,
				BarrierTimeout:      5 * time.Second,
				LocalityWaitRack:    time.Second,
				RackOf:              func(host string) string { return "rack of " + host },
				LocalityWaitProcess: 0,
			}),
		}
		t.Repeat(map[string]func(*rapid.T){
			"": w.check, "add": w.add, "submit": w.submit, "finish": w.finish, "more": w.finish, "tick": w.tick,
			"lose executor": w.loseExecutor, "decommission": w.decommission, "speculate": w.speculate, "ask": w.ask,
			"set window": w.setWindow, "report": w.report, "return queued": w.returnQueued,
		})
		w.runOut()
	})
}

func (w *watcher) add(t *rapid.T) {
	w.number++
	e := Executor{ID: fmt.Sprint("e", w.number), Host: fmt.Sprint("host", rapid.IntRange(0, 3).Draw(t, "host")),
		Cores: rapid.IntRange(1, 4).Draw(t, "cores"), Resources: gpus("0", "1")}
	w.addThis(e)
}

func (w *watcher) addThis(e Executor) {
	require.NoError(w.t, w.s.AddExecutor(e))
	w.executors[e.ID] = &watchedExecutor{Executor: e, free: e.Cores, used: map[string]float64{}}
	w.hosts[e.ID] = e.Host
	w.offer()
}

func (w *watcher) submit(t *rapid.T) {
	w.number++
	set := TaskSet{
		ID: uint64(w.number), Name: fmt.Sprint("set ", w.number), Tasks: rapid.IntRange(1, 8).Draw(t, "tasks"),
		CPUs: rapid.IntRange(1, 2).Draw(t, "cpus"), Barrier: rapid.IntRange(0, 3).Draw(t, "barrier") == 0,
		Pool:     rapid.SampledFrom([]string{"", "a", "b1", "b2"}).Draw(t, "pool"),
		Priority: pool.Priority{Job: rapid.Uint64Range(0, 2).Draw(t, "job"), Stage: rapid.Uint64Range(0, 1).Draw(t, "stage")},
	}
	if rapid.IntRange(0, 2).Draw(t, "gpu") == 0 {
		set.Resources = map[string]float64{"gpu": rapid.SampledFrom([]float64{0.5, 1}).Draw(t, "gpus")}
	}
	if host := rapid.IntRange(0, 6).Draw(t, "host"); host < 4 {
		set.Preferences = func(int) Preferences { return Preferences{Hosts: []string{fmt.Sprint("host", host)}} }
	}
	require.NoError(t, w.s.Submit(set))
	w.sets[set.ID] = &watchedSet{TaskSet: set, done: map[int]bool{}, launched: map[int]bool{}, counted: map[int]int{}}
	w.offer()
}

// tick advances the time and calls Advance.
func (w *watcher) tick(t *rapid.T) {
	w.now = w.now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "ticks")) * 100 * time.Millisecond)
	w.advance()
}

func (w *watcher) advance() {
	for id, until := range w.excluded {
		if !until.After(w.now) {
			delete(w.excluded, id)
		}
	}
	for host, until := range w.nodes {
		if !until.After(w.now) {
			delete(w.nodes, host)
		}
	}
	w.act(w.s.Advance(w.now))
	w.offer()
}

func (w *watcher) speculate(*rapid.T) {
	w.s.CheckSpeculation(w.now)
	w.offer()
}

func (w *watcher) decommission(t *rapid.T) {
	if e := w.any(t); e != nil {
		e.decommissioning = true
		w.act(w.s.DecommissionExecutor(e.ID))
		w.offer()
	}
}

func (w *watcher) any(t *rapid.T) *watchedExecutor {
	if len(w.executors) == 0 {
		return nil
	}
	return w.executors[rapid.SampledFrom(slices.Sorted(maps.Keys(w.executors))).Draw(t, "executor")]
}

func (w *watcher) loseExecutor(t *rapid.T) {
	e := w.any(t)
	if e == nil {
		return
	}
	counts := rapid.Bool().Draw(t, "counts")
	for _, id := range slices.Sorted(maps.Keys(w.running)) {
		if a := w.running[id]; a.on == e {
			// For attempts that have used cores since their launch, the loss is a failure.
			outcome := Outcome{Result: ResultKilled}
			if counts && !a.Queued {
				require.Nil(t, a.outcome, "an attempt on a core of its own is reported when it ends")
				outcome = Outcome{Result: ResultFailed, CountsAsFailure: true}
			}
			w.ended(a, outcome)
		}
	}
	delete(w.executors, e.ID)
	delete(w.failures, e.ID)
	w.act(w.s.RemoveExecutor(e.ID, Loss{Reason: "gone", CountsAsFailure: counts}))
	w.offer()
}

// ended records the end of an attempt. The caller then reports the end to the scheduler.
func (w *watcher) ended(a *watchedAttempt, outcome Outcome) {
	delete(w.running, a.Attempt)
	e := a.on
	if i := slices.Index(e.queue, a); i >= 0 {
		e.queue = slices.Delete(e.queue, i, i+1)
	} else {
		e.free += a.set.CPUs
	}
	for len(e.queue) > 0 && e.queue[0].set.CPUs <= e.free {
		e.free -= e.queue[0].set.CPUs
		e.queue = e.queue[1:]
	}
	for _, gpu := range a.Resources["gpu"] {
		e.used[gpu] -= a.set.Resources["gpu"]
	}
	w.commits.AttemptEnded(a.TaskSet, a.Index, uint64(a.Attempt), outcome.Result == ResultSucceeded)
	if outcome.Result == ResultFailed && outcome.CountsAsFailure && !a.set.over && !a.set.done[a.Index] {
		a.set.failures = append(a.set.failures, watchedFailure{a.Index, a.Executor, e.Host, w.now})
		a.set.counted[a.Index]++
	}
}

// finish ends an attempt that has a core or was killed. The end of an attempt that was queued
// when it was launched may be reported to the scheduler later. Other ends are reported at once.
func (w *watcher) finish(t *rapid.T) {
	var begun []AttemptID
	for _, id := range slices.Sorted(maps.Keys(w.running)) {
		if a := w.running[id]; a.outcome == nil && (a.killed || !slices.Contains(a.on.waiting, a)) {
			begun = append(begun, id)
		}
	}
	if len(begun) == 0 {
		t.Skip("nothing runs")
	}
	a := w.running[rapid.SampledFrom(begun).Draw(t, "attempt")]
	outcome := rapid.SampledFrom([]Outcome{
		{Result: ResultSucceeded}, {Result: ResultSucceeded, Took: time.Second}, {Result: ResultSucceeded, Took: 3 * time.Second}, {Result: ResultSucceeded, Took: time.Minute},
		{Result: ResultFailed, CountsAsFailure: true, Reason: "bad luck"}, {Result: ResultKilled},
	}).Draw(t, "outcome")
	if a.killed && rapid.Bool().Draw(t, "obeys") || slices.Contains(a.on.waiting, a) {
		outcome = Outcome{Result: ResultKilled}
	}
	a.stop(outcome)
	if a.Queued && rapid.Bool().Draw(t, "is reported later") {
		return
	}
	w.reportAll(a.on)
}

// stop ends an attempt at its executor, which then starts queued attempts on the free cores.
func (a *watchedAttempt) stop(outcome Outcome) {
	e := a.on
	a.outcome = &outcome
	e.unreported = append(e.unreported, a)
	e.waiting = slices.DeleteFunc(e.waiting, func(other *watchedAttempt) bool { return other == a })
	free := e.Cores
	for _, other := range e.sent {
		if other.outcome == nil && !slices.Contains(e.waiting, other) {
			free -= other.set.CPUs
		}
	}
	for len(e.waiting) > 0 && e.waiting[0].set.CPUs <= free {
		free -= e.waiting[0].set.CPUs
		e.waiting = e.waiting[1:]
	}
	e.sent = slices.DeleteFunc(e.sent, func(other *watchedAttempt) bool { return other.outcome != nil })
}

// reportAll reports to the scheduler all unreported ends of attempts at an executor.
func (w *watcher) reportAll(e *watchedExecutor) {
	unreported := e.unreported
	e.unreported = nil
	for _, a := range unreported {
		w.ended(a, *a.outcome)
		w.act(w.s.Finished(a.Attempt, *a.outcome))
	}
	w.offer()
}

func (w *watcher) report(t *rapid.T) {
	if e := w.any(t); e != nil {
		w.reportAll(e)
	}
}

// setWindow sets the window of an executor, and reports the attempts that have ended on it.
func (w *watcher) setWindow(t *rapid.T) {
	sets := slices.DeleteFunc(slices.Sorted(maps.Keys(w.sets)), func(id uint64) bool { return w.sets[id].over })
	if e := w.any(t); e != nil && len(sets) > 0 {
		w.s.SetWindow(e.ID, rapid.SampledFrom(sets).Draw(t, "set"), rapid.IntRange(0, 5).Draw(t, "window"))
		w.reportAll(e)
	}
}

// returnQueued returns the attempts queued at an executor to the scheduler. Executors do this on
// a recall, and when no queued attempt has started for some time.
func (w *watcher) returnQueued(t *rapid.T) {
	if e := w.any(t); e != nil {
		w.returnQueuedOf(e)
	}
}

func (w *watcher) returnQueuedOf(e *watchedExecutor) {
	for _, a := range slices.Clone(e.waiting) {
		a.stop(Outcome{Result: ResultRecalled})
	}
	w.reportAll(e)
}

// ask calls MayCommit for an attempt, and checks that at most one attempt of a task is allowed
// to commit at a time.
func (w *watcher) ask(t *rapid.T) {
	if len(w.running) == 0 {
		t.Skip("nothing runs")
	}
	a := w.running[rapid.SampledFrom(slices.Sorted(maps.Keys(w.running))).Draw(t, "attempt")]
	if !w.commits.MayCommit(a.TaskSet, a.Index, uint64(a.Attempt)) {
		return
	}
	a.committed = true
	for _, other := range w.running {
		require.False(t, other != a && other.committed && other.set == a.set && other.Index == a.Index, "two attempts commit")
	}
}

// endAll ends and reports all attempts that run.
func (w *watcher) endAll(outcome Outcome) {
	for _, id := range slices.Sorted(maps.Keys(w.running)) {
		if a := w.running[id]; a != nil && a.outcome == nil {
			if a.killed {
				a.stop(Outcome{Result: ResultKilled})
			} else {
				a.stop(outcome)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.executors)) {
		w.reportAll(w.executors[id])
	}
}

// runOut adds executors, ends attempts and advances the time until all sets have ended.
func (w *watcher) runOut() {
	for round := 0; ; round++ {
		open := 0
		for _, set := range w.sets {
			if !set.over {
				open++
			}
		}
		if open == 0 {
			break
		}
		require.Less(w.t, round, 200, "sets do not end: %+v", w.s.Snapshot())
		if round%10 == 0 {
			w.number++
			w.addThis(Executor{ID: fmt.Sprint("e", w.number), Host: fmt.Sprint("new", w.number), Cores: 16, Resources: gpus("0", "1", "2", "3", "4", "5", "6", "7")})
		}
		w.endAll(Outcome{})
		w.now = w.now.Add(time.Second)
		w.advance()
	}
	w.endAll(Outcome{Result: ResultKilled})
	w.now = w.now.Add(time.Minute)
	w.advance()
	require.Zero(w.t, w.s.Demand())
	require.Empty(w.t, w.s.ExcludedNodes())
	require.Zero(w.t, w.s.barriers)
	require.Zero(w.t, w.s.delays.runningClocks)
	_, waits := w.s.NextDeadline()
	require.False(w.t, waits)
}
