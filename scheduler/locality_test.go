package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTasksWaitForHostsOfExpectedExecutors(t *testing.T) {
	s := play(t, Config{LocalityWaitNode: 3 * time.Second}, Executor{ID: "a", Host: "hostA", Cores: 1})
	s.ExpectExecutors(true)
	s.submit(TaskSet{ID: 1, Tasks: 4, Preferences: on("hostB", "hostA", "hostB", "hostB")})
	s.at(0, "1/1@a:node-local")
	s.end("1/1", Outcome{Result: ResultSucceeded})
	s.at(time.Second)
	require.NoError(t, s.AddExecutor(Executor{ID: "b", Host: "hostB", Cores: 1}))
	s.at(2*time.Second, "1/0@b:node-local")
	s.at(4*time.Second, "1/2@a:any")
	s.end("1/2", Outcome{Result: ResultSucceeded})
	s.ExpectExecutors(false)
	s.at(5*time.Second, "1/3@a:any")
}

func TestExpectedExecutorsDelayNoTaskWithoutPreference(t *testing.T) {
	s := play(t, Config{LocalityWaitNode: 3 * time.Second}, Executor{ID: "a", Host: "hostA", Cores: 2})
	s.ExpectExecutors(true)
	s.submit(TaskSet{ID: 1, Tasks: 2, Preferences: on("", "hostB")})
	s.at(0, "1/0@a:no-pref")
	s.ExpectExecutors(false)
	s.at(time.Millisecond, "1/1@a:any")
}

func TestMostLocalTaskGoesFirst(t *testing.T) {
	s := play(t, Config{RackOf: func(host string) string { return "rack of " + host[:1] }}, Executor{ID: "a", Host: "A1", Cores: 5})
	preferences := []Preferences{
		{Hosts: []string{"B1"}}, {Hosts: []string{"A2"}}, {}, {Hosts: []string{"A1"}}, {Executors: []string{"a"}, Hosts: []string{"A1"}},
	}
	s.submit(TaskSet{ID: 1, Tasks: 5, Preferences: func(index int) Preferences { return preferences[index] }})
	s.at(0, "1/4@a:process-local", "1/3@a:node-local", "1/2@a:no-pref", "1/1@a:rack-local", "1/0@a:any")
}

func TestLevelsOpenWithTime(t *testing.T) {
	const process, node, rack = 1 * time.Second, 2 * time.Second, 4 * time.Second
	all := Config{LocalityWaitProcess: process, LocalityWaitNode: node, LocalityWaitRack: rack}
	elsewhere := Preferences{Executors: []string{"busy"}, Hosts: []string{"A1"}}
	for _, test := range []struct {
		name        string
		config      Config
		free        Executor
		preferences Preferences
		opens       time.Duration
		locality    Locality
	}{
		{"process", all, Executor{ID: "free", Host: "C1"}, Preferences{Executors: []string{"free"}}, 0, ProcessLocal},
		{"another process on the node", all, Executor{ID: "free", Host: "A1"}, elsewhere, process, NodeLocal},
		{"another node in the rack", all, Executor{ID: "free", Host: "A2"}, elsewhere, process + node, RackLocal},
		{"another rack", all, Executor{ID: "free", Host: "B1"}, elsewhere, process + node + rack, Any},
		{"no waits", Config{}, Executor{ID: "free", Host: "B1"}, elsewhere, 0, Any},
		{"no wait for the node", Config{LocalityWaitProcess: process, LocalityWaitRack: rack}, Executor{ID: "free", Host: "A2"},
			elsewhere, process, RackLocal},
		{"no executor on the node", all, Executor{ID: "free", Host: "B1"}, Preferences{Hosts: []string{"A2"}}, rack, Any},
		{"no executor in the rack", all, Executor{ID: "free", Host: "B1"}, Preferences{Hosts: []string{"C1"}}, 0, Any},
		{"no such executor", all, Executor{ID: "free", Host: "B1"}, Preferences{Executors: []string{"gone"}}, 0, Any},
		{"no preference", all, Executor{ID: "free", Host: "B1"}, Preferences{}, 0, NoPref},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.config.RackOf = func(host string) string { return host[:1] }
			test.free.Cores = 1
			s := play(t, test.config, Executor{ID: "busy", Host: "A1", Cores: 1})
			s.submit(TaskSet{ID: 1, Tasks: 1})
			s.at(0, "1/0@busy:no-pref")
			require.NoError(t, s.AddExecutor(test.free))
			s.submit(TaskSet{ID: 2, Tasks: 1, Preferences: func(int) Preferences { return test.preferences }})
			if test.opens > 0 {
				s.at(0)
				s.at(test.opens - 1)
			}
			for {
				deadline, ok := s.NextDeadline()
				if !ok || deadline.After(start.Add(test.opens-1)) {
					require.Equal(t, test.opens > 0, ok)
					if ok {
						require.Equal(t, start.Add(test.opens), deadline)
					}
					break
				}
				s.at(deadline.Sub(start))
			}
			s.at(test.opens, "2/0@free:"+test.locality.String())
			_, ok := s.NextDeadline()
			require.False(t, ok)
		})
	}
}

// This is the case of SPARK-18886: in Spark, all other hosts are idle as long as a busy host
// launches its tasks one after the other.
func TestLocalLaunchesDontKeepOtherExecutorsIdle(t *testing.T) {
	s := play(t, Config{LocalityWaitNode: 3 * time.Second}, Executor{ID: "a", Host: "A", Cores: 1}, Executor{ID: "b", Host: "B", Cores: 1})
	s.submit(TaskSet{ID: 1, Tasks: 20, Preferences: func(int) Preferences { return Preferences{Hosts: []string{"A"}} }})
	s.at(0, "1/0@a:node-local")
	s.end("1/0", success)
	s.at(1*time.Second, "1/1@a:node-local")
	s.end("1/1", success)
	s.at(2*time.Second, "1/2@a:node-local")
	deadline, ok := s.NextDeadline()
	require.True(t, ok)
	require.Equal(t, start.Add(3*time.Second), deadline)
	s.at(3*time.Second, "1/3@b:any")
	s.end("1/3", success)
	s.at(3*time.Second, "1/4@b:any")
	s.end("1/2", success)
	s.at(4*time.Second, "1/5@a:node-local")
	s.end("1/4", success)
	s.at(4*time.Second, "1/6@b:any")
}

func TestDelayClockStopsWhileNoCoreIsUnused(t *testing.T) {
	s := play(t, Config{LocalityWaitNode: 3 * time.Second})
	s.submit(TaskSet{ID: 1, Tasks: 4, Preferences: on("A", "A", "A", "A")})
	s.at(0)
	hour := time.Hour
	require.NoError(t, s.AddExecutor(Executor{ID: "a", Host: "A", Cores: 1}))
	s.at(hour, "1/0@a:node-local")
	require.NoError(t, s.AddExecutor(Executor{ID: "b", Host: "B", Cores: 1}))
	s.at(hour + time.Second) // b is unused: the delay clock starts
	s.RemoveExecutor("b", Loss{})
	s.end("1/0", success)
	s.at(hour+2*time.Second, "1/1@a:node-local") // the delay clock has run for 1 s
	require.NoError(t, s.AddExecutor(Executor{ID: "c", Host: "C", Cores: 1}))
	s.at(2 * hour)
	s.at(2*hour + 2*time.Second - 1)
	s.at(2*hour+2*time.Second, "1/2@c:any")
}

func TestEarlierTimeIsIgnored(t *testing.T) {
	s := play(t, Config{LocalityWaitNode: 3 * time.Second}, Executor{ID: "a", Host: "A", Cores: 1}, Executor{ID: "b", Host: "B", Cores: 1})
	s.submit(TaskSet{ID: 1, Tasks: 2, Preferences: on("A", "A")})
	s.at(10*time.Second, "1/0@a:node-local")
	s.at(0)
	s.at(13*time.Second - 1)
	s.at(13*time.Second, "1/1@b:any")
}

func TestLiveLevelsFollowExecutors(t *testing.T) {
	s := play(t, Config{LocalityWaitNode: 3 * time.Second}, Executor{ID: "a", Host: "A", Cores: 1}, Executor{ID: "b", Host: "B", Cores: 1})
	s.submit(TaskSet{ID: 1, Tasks: 3, Preferences: on("A", "A", "C")})
	s.at(0, "1/0@a:node-local")
	s.DecommissionExecutor("a")
	s.at(1*time.Second, "1/1@b:any") // no waiting task prefers a remaining executor
	require.NoError(t, s.AddExecutor(Executor{ID: "c", Host: "C", Cores: 1}))
	s.end("1/1", success)
	s.at(1*time.Second, "1/2@c:node-local")
}

func TestLastTaskOfHostOpensNextLevel(t *testing.T) {
	s := play(t, Config{LocalityWaitNode: 3 * time.Second}, Executor{ID: "a", Host: "A", Cores: 1}, Executor{ID: "b", Host: "B", Cores: 1})
	s.submit(TaskSet{ID: 1, Tasks: 1})
	s.at(0, "1/0@a:no-pref")
	s.submit(TaskSet{ID: 2, Tasks: 2, Preferences: on("A", "nowhere")})
	s.at(0)
	s.end("1/0", success)
	s.at(1, "2/0@a:node-local", "2/1@b:any")
}

func TestExecutorsBecomeRackLocalWhenRackIsLearned(t *testing.T) {
	s := play(t, Config{LocalityWaitNode: time.Second, LocalityWaitRack: time.Second},
		Executor{ID: "a", Host: "A", Rack: "left", Cores: 1}, Executor{ID: "b", Host: "B", Cores: 2})
	s.submit(TaskSet{ID: 1, Tasks: 3, Preferences: on("A", "A", "A")})
	s.at(0, "1/0@a:node-local")
	s.at(time.Second) // the level is open, but the rack of b is not known
	require.NoError(t, s.AddExecutor(Executor{ID: "b2", Host: "B", Rack: "left", Cores: 1}))
	s.DecommissionExecutor("b2")
	s.at(time.Second, "1/1@b:rack-local", "1/2@b:rack-local")
}

func TestHostsOfRackAlternate(t *testing.T) {
	s := play(t, Config{RackOf: func(string) string { return "rack" }}, Executor{ID: "a", Host: "A", Cores: 2})
	preferences := []Preferences{
		{Hosts: []string{"X"}}, {Hosts: []string{"X"}}, {Hosts: []string{"A"}}, {Hosts: []string{"Y"}}, {Hosts: []string{"Z", "A"}},
	}
	s.submit(TaskSet{ID: 1, Tasks: 5, Preferences: func(index int) Preferences { return preferences[index] }})
	s.at(0, "1/2@a:node-local", "1/4@a:node-local")
	s.end("1/2", success)
	s.end("1/4", success)
	s.at(0, "1/0@a:rack-local", "1/3@a:rack-local")
	s.end("1/0", success)
	s.at(0, "1/1@a:rack-local")
}

// When the rotation of the rack reaches host Z, Z has no waiting task. The task that prefers X
// must not run on b again. So pop must find the task that prefers Y.
func TestHostWithoutTasksIsSkipped(t *testing.T) {
	s := play(t, Config{RackOf: func(string) string { return "rack" }}, Executor{ID: "a", Host: "A", Cores: 1})
	s.submit(TaskSet{ID: 1, Tasks: 1})
	s.at(0, "1/0@a:no-pref")
	require.NoError(t, s.AddExecutor(Executor{ID: "b", Host: "B", Cores: 5}))
	s.submit(TaskSet{ID: 2, Tasks: 6, Preferences: on("Z", "Y", "X", "Z", "Y", "Y")})
	s.at(0, "2/0@b:rack-local", "2/1@b:rack-local", "2/2@b:rack-local", "2/3@b:rack-local", "2/4@b:rack-local")
	s.end("2/2", failed)
	s.at(0, "2/5@b:rack-local")
}
