package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// farm returns a scheduler with executors of 4 cores, one on each host, and racks
// of 100 hosts.
func farm(t testing.TB, config Config, executors int) *Scheduler {
	config.RackOf = func(host string) string { return "rack of " + host[:len(host)-2] }
	s := New(config)
	for i := range executors {
		require.NoError(t, s.AddExecutor(Executor{ID: fmt.Sprint("e", i), Host: farmHost(i), Cores: 4}))
	}
	return s
}

func farmHost(i int) string { return fmt.Sprintf("host%06d", i) }

// replicas spreads the preferred hosts of tasks as HDFS spreads block replicas: three hosts for
// each task, two of them in one rack.
func replicas(hosts int) func(int) Preferences {
	names := make([]string, hosts)
	for i := range names {
		names[i] = farmHost(i)
	}
	return func(index int) Preferences {
		first := int(uint32(index) * 2654435761 % uint32(hosts))
		second := int(uint32(index+1) * 2246822519 % uint32(hosts))
		return Preferences{Hosts: []string{names[first], names[second], names[(second+1)%hosts]}}
	}
}

// A million tasks run on a thousand executors. Some tasks fail, some executors are
// lost. Every task has one result, and most are node-local.
func TestSessionOfAMillionTasks(t *testing.T) {
	const executors, tasksPerSet = 1000, 50_000
	sets := 20
	if raceEnabled || testing.Short() {
		sets = 2
	}
	s := farm(t, Config{LocalityWaitNode: 3 * time.Second, LocalityWaitRack: 3 * time.Second}, executors)
	now := time.Unix(0, 0)
	done := make([]int, sets)
	finished, retries, attempts := 0, 0, 0
	var running []Launch
	local := 0
	handle := func(events []Event) {
		for _, event := range events {
			switch event := event.(type) {
			case TaskDone:
				done[event.TaskSet]++
			case AttemptEnded:
				retries++
			case TaskSetDone:
				finished++
			default:
				require.Failf(t, "unexpected event", "%#v", event)
			}
		}
	}
	for id := range sets {
		require.NoError(t, s.Submit(TaskSet{ID: uint64(id), Tasks: tasksPerSet, Preferences: replicas(executors), MaxFailures: 8}))
	}
	for finished < sets {
		launches := launched(s, now)
		attempts += len(launches)
		for _, l := range launches {
			if l.Locality == NodeLocal {
				local++
			}
		}
		running = append(running, launches...)
		require.NotEmpty(t, running, "the session stands still at %s", now)
		// One attempt ends every millisecond.
		a := running[0]
		running = running[1:]
		now = now.Add(time.Millisecond)
		switch {
		case a.Attempt%9973 == 0:
			handle(s.RemoveExecutor(a.Executor, Loss{Reason: "preempted"}))
			require.NoError(t, s.AddExecutor(Executor{ID: fmt.Sprint("again", a.Attempt), Host: farmHost(int(a.Attempt % executors)), Cores: 4}))
		case a.Attempt%997 == 0:
			handle(s.Finished(a.Attempt, Outcome{Result: ResultFailed, Reason: "unlucky", CountsAsFailure: true}))
		default:
			handle(s.Finished(a.Attempt, Outcome{Result: ResultSucceeded}))
		}
	}
	for id, n := range done {
		require.Equal(t, tasksPerSet, n, "results of set %d", id)
	}
	require.Equal(t, sets*tasksPerSet+retries, attempts)
	require.Greater(t, local, attempts*9/10, "most tasks are node-local")
	require.Zero(t, s.Demand())
}
