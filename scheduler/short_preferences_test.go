package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// onHosts is a scheduler with so many executors of one core on each of some hosts, for
// which tasks of the function f are known to be short.
func onHosts(t *testing.T, hosts, each int) *Scheduler {
	s := manyExecutors(t, 0)
	for i := range hosts * each {
		require.NoError(t, s.AddExecutor(Executor{ID: fmt.Sprint(i), Host: hostOf(i % hosts), Cores: 1}))
	}
	return s
}

func hostOf(i int) string { return fmt.Sprint("host ", i) }

func TestShortTasksThatPreferHostsGoExecutorByExecutor(t *testing.T) {
	const hosts, each, tasks = 100, 10, 200_000
	s := onHosts(t, hosts, each)
	require.NoError(t, s.Submit(TaskSet{ID: 2, Tasks: tasks, Function: "f", Preferences: func(i int) Preferences {
		return Preferences{Hosts: []string{hostOf(i % hosts)}}
	}}))
	launched, had := make([]bool, tasks), map[string]bool{}
	var running []AttemptID
	for done := 0; done < tasks; {
		launches := s.Offer(start)
		before := ""
		for _, l := range launches {
			require.False(t, launched[l.Index])
			launched[l.Index] = true
			require.Equal(t, NodeLocal, l.Locality)
			require.Equal(t, hostOf(l.Index%hosts), s.executors[l.Executor].Host)
			require.True(t, !l.Ahead || l.Executor == before || had[l.Executor], "what goes ahead comes with what else the executor gets")
			before = l.Executor
			running = append(running, l.Attempt)
		}
		first := 0 // attempts of executors that had none: others ask for more
		for _, l := range launches {
			if !had[l.Executor] {
				first++
			}
		}
		require.LessOrEqual(t, first, mostAtOnce+1+mostAhead)
		for _, l := range launches {
			had[l.Executor] = true
		}
		s.Reuse(launches)
		if s.More() {
			continue
		}
		require.NotEmpty(t, running, "something runs or is launched")
		half := (len(running) + 1) / 2
		succeed(t, s, running[:half])
		running, done = running[half:], done+half
	}
}

// endAndOfferAll ends attempts, of which some may have ended before, and offers what
// there is then.
func endAndOfferAll(s *Scheduler, now time.Time, launches []Launch) []Launch {
	s.Advance(now)
	for _, l := range launches {
		s.Succeeded(l.Attempt, 2*time.Microsecond)
	}
	return offerAll(s, now)
}

func TestShortTasksWaitForTheirExecutorBeforeItsHost(t *testing.T) {
	for name, executorOf := range map[string]func(int) int{
		"both executors have tasks of their own": func(i int) int { return i % 2 },
		"one has next to none":                   func(i int) int { return min(i, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			s := manyExecutors(t, 4)
			require.NoError(t, s.Submit(TaskSet{ID: 2, Tasks: 1000, Function: "f", Preferences: func(i int) Preferences {
				return Preferences{Executors: []string{fmt.Sprint(executorOf(i))}, Hosts: []string{"host"}}
			}}))
			s.waits[ProcessLocal] = time.Minute
			perExecutor := map[string]int{}
			for _, l := range offerAll(s, start) {
				require.Equal(t, ProcessLocal, l.Locality)
				perExecutor[l.Executor]++
			}
			require.Len(t, perExecutor, 2, "the others are not close enough yet")
		})
	}
}

func TestShortTasksThatTakeAllTheyAreOfferedDoNotWait(t *testing.T) {
	s := onHosts(t, 2, 1)
	s.waits[NodeLocal] = 3 * time.Second
	require.NoError(t, s.Submit(TaskSet{ID: 2, Tasks: 200_000, Function: "f", Preferences: func(int) Preferences {
		return Preferences{Hosts: []string{hostOf(0)}}
	}}))
	now, launches := start, offerAll(s, start)
	require.True(t, s.sets[2].delay.running, "an executor of another host is left")
	s.RemoveExecutor("1", Loss{})
	for range 40 {
		now = now.Add(100 * time.Millisecond)
		launches = endAndOfferAll(s, now, launches)
	}
	require.NoError(t, s.AddExecutor(Executor{ID: "new", Host: hostOf(1), Cores: 1}))
	require.Empty(t, offerAll(s, now), "it has yet to wait for its host")
}

func TestTasksThatCameBackAndMustWaitHoldUpNobody(t *testing.T) {
	const tasks = 60_000
	byHost := func(i int) Preferences { return Preferences{Hosts: []string{hostOf(i % 3)}} }
	for name, test := range map[string]struct {
		hosts   int // the three executors are on so many
		waits   time.Duration
		prefers func(int) Preferences
	}{
		"for any executor, after those of hosts": {3, 0, byHost},
		"for a host, until it is its turn":       {3, time.Minute, byHost},
		"for a host, after those of executors": {1, time.Minute, func(i int) Preferences {
			return Preferences{Executors: []string{fmt.Sprint(i % 3)}, Hosts: []string{hostOf(0)}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := manyExecutors(t, 0)
			for i := range 3 {
				require.NoError(t, s.AddExecutor(Executor{ID: fmt.Sprint(i), Host: hostOf(i % test.hosts), Cores: 1}))
			}
			for level := range s.waits {
				s.waits[level] = test.waits
			}
			require.NoError(t, s.Submit(TaskSet{ID: 2, Tasks: tasks, Function: "f", Preferences: test.prefers}))
			now, running := start, offerAll(s, start)
			s.RemoveExecutor("2", Loss{})
			require.Positive(t, s.sets[2].returned)
			most := 0
			for range 200 {
				now = now.Add(100 * time.Microsecond)
				running = endAndOfferAll(s, now, running)
				most = max(most, len(running))
			}
			require.LessOrEqual(t, s.sets[2].waiting, tasks/3, "all that is close to the others has gone")
			require.Greater(t, most, mostAhead/2, "in few messages")
		})
	}
}

func TestWhatComesBackHoldsUpOnlyThoseWhoMayRunIt(t *testing.T) {
	const hosts, tasks = 3, 30_000
	s := onHosts(t, hosts, 1)
	require.NoError(t, s.Submit(TaskSet{ID: 2, Tasks: tasks, Function: "f", Preferences: func(i int) Preferences {
		return Preferences{Hosts: []string{hostOf(i % hosts)}}
	}}))
	s.waits[NodeLocal] = time.Minute
	attempts := map[string][]AttemptID{}
	offer := func() (launched map[string][]int) {
		launched = map[string][]int{}
		for _, l := range offerAll(s, start) {
			attempts[l.Executor] = append(attempts[l.Executor], l.Attempt)
			launched[l.Executor] = append(launched[l.Executor], l.Index)
		}
		return launched
	}
	first := offer()
	for i := range hosts {
		require.Greater(t, len(first[fmt.Sprint(i)]), mostAhead/2)
	}
	back := attempts["0"][1]
	s.Finished(back, Outcome{Result: Returned})
	end := func(executor string, keep int) {
		for _, id := range attempts[executor][:len(attempts[executor])-keep] {
			if id != back {
				done, _ := s.Succeeded(id, 2*time.Microsecond)
				require.True(t, done)
			}
		}
		attempts[executor] = attempts[executor][len(attempts[executor])-keep:]
	}
	end("0", 10)
	end("1", 10)
	second := offer()
	require.Empty(t, second["0"], "the task that came back is to have its next core")
	require.Greater(t, len(second["1"]), mostAhead/2, "which could not run that task")
	end("0", 0)
	third := offer()
	require.Equal(t, []int{first["0"][1]}, third["0"][:1], "it goes first")
	require.Greater(t, len(third["0"]), mostAhead/2, "and others behind it")
}
