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
	launched := make([]bool, tasks)
	var running []AttemptID
	for done := 0; done < tasks; {
		launches := s.Offer(start)
		require.LessOrEqual(t, len(launches), mostAtOnce+1+mostAhead)
		before := ""
		for _, l := range launches {
			require.False(t, launched[l.Index])
			launched[l.Index] = true
			require.Equal(t, NodeLocal, l.Locality)
			require.Equal(t, hostOf(l.Index%hosts), s.executors[l.Executor].Host)
			require.True(t, !l.Ahead || l.Executor == before, "what goes ahead comes with what else the executor gets")
			before = l.Executor
			running = append(running, l.Attempt)
		}
		s.Reuse(launches)
		if s.More() {
			continue
		}
		require.NotEmpty(t, running, "something runs or is launched")
		half := (len(running) + 1) / 2
		for _, id := range running[:half] {
			succeeded, _ := s.Succeeded(id, 2*time.Microsecond)
			require.True(t, succeeded)
			done++
		}
		running = running[half:]
	}
}

func TestShortTasksWaitForTheirExecutorBeforeItsHost(t *testing.T) {
	s := manyExecutors(t, 4)
	require.NoError(t, s.Submit(TaskSet{ID: 2, Tasks: 400, Function: "f", Preferences: func(i int) Preferences {
		return Preferences{Executors: []string{fmt.Sprint(i % 2)}, Hosts: []string{"host"}}
	}}))
	s.waits[ProcessLocal] = time.Minute
	perExecutor := map[string]int{}
	for _, l := range s.Offer(start) {
		require.Equal(t, ProcessLocal, l.Locality)
		require.Equal(t, fmt.Sprint(l.Index%2), l.Executor)
		perExecutor[l.Executor]++
	}
	require.Len(t, perExecutor, 2, "the others are not close enough yet")
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
		for more := true; more; more = s.More() {
			for _, l := range s.Offer(start) {
				attempts[l.Executor] = append(attempts[l.Executor], l.Attempt)
				launched[l.Executor] = append(launched[l.Executor], l.Index)
			}
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

func TestPauseOfANodeDoesNotMakeShortTasksLong(t *testing.T) {
	const ahead = time.Millisecond
	p := pace{}
	for range 10_000 {
		p.add(time.Microsecond, ahead)
	}
	for range 10 {
		p.add(20*time.Millisecond, ahead)
	}
	require.Less(t, p.mean(), 3*time.Microsecond)
	for range 10_000 {
		p.add(time.Microsecond, ahead)
	}
	require.InDelta(t, time.Microsecond, p.mean(), 100)

	long := 0
	for ; p.mean() <= ahead; long++ {
		p.add(time.Second, ahead)
	}
	require.LessOrEqual(t, long, 100, "tasks that have become long are noticed")
}
