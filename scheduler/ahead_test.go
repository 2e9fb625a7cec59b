package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shortTasks is a scheduler with one executor of two cores, and a set of tasks
// of which the first two are done and took so long.
func shortTasks(t *testing.T, took time.Duration) (*Scheduler, []Launch) {
	s := New(Config{LaunchAhead: time.Millisecond})
	require.NoError(t, s.AddExecutor(Executor{ID: "e", Host: "host", Cores: 2}))
	require.NoError(t, s.Submit(TaskSet{ID: 1, Tasks: 3 * mostAhead}))
	for _, l := range s.Offer(start) {
		require.False(t, l.Ahead, "nobody knows how long they take")
		s.Finished(l.Attempt, Outcome{Took: took})
	}
	return s, s.Offer(start)
}

func TestHowManyTasksAreLaunchedAhead(t *testing.T) {
	for name, test := range map[string]struct {
		took  time.Duration
		ahead int
	}{
		"long tasks":            {2 * time.Millisecond, 0},
		"as long as one":        {time.Millisecond, 2},
		"a tenth":               {100 * time.Microsecond, 20},
		"next to nothing":       {time.Nanosecond, 2 * mostAhead},
		"nobody knows how long": {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, launches := shortTasks(t, test.took)
			ahead := 0
			for i, l := range launches {
				require.Equal(t, i >= 2, l.Ahead, "two cores are free")
				if l.Ahead {
					ahead++
				}
			}
			require.Equal(t, test.ahead, ahead)
		})
	}
}

func TestAnExecutorOfManyCoresGetsABoundedPart(t *testing.T) {
	for cores, want := range map[int]int{1: mostAhead, 4: 4 * mostAhead, 64: mostAtOne, 8000: 8000} {
		s := New(Config{LaunchAhead: time.Millisecond})
		require.NoError(t, s.AddExecutor(Executor{ID: "e", Host: "host", Cores: cores}))
		require.NoError(t, s.Submit(TaskSet{ID: 1, Tasks: 100_000}))
		for _, l := range s.Offer(start) {
			s.Succeeded(l.Attempt, time.Microsecond)
		}
		require.Len(t, s.Offer(start), cores+want)
	}
}

func TestThoseAheadGetCoresInOrder(t *testing.T) {
	s, launches := shortTasks(t, 250*time.Microsecond)
	require.Len(t, launches, 10)
	s.Finished(launches[1].Attempt, Outcome{Took: 250 * time.Microsecond})
	require.False(t, s.Ahead(launches[2].Attempt))
	require.True(t, s.Ahead(launches[3].Attempt))
	require.Empty(t, s.Offer(start), "more than half of them still wait")
	for _, l := range launches[2:6] {
		s.Finished(l.Attempt, Outcome{Took: 250 * time.Microsecond})
	}
	require.False(t, s.Ahead(launches[6].Attempt), "an executor that is further than its reports")
	require.Len(t, s.Offer(start), 5)
	require.Zero(t, s.Snapshot().Executors[0].FreeCores)
}

func TestWhatComesBackWaitsForACoreAndHasNotFailed(t *testing.T) {
	s, launches := shortTasks(t, 100*time.Microsecond)
	last := launches[len(launches)-1]
	require.Equal(t, []Event{TaskRetry{TaskSet: 1, Index: last.Index, Attempt: last.Attempt}}, s.Finished(last.Attempt, Outcome{Result: Returned}))
	require.Empty(t, s.Offer(start))
	for _, l := range launches[:len(launches)-1] {
		s.Finished(l.Attempt, Outcome{Took: 2 * time.Millisecond})
	}
	again := s.Offer(start)
	require.Len(t, again, 2, "tasks of the set are not taken for short any more")
	require.Equal(t, last.Index, again[0].Index, "it goes first")
	require.False(t, again[0].Ahead)
	require.Zero(t, again[0].Number, "it was not begun")
}

func TestAnExecutorsLossIsNoFailureOfThoseThatWaitedThere(t *testing.T) {
	s, launches := shortTasks(t, 100*time.Microsecond)
	events := s.RemoveExecutor("e", Loss{Reason: "gone", Counts: true})
	require.Len(t, events, len(launches))
	for i, event := range events {
		failures := 0
		if i < 2 {
			failures = 1
		}
		require.Equal(t, failures, event.(TaskRetry).Failures)
	}
	require.NoError(t, s.AddExecutor(Executor{ID: "e2", Host: "host", Cores: 2}))
	for left := len(launches) - 2; left >= 0; left -= 2 {
		again := s.Offer(start)
		for _, l := range again[:2] {
			require.False(t, l.Ahead, "which of them ends executors is not known")
			s.Finished(l.Attempt, Outcome{Took: 100 * time.Microsecond})
		}
		require.Equal(t, left > 0, len(again) == 2, "others go ahead once all of them have cores")
	}
}

func TestNothingGoesAheadOfAnotherSetsTasks(t *testing.T) {
	s, launches := shortTasks(t, 100*time.Microsecond)
	require.NoError(t, s.Submit(TaskSet{ID: 2, Tasks: 1}))
	for _, l := range launches[2:] {
		s.Finished(l.Attempt, Outcome{Took: 100 * time.Microsecond})
	}
	require.Empty(t, s.Offer(start))
	s.Cancel(2, "")
	s.Finished(launches[0].Attempt, Outcome{Took: 100 * time.Microsecond})
	require.Len(t, s.Offer(start), 21)
}

func TestTheLastTasksAreForAllExecutors(t *testing.T) {
	s, launches := shortTasks(t, 100*time.Microsecond)
	for i := range 9 {
		require.NoError(t, s.AddExecutor(Executor{ID: fmt.Sprint(i), Host: "other", Cores: 1}))
	}
	running := append(launches, s.Offer(start)...)
	for s.Demand().WaitingTasks > 100 {
		s.Finished(running[0].Attempt, Outcome{Took: 100 * time.Microsecond})
		running = append(running[1:], s.Offer(start)...)
	}
	for i := range 8 {
		require.NoError(t, s.AddExecutor(Executor{ID: fmt.Sprint("late", i), Host: "other", Cores: 1}))
	}
	perExecutor := map[string]int{}
	for _, l := range s.Offer(start) {
		if l.Ahead {
			perExecutor[l.Executor]++
		}
	}
	require.Len(t, perExecutor, 8)
	for _, ahead := range perExecutor {
		require.LessOrEqual(t, ahead, 10, "92 tasks wait, at most 90 others are at the first 10 of 18 executors")
		require.GreaterOrEqual(t, ahead, 3)
	}
}

func TestAnExecutorThatAsksAtHalfGetsMore(t *testing.T) {
	for _, took := range []time.Duration{10 * time.Microsecond, 100 * time.Microsecond} {
		s, launches := shortTasks(t, took)
		s.Finished(launches[0].Attempt, Outcome{Took: took})
		s.Finished(launches[1].Attempt, Outcome{Took: took})
		launches = append(launches[2:], s.Offer(start)...)
		slower := took + took/10
		for _, l := range launches[:len(launches)/2] {
			s.Finished(l.Attempt, Outcome{Took: slower})
		}
		require.NotEmpty(t, s.Offer(start), "though less would be sent to it now than it had, at %v", took)
	}
}

func TestEachExecutorHasItsPartAtOnce(t *testing.T) {
	const executors, each = 10, 20
	s := New(Config{LaunchAhead: time.Millisecond})
	for i := range executors {
		require.NoError(t, s.AddExecutor(Executor{ID: fmt.Sprint(i), Host: "host", Cores: 1}))
	}
	require.NoError(t, s.Submit(TaskSet{ID: 1, Tasks: (1 + each) * executors}))
	took := 40 * time.Microsecond // what is worth sending is less than its part
	for i, first := range s.Offer(start) {
		s.Finished(first.Attempt, Outcome{Took: took})
		launches := s.Offer(start)
		if i < executors-1 { // the last one gets what is left
			require.InDelta(t, each, len(launches), 1, "whoever comes later gets no less")
		}
		for _, l := range launches {
			require.Equal(t, first.Executor, l.Executor)
		}
	}
	require.Zero(t, s.Demand().WaitingTasks)
}

func TestExecutorsGetAsMuchAsIsWorthSending(t *testing.T) {
	for name, test := range map[string]struct {
		tasks, executors int
		took             time.Duration
		part             int // of each executor, but for the first and the last
	}{
		"there is more than that for each":             {400, 10, 20 * time.Microsecond, 37},
		"25 messages take as long as 8 tasks":          {202, 100, 100 * time.Microsecond, 8},
		"no more than may wait at an executor":         {20_000, 1000, 50 * time.Microsecond, 20},
		"they take less than anybody can tell":         {5000, 1000, time.Nanosecond, mostAhead},
		"they take so long that few are worth sending": {100, 100, 800 * time.Microsecond, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Config{LaunchAhead: time.Millisecond})
			require.NoError(t, s.AddExecutor(Executor{ID: "first", Host: "host", Cores: 1}))
			require.NoError(t, s.Submit(TaskSet{ID: 1, Tasks: test.tasks}))
			for _, l := range s.Offer(start) {
				s.Succeeded(l.Attempt, test.took)
			}
			for i := range test.executors {
				require.NoError(t, s.AddExecutor(Executor{ID: fmt.Sprint(i), Host: "host", Cores: 1}))
			}
			parts, order := map[string]int{}, []string{}
			for more := true; more; more = s.More() {
				for _, l := range s.Offer(start) {
					if parts[l.Executor]++; parts[l.Executor] == 1 {
						order = append(order, l.Executor)
					}
				}
			}
			for _, executor := range order[:len(order)-1] {
				if executor != "first" {
					require.InDelta(t, test.part, parts[executor], 1)
				}
			}
		})
	}
}

func TestWhoEndsItsPartGetsTheNext(t *testing.T) {
	const executors, tasks = 1000, 100_000
	s := manyExecutors(t, executors)
	require.NoError(t, s.Submit(TaskSet{ID: 2, Tasks: tasks, Function: "f"}))
	messages, served := 0, map[string]bool{}
	var running []Launch
	for done := 0; done < tasks; {
		latest := ""
		launches := s.Offer(start)
		for _, l := range launches {
			if l.Executor != latest {
				messages++
			}
			latest = l.Executor
			served[l.Executor] = true
		}
		running = append(running, launches...)
		require.NotEmpty(t, running)
		part := 1
		for part < len(running) && running[part].Executor == running[0].Executor {
			part++
		}
		for _, l := range running[:part] {
			s.Succeeded(l.Attempt, 2*time.Microsecond)
		}
		done += part
		running = running[part:]
	}
	require.Less(t, messages, 2*tasks/mostAhead)
	require.Less(t, len(served), executors/10, "few can run what may wait at executors")
	for _, e := range s.executors {
		require.LessOrEqual(t, cap(e.running), keptRunning, "it runs nothing any more")
	}
}

func TestAFewTasksThatAreHeldUpChangeLittle(t *testing.T) {
	for name, test := range map[string]struct {
		every int // which of the tasks takes long
		ahead bool
	}{"one in a hundred": {100, true}, "one in ten": {10, false}} {
		t.Run(name, func(t *testing.T) {
			s := New(Config{LaunchAhead: time.Millisecond})
			require.NoError(t, s.AddExecutor(Executor{ID: "e", Host: "host", Cores: 1}))
			require.NoError(t, s.Submit(TaskSet{ID: 1, Tasks: 100_000}))
			ended, ahead, now := 0, 0, start
			running := s.Offer(now)
			for range 10_000 {
				took := 5 * time.Microsecond
				if ended++; ended%test.every == 0 {
					took = time.Second
				}
				if running[0].Ahead {
					ahead++
				}
				now = now.Add(took)
				s.Advance(now)
				s.Finished(running[0].Attempt, Outcome{Took: took})
				running = append(running[1:], s.Offer(now)...)
			}
			if test.ahead {
				require.Greater(t, ahead, 9_000)
			} else {
				require.Less(t, ahead, 5_000)
			}
		})
	}
}
