package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// manyExecutors is a scheduler with executors of one core, for which tasks of the
// function f are known to be short.
func manyExecutors(t *testing.T, executors int) *Scheduler {
	return manyPatientExecutors(t, executors, 0)
}

// manyPatientExecutors is one where a task waits so long for a better place.
func manyPatientExecutors(t *testing.T, executors int, wait time.Duration) *Scheduler {
	s := New(Config{LaunchAhead: time.Millisecond, Mode: FAIR, LocalityWaitProcess: wait, LocalityWaitNode: wait, LocalityWaitRack: wait})
	require.NoError(t, s.AddExecutor(Executor{ID: "first", Host: "host", Cores: 1}))
	require.NoError(t, s.Submit(TaskSet{ID: 1, Tasks: 1, Function: "f"}))
	first := s.Offer(start)
	require.Len(t, first, 1)
	done, events := s.Succeeded(first[0].Attempt, 2*time.Microsecond)
	require.True(t, done)
	require.IsType(t, TaskSetDone{}, events[0])
	s.RemoveExecutor("first", Loss{})
	for i := range executors {
		require.NoError(t, s.AddExecutor(Executor{ID: fmt.Sprint(i), Host: "host", Cores: 1}))
	}
	return s
}

// offerAll offers until there is no more.
func offerAll(s *Scheduler, now time.Time) []Launch {
	launches := s.Offer(now)
	for s.More() {
		launches = append(launches, s.Offer(now)...)
	}
	return launches
}

// succeed ends attempts whose tasks have no result yet.
func succeed(t *testing.T, s *Scheduler, attempts []AttemptID) {
	for _, id := range attempts {
		succeeded, _ := s.Succeeded(id, 2*time.Microsecond)
		require.True(t, succeeded)
	}
}

func TestTasksAreTakenForAsShortAsThoseBeforeThem(t *testing.T) {
	const executors, tasks = 10, 200
	for name, test := range map[string]struct {
		function string
		launches int
	}{"the same": {"f", tasks}, "another": {"g", executors}, "none is known": {"", executors}} {
		t.Run(name, func(t *testing.T) {
			s := manyExecutors(t, executors)
			require.NoError(t, s.Submit(TaskSet{ID: 2, Tasks: tasks, Function: test.function}))
			launches := s.Offer(start)
			require.Len(t, launches, test.launches)
			require.False(t, s.More())
			for i, l := range launches {
				first := i == 0 || l.Executor != launches[i-1].Executor
				require.Equal(t, !first, l.Ahead, "what is for an executor comes together, behind what has its core")
				require.Equal(t, l.Ahead, l.Last, "each has its part")
			}
			perExecutor := map[string]int{}
			for _, l := range launches {
				perExecutor[l.Executor]++
			}
			require.Len(t, perExecutor, executors)
			for _, n := range perExecutor {
				require.InDelta(t, test.launches/executors, n, 1)
			}
		})
	}
}

// partsOf are the attempts that were launched, by executor, and whether it is told
// to speak only when all of its own have ended.
func partsOf(t *testing.T, launches []Launch) (parts map[string][]AttemptID, last map[string]bool) {
	parts, last = map[string][]AttemptID{}, map[string]bool{}
	for _, l := range launches {
		parts[l.Executor] = append(parts[l.Executor], l.Attempt)
		if told, found := last[l.Executor]; found && l.Ahead {
			require.Equal(t, told, l.Last)
		}
		if l.Ahead {
			last[l.Executor] = l.Last
		}
	}
	return parts, last
}

func TestExecutorsNeedNotSpeakInTimeWhereOthersAreIdle(t *testing.T) {
	onHost := func(host string) func(int) Preferences {
		return func(int) Preferences { return Preferences{Hosts: []string{host}} }
	}
	for name, test := range map[string]struct {
		all     bool // executors have some, and come back together
		prefers func(int) Preferences
		quiet   time.Duration // before it
		after   time.Duration // they come back
		last    bool
	}{
		"others are idle":                  {after: 2 * time.Millisecond, last: true},
		"others have just been offered":    {after: time.Millisecond / 2},
		"all have some and come back":      {after: 2 * time.Millisecond, all: true},
		"there was nothing to do":          {after: time.Millisecond / 2, quiet: time.Second},
		"others of the same host are idle": {after: 2 * time.Millisecond, last: true, prefers: onHost("host")},
		"only those elsewhere are idle":    {after: 2 * time.Millisecond, prefers: onHost("far")},
		"the tasks are for that one": {after: 2 * time.Millisecond, prefers: func(int) Preferences {
			return Preferences{Executors: []string{"0"}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := manyPatientExecutors(t, 20, time.Hour)
			require.NoError(t, s.AddExecutor(Executor{ID: "alone", Host: "far", Cores: 1}))
			s.Offer(start)
			start := start.Add(test.quiet)
			s.Advance(start)
			require.NoError(t, s.Submit(TaskSet{ID: 2, Tasks: 1 << 20, Function: "f", Preferences: test.prefers}))
			launches := s.Offer(start)
			if test.all {
				launches = append(launches, offerAll(s, start)...)
			}
			parts, last := partsOf(t, launches)
			for _, told := range last {
				require.False(t, told, "nobody is known to be idle")
			}
			back := launches[0].Executor
			s.Advance(start.Add(test.after))
			for id, part := range parts {
				if id == back || test.all {
					succeed(t, s, part)
				}
			}
			parts, last = partsOf(t, s.Offer(start.Add(test.after)))
			for id, told := range last {
				require.Greater(t, len(parts[id]), 100)
				require.Equal(t, test.last, told)
			}
			require.NotEmpty(t, last)
		})
	}
}

func TestAFewTasksAreNotPutTogetherBeforeOneIsTimed(t *testing.T) {
	s := manyExecutors(t, 10)
	require.NoError(t, s.Submit(TaskSet{ID: 2, Tasks: 5, Function: "f"}))
	executors := map[string]bool{}
	for _, l := range s.Offer(start) {
		require.False(t, l.Ahead)
		executors[l.Executor] = true
	}
	require.Len(t, executors, 5)
}

func TestTasksThatProveToBeLongAreCalledBack(t *testing.T) {
	s := manyExecutors(t, 4)
	require.NoError(t, s.Submit(TaskSet{ID: 2, Tasks: 80, Function: "f"}))
	launches := s.Offer(start)
	require.Len(t, launches, 80)
	waiting := map[AttemptID]string{}
	for _, l := range launches {
		if l.Ahead {
			waiting[l.Attempt] = l.Executor
		}
	}
	require.Len(t, waiting, 76)

	called, ended, now := map[AttemptID]string{}, map[AttemptID]bool{}, start
	for len(called) == 0 {
		require.Less(t, len(ended), 20, "a fifth of them took long")
		for _, l := range launches {
			if _, ahead := waiting[l.Attempt]; ahead || ended[l.Attempt] {
				continue
			}
			now = now.Add(time.Millisecond)
			s.Advance(now)
			done, events := s.Succeeded(l.Attempt, time.Second)
			require.True(t, done)
			ended[l.Attempt] = true
			for id := range waiting { // the next ones have cores now
				if !s.Ahead(id) {
					delete(waiting, id)
				}
			}
			for _, event := range events {
				back := event.(CallBack)
				called[back.Attempt] = back.Executor
			}
			break
		}
	}
	require.Equal(t, waiting, called)
	require.Empty(t, s.Offer(now))
	for id := range called {
		events := s.Finished(id, Outcome{Result: Returned})
		require.Len(t, events, 1, "they are called back once")
		require.Zero(t, events[0].(TaskRetry).Failures)
	}
	require.Empty(t, s.Offer(now), "all cores are taken")
	for _, l := range launches {
		if waiting[l.Attempt] == "" && !ended[l.Attempt] {
			s.Succeeded(l.Attempt, time.Second)
		}
	}
	for s.Demand().RunningTasks > 0 || s.Demand().WaitingTasks > 0 {
		again := s.Offer(now)
		require.NotEmpty(t, again)
		for _, l := range again {
			require.False(t, l.Ahead)
			s.Succeeded(l.Attempt, time.Second)
		}
	}
	require.NoError(t, s.Submit(TaskSet{ID: 3, Tasks: 80, Function: "f"}))
	require.Len(t, s.Offer(now), 4, "the latest set of the function had long tasks")
}

func TestOneOfferDoesNotLaunchAMillionTasks(t *testing.T) {
	const executors, tasks = 1000, 200_000
	s := manyExecutors(t, executors)
	require.NoError(t, s.Submit(TaskSet{ID: 2, Tasks: tasks, Function: "f"}))
	launched, served, now := make([]bool, tasks), map[string]bool{}, start
	var running []AttemptID
	offer := func() {
		launches := s.Offer(now)
		if len(launches) == 0 {
			require.False(t, s.More())
		}
		for _, l := range launches {
			require.False(t, launched[l.Index])
			launched[l.Index], served[l.Executor] = true, true
			running = append(running, l.Attempt)
		}
		if len(served) < executors { // nobody asks for more
			require.LessOrEqual(t, len(launches), mostAtOnce+1+mostAhead)
		}
		s.Reuse(launches)
	}
	for len(served) < executors { // none ends: they may be long
		if offer(); !s.More() && len(served) < executors {
			deadline, found := s.NextDeadline()
			require.True(t, found)
			require.True(t, deadline.After(now))
			now = deadline
		}
	}
	require.Less(t, now.Sub(start), 300*time.Millisecond, "nobody waits for long")
	for done := 0; done < tasks; offer() {
		if s.More() {
			continue
		}
		require.NotEmpty(t, running, "something runs or is launched")
		half := (len(running) + 1) / 2
		succeed(t, s, running[:half])
		running, done = running[half:], done+half
	}
}

func TestExecutorsThatHangHoldUpNobody(t *testing.T) {
	const executors = 10
	s := manyExecutors(t, 0)
	for i := range executors {
		require.NoError(t, s.AddExecutor(Executor{ID: fmt.Sprint("large ", i), Host: "host", Cores: 200}))
	}
	require.NoError(t, s.Submit(TaskSet{ID: 2, Tasks: 1_000_000, Function: "f"}))
	served := map[string]bool{}
	offer := func(now time.Time) []Launch {
		launches := s.Offer(now)
		for _, l := range launches {
			served[l.Executor] = true
		}
		return launches
	}
	first := offer(start)
	require.True(t, s.More())
	require.Len(t, served, 1)
	require.Len(t, first, 200+mostAtOne)
	done, _ := s.Succeeded(first[0].Attempt, 2*time.Microsecond)
	require.True(t, done)
	for more := true; more; more = s.More() {
		offer(start)
	}
	require.GreaterOrEqual(t, len(served)*mostAtOne, enoughAhead)
	require.Less(t, len(served), executors)
	require.Empty(t, offer(start), "these have more than enough")
	deadline, found := s.NextDeadline()
	require.True(t, found)
	require.Equal(t, start.Add(pauseAhead), deadline)
	hang := len(served)
	launches := offer(deadline)
	require.NotEmpty(t, launches, "none of them has reported anything")
	require.Greater(t, len(served), hang)

	working := launches[0].Executor
	for now := deadline; now.Before(deadline.Add(10 * time.Millisecond)); {
		now = now.Add(time.Millisecond)
		s.Advance(now)
		for _, l := range launches {
			require.Equal(t, working, l.Executor)
			succeed(t, s, []AttemptID{l.Attempt})
		}
		launches = offer(now)
		require.Greater(t, len(launches), 200, "it has done all that it had")
	}
}

func TestFewExecutorsServeAnOwnerThatIsTheLimit(t *testing.T) {
	const executors = 1000
	for name, took := range map[string]time.Duration{"in large parts": 2 * time.Microsecond, "in small parts": 50 * time.Microsecond} {
		t.Run(name, func(t *testing.T) {
			s := manyExecutors(t, executors)
			require.NoError(t, s.Submit(TaskSet{ID: 2, Tasks: 1 << 20, Function: "f"}))
			served, parts, ended := map[string]bool{}, []string{}, 0
			running := map[string][]AttemptID{}
			for now := start; now.Before(start.Add(100 * time.Millisecond)); now = now.Add(time.Millisecond) {
				for _, l := range offerAll(s, now) {
					if len(running[l.Executor]) == 0 {
						parts = append(parts, l.Executor)
					}
					served[l.Executor] = true
					running[l.Executor] = append(running[l.Executor], l.Attempt)
				}
				s.Advance(now)
				for most := ended + 600; ended < most && len(parts) > 0; parts = parts[1:] { // that is all the owner can do
					for _, id := range running[parts[0]] {
						done, _ := s.Succeeded(id, took)
						require.True(t, done)
						ended++
					}
					delete(running, parts[0])
				}
			}
			require.Greater(t, ended, 50_000)
			require.Less(t, len(served), executors/3)
		})
	}
}

func TestAnotherSetIsServedWhereAnOfferStopped(t *testing.T) {
	s := manyExecutors(t, 1000)
	require.NoError(t, s.Submit(TaskSet{ID: 2, Tasks: 100_000, Function: "f", Pool: "large"}))
	s.Offer(start)
	require.True(t, s.More())
	require.NoError(t, s.Submit(TaskSet{ID: 3, Tasks: 1, Pool: "small"}))
	served := false
	for _, l := range s.Offer(start) {
		require.False(t, l.Ahead)
		served = served || l.TaskSet == 3
	}
	require.True(t, served)
	require.False(t, s.More())
}

func TestEachProfileIsOfferedAllThatItHas(t *testing.T) {
	s := manyExecutors(t, 0)
	for i := range 100 {
		require.NoError(t, s.AddExecutor(Executor{ID: fmt.Sprint(i), Host: "host", Cores: 1, Profile: i % 2}))
	}
	for profile := range 2 {
		require.NoError(t, s.Submit(TaskSet{ID: uint64(2 + profile), Tasks: 5000, Function: "f", Profile: profile}))
	}
	launches := offerAll(s, start)
	require.Len(t, launches, 10_000)
}

func TestOnePauseOfAnExecutorSaysOneThing(t *testing.T) {
	s := manyExecutors(t, 0)
	for i := range 2 {
		require.NoError(t, s.AddExecutor(Executor{ID: fmt.Sprint(i), Host: "host", Cores: 32}))
	}
	require.NoError(t, s.Submit(TaskSet{ID: 2, Tasks: 6000, Function: "f"}))
	launches := offerAll(s, start)
	now := start.Add(time.Second)
	s.Advance(now)
	for _, l := range launches[:32] { // which had all of its cores
		done, events := s.Succeeded(l.Attempt, 50*time.Millisecond)
		require.True(t, done)
		require.Empty(t, events)
	}
	require.True(t, s.isShort(s.sets[2]))
}

func TestWhatComesBackTogetherSaysOneThing(t *testing.T) {
	s := manyExecutors(t, 2)
	require.NoError(t, s.Submit(TaskSet{ID: 2, Tasks: 1000, Function: "f"}))
	launches := s.Offer(start)
	done, _ := s.Succeeded(launches[0].Attempt, 2*time.Microsecond)
	require.True(t, done)
	now, set := start, s.sets[2]
	for i, l := range launches[2 : 2+mostAhead/2] {
		require.True(t, l.Ahead)
		if i%4 == 0 { // a message with further ones has come
			require.True(t, i > 4 || s.isShort(set), "one message came")
			now = now.Add(time.Second)
			s.Advance(now)
		}
		s.Finished(l.Attempt, Outcome{Result: Returned})
	}
	require.False(t, s.isShort(set), "again and again")
}
