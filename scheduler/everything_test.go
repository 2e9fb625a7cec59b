package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// watcher holds a scheduler in which everything is enabled to what must never be
// otherwise, by books of its own.
type watcher struct {
	t         *rapid.T
	s         *Scheduler
	now       time.Time
	rules     Exclusion
	executors map[string]*watchedExecutor
	sets      map[uint64]*watchedSet
	running   map[AttemptID]*watchedAttempt
	commits   *Commits
	number    int
	// failures are those that the application counts; excluded and nodes what they
	// led to, with its end.
	failures        map[string][]time.Time
	excluded, nodes map[string]time.Time
	hosts           map[string]string
}

type watchedExecutor struct {
	Executor
	draining bool
	free     int
	used     map[string]float64
	// queue is the attempts that wait for cores there.
	queue []*watchedAttempt
}

type watchedSet struct {
	TaskSet
	over     bool
	done     map[int]bool
	launched map[int]bool
	failures []watchedFailure
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
	// committed is whether it was allowed to commit.
	committed bool
	// calledBack is whether it was asked to come back.
	calledBack bool
	// lost is whether it had a core of an executor that was lost.
	lost bool
}

// mayReturn is whether its executor may give an attempt back.
func (a *watchedAttempt) mayReturn() bool { return a.Ahead && !a.killed }

func TestWithEverythingEnabled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := Exclusion{Enabled: true, Timeout: 20 * time.Second, UnschedulableTimeout: 5 * time.Second}.withDefaults()
		w := &watcher{
			t: t, now: start, rules: rules, executors: map[string]*watchedExecutor{}, sets: map[uint64]*watchedSet{},
			running: map[AttemptID]*watchedAttempt{}, commits: NewCommits(), failures: map[string][]time.Time{},
			excluded: map[string]time.Time{}, nodes: map[string]time.Time{}, hosts: map[string]string{},
			s: New(Config{
				Mode: Mode(rapid.IntRange(0, 1).Draw(t, "mode")), Pools: fairPools, Exclusion: rules,
				Speculation:         Speculation{Enabled: true, Quantile: 0.3, DurationThreshold: 2 * time.Second},
				LocalityWaitNode:    time.Second,
				BarrierPatience:     time.Second,
				BarrierTimeout:      5 * time.Second,
				LaunchAhead:         time.Duration(rapid.IntRange(0, 1).Draw(t, "ahead")) * 10 * time.Second,
				MaxTaskFailures:     4,
				LocalityWaitRack:    time.Second,
				RackOf:              func(host string) string { return "rack of " + host },
				LocalityWaitProcess: 0,
			}),
		}
		if rapid.Bool().Draw(t, "stops early") {
			w.s.mostAtOnce, w.s.enoughAhead = 2, 3
		}
		t.Repeat(map[string]func(*rapid.T){
			"": w.check, "add": w.add, "submit": w.submit, "finish": w.finish, "more": w.finish, "tick": w.tick,
			"remove": w.remove, "drain": w.drain, "speculate": w.speculate, "ask": w.ask,
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
		Function: rapid.SampledFrom([]string{"", "f", "g"}).Draw(t, "function"),
	}
	if rapid.IntRange(0, 2).Draw(t, "gpu") == 0 {
		set.Resources = map[string]float64{"gpu": rapid.SampledFrom([]float64{0.5, 1}).Draw(t, "gpus")}
	}
	if host := rapid.IntRange(0, 6).Draw(t, "host"); host < 4 {
		set.Preferences = func(int) Preferences { return Preferences{Hosts: []string{fmt.Sprint("host", host)}} }
	}
	require.NoError(t, w.s.Submit(set))
	w.sets[set.ID] = &watchedSet{TaskSet: set, done: map[int]bool{}, launched: map[int]bool{}}
	w.offer()
}

// tick lets time pass and has the scheduler do what is due.
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

func (w *watcher) drain(t *rapid.T) {
	if e := w.any(t); e != nil {
		e.draining = true
		w.s.DrainExecutor(e.ID)
		w.offer()
	}
}

func (w *watcher) any(t *rapid.T) *watchedExecutor {
	if len(w.executors) == 0 {
		return nil
	}
	return w.executors[rapid.SampledFrom(slices.Sorted(maps.Keys(w.executors))).Draw(t, "executor")]
}

func (w *watcher) remove(t *rapid.T) {
	e := w.any(t)
	if e == nil {
		return
	}
	counts := rapid.Bool().Draw(t, "counts")
	for _, id := range slices.Sorted(maps.Keys(w.running)) {
		if a := w.running[id]; a.on == e {
			a.lost = !slices.Contains(e.queue, a)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.running)) {
		if a := w.running[id]; a.on == e {
			w.ended(a, Outcome{Result: Failed, Counts: counts && a.lost})
		}
	}
	delete(w.executors, e.ID)
	delete(w.failures, e.ID)
	w.act(w.s.RemoveExecutor(e.ID, Loss{Reason: "gone", Counts: counts}))
	w.offer()
}

// ended does the books for an attempt that the scheduler is about to hear of.
func (w *watcher) ended(a *watchedAttempt, outcome Outcome) {
	delete(w.running, a.Attempt)
	if i := slices.Index(a.on.queue, a); i >= 0 {
		a.on.queue = slices.Delete(a.on.queue, i, i+1)
	} else {
		a.on.free += a.set.CPUs
	}
	for len(a.on.queue) > 0 && a.on.queue[0].set.CPUs <= a.on.free {
		a.on.free -= a.on.queue[0].set.CPUs
		a.on.queue = a.on.queue[1:]
	}
	for _, gpu := range a.Resources["gpu"] {
		a.on.used[gpu] -= a.set.Resources["gpu"]
	}
	w.commits.Ended(a.TaskSet, a.Index, a.Attempt, outcome.Result == Succeeded)
	if outcome.Result == Failed && outcome.Counts && !a.set.over && !a.set.done[a.Index] {
		a.set.failures = append(a.set.failures, watchedFailure{a.Index, a.Executor, a.on.Host, w.now})
	}
}

func (w *watcher) finish(t *rapid.T) {
	if len(w.running) == 0 {
		t.Skip("nothing runs")
	}
	a := w.running[rapid.SampledFrom(slices.Sorted(maps.Keys(w.running))).Draw(t, "attempt")]
	outcome := rapid.SampledFrom([]Outcome{
		{Result: Succeeded}, {Result: Succeeded, Took: time.Second}, {Result: Succeeded, Took: 3 * time.Second}, {Result: Succeeded, Took: time.Minute},
		{Result: Failed, Counts: true, Reason: "bad luck"}, {Result: Killed},
	}).Draw(t, "outcome")
	if a.mayReturn() && rapid.IntRange(0, 3).Draw(t, "comes back") == 0 {
		outcome = Outcome{Result: Returned}
	}
	if a.killed && rapid.Bool().Draw(t, "obeys") {
		outcome = Outcome{Result: Killed}
	}
	w.end(a, outcome)
}

func (w *watcher) end(a *watchedAttempt, outcome Outcome) {
	w.ended(a, outcome)
	if w.number++; outcome.Result == Succeeded && w.number%2 == 0 {
		done, events := w.s.Succeeded(a.Attempt, outcome.Took)
		if done {
			w.act([]Event{TaskDone{TaskSet: a.TaskSet, Index: a.Index, Attempt: a.Attempt}})
		}
		w.act(events)
	} else {
		w.act(w.s.Finished(a.Attempt, outcome))
	}
	w.offer()
}

// ask has an attempt ask whether it may commit: one at a time may.
func (w *watcher) ask(t *rapid.T) {
	if len(w.running) == 0 {
		t.Skip("nothing runs")
	}
	a := w.running[rapid.SampledFrom(slices.Sorted(maps.Keys(w.running))).Draw(t, "attempt")]
	if !w.commits.Ask(a.TaskSet, a.Index, a.Attempt) {
		return
	}
	a.committed = true
	for _, other := range w.running {
		require.False(t, other != a && other.committed && other.set == a.set && other.Index == a.Index, "two attempts commit")
	}
}

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
			w.fold(set)
		case TaskRetry:
			if w.sets[event.TaskSet].Barrier {
				w.commits.Forget(event.TaskSet) // what was committed is to be committed again
			}
		case TaskSetFailed:
			w.sets[event.TaskSet].over = true
		case TaskSetAborted:
			w.sets[event.TaskSet].over = true
		case CallBack:
			a := w.running[event.Attempt]
			require.True(w.t, a.mayReturn() && slices.Contains(a.on.queue, a), "%+v: it has begun", event)
			require.False(w.t, a.calledBack, "%+v: twice", event)
			require.Equal(w.t, a.Executor, event.Executor)
			a.calledBack = true
		case KillAttempt:
			if a := w.running[event.Attempt]; a != nil {
				a.killed = true
			}
		}
	}
}

func (w *watcher) offer() {
	for w.offerOnce(); w.s.More(); {
		require.NotZero(w.t, w.offerOnce(), "there was more")
	}
	for _, p := range w.s.profiles {
		set := p.alone()
		if set == nil || w.s.resume > 0 || w.s.barriers > 0 || set.prefers() || set.isChoosy() || set.waiting == 0 {
			continue
		}
		require.Less(w.t, p.free.top, set.cpus, "cores are left though nobody else wants them")
	}
}

// offerOnce returns how many tasks an offer launched.
func (w *watcher) offerOnce() int {
	started := map[*watchedSet]int{}
	launches := w.s.Offer(w.now)
	for _, l := range launches {
		set, e := w.sets[l.TaskSet], w.executors[l.Executor]
		require.NotNil(w.t, e, "%+v: no such executor", l)
		require.False(w.t, set.over || set.done[l.Index], "%+v: without cause", l)
		require.False(w.t, e.draining, "%+v: it is draining", l)
		require.False(w.t, w.isExcluded(set, l.Index, e), "%+v: it is excluded", l)
		others := 0
		for _, a := range w.running {
			if a.set == set && a.Index == l.Index {
				others++
				require.NotEqual(w.t, a.Executor, l.Executor, "%+v: beside its original", l)
				require.NotEqual(w.t, a.Number, l.Number)
			}
		}
		require.LessOrEqual(w.t, others, 1)
		require.Equal(w.t, l.Speculative, others == 1, "%+v: it runs already", l)
		a := &watchedAttempt{Launch: l, set: set, on: e}
		require.Equal(w.t, l.Ahead, w.s.Ahead(l.Attempt))
		require.True(w.t, l.Ahead || !l.Last, "%+v", l)
		if l.Ahead {
			require.Less(w.t, e.free, set.CPUs, "%+v: a core is free", l)
			require.LessOrEqual(w.t, l.Locality, NoPref, "%+v: far from its data", l)
			require.False(w.t, set.Barrier || len(set.Resources) > 0 || set.launched[l.Index], "%+v", l)
			e.queue = append(e.queue, a)
			require.LessOrEqual(w.t, len(e.queue), mostAhead*e.Cores)
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
	for _, l := range launches {
		if l.Ahead {
			require.Equal(w.t, w.waiting(w.sets[l.TaskSet]), w.s.Demand().WaitingTasks, "%+v: others wait for cores", l)
		}
	}
	for set, n := range started {
		if set.Barrier {
			require.Equal(w.t, set.Tasks, n, "a part of barrier set %d", set.ID)
			for _, a := range w.running {
				require.True(w.t, a.set != set || !a.killed, "an attempt of the time before runs beside it")
			}
		}
	}
	return len(launches)
}

// waiting is how many tasks of a set run nowhere and are not done.
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
		if hindrance, reason := w.s.WhyWaiting(id); set.over {
			require.Equal(w.t, NoHindrance, hindrance)
		} else {
			require.Equal(w.t, hindrance == NoHindrance, reason == "")
		}
	}
}

// runOut gives the sets new executors, ends their attempts and lets time pass:
// all sets end.
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
		require.Less(w.t, round, 200, "sets don't end: %+v", w.s.Snapshot())
		if round%10 == 0 {
			w.number++
			w.addThis(Executor{ID: fmt.Sprint("e", w.number), Host: fmt.Sprint("new", w.number), Cores: 16, Resources: gpus("0", "1", "2", "3", "4", "5", "6", "7")})
		}
		for _, id := range slices.Sorted(maps.Keys(w.running)) {
			if a := w.running[id]; a != nil {
				outcome := Outcome{}
				if a.killed {
					outcome.Result = Killed
				}
				w.end(a, outcome)
			}
		}
		w.now = w.now.Add(time.Second)
		w.advance()
	}
	for _, id := range slices.Sorted(maps.Keys(w.running)) {
		w.end(w.running[id], Outcome{Result: Killed})
	}
	w.now = w.now.Add(time.Minute)
	w.advance()
	require.Zero(w.t, w.s.Demand())
	require.Empty(w.t, w.s.ExcludedNodes())
	require.Zero(w.t, w.s.barriers)
	require.Zero(w.t, w.s.delayed)
	_, waits := w.s.NextDeadline()
	require.False(w.t, waits)
}
