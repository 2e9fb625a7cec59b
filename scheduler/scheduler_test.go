package scheduler

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var start = time.Unix(1_000_000, 0)

// script passes events to a scheduler. It represents a launch as the text
// "set/index@executor:locality".
type script struct {
	*testing.T
	*Scheduler
	launched map[string]Launch // the latest attempt of each task, by "set/index"
}

func play(t *testing.T, config Config, executors ...Executor) *script {
	s := &script{t, New(config), map[string]Launch{}}
	for _, e := range executors {
		require.NoError(t, s.AddExecutor(e))
	}
	return s
}

// at makes an offer at a time after the start and checks what it launches.
func (s *script) at(after time.Duration, expected ...string) {
	s.Helper()
	var names []string
	for _, l := range launched(s.Scheduler, start.Add(after)) {
		names = append(names, fmt.Sprintf("%d/%d@%s:%s", l.TaskSet, l.Index, l.Executor, l.Locality))
		s.launched[fmt.Sprintf("%d/%d", l.TaskSet, l.Index)] = l
	}
	require.Equal(s, expected, names)
}

// launched returns the launches of an offer.
func launched(s *Scheduler, now time.Time) []Launch {
	launches, _ := s.Offer(now)
	return launches
}

// end ends the latest attempt of a task, named "set/index".
func (s *script) end(task string, outcome Outcome) []Event {
	s.Helper()
	l, ok := s.launched[task]
	require.True(s, ok, "task %s was not launched", task)
	return s.Finished(l.Attempt, outcome)
}

func (s *script) submit(set TaskSet) {
	s.Helper()
	if s.config.Exclusion.Enabled {
		set.MaxFailures = cmp.Or(set.MaxFailures, 9)
	}
	require.NoError(s, s.Submit(set))
}

// on returns preferences for one host for each task; "" means no preference.
func on(hosts ...string) func(int) Preferences {
	return func(index int) Preferences {
		if hosts[index] == "" {
			return Preferences{}
		}
		return Preferences{Hosts: []string{hosts[index]}}
	}
}

var (
	failed  = Outcome{Result: ResultFailed, Reason: "broken", CountsAsFailure: true}
	success = Outcome{Result: ResultSucceeded}
)

func TestSetsAreServedInOrder(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 3})
	s.submit(TaskSet{ID: 7, Tasks: 2})
	s.submit(TaskSet{ID: 3, Tasks: 2})
	s.at(0, "7/0@a:no-pref", "7/1@a:no-pref", "3/0@a:no-pref")
	s.end("3/0", failed)
	s.submit(TaskSet{ID: 1, Tasks: 1})
	s.at(0, "3/0@a:no-pref")
	s.end("7/0", failed)
	s.at(0, "7/0@a:no-pref")
	s.end("7/0", success)
	s.end("7/1", success)
	s.at(0, "3/1@a:no-pref", "1/0@a:no-pref")
}

func TestLaterSetsTakeCoresThatEarlierSetsCannotUse(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 3})
	s.submit(TaskSet{ID: 1, Tasks: 2, CPUs: 2})
	s.submit(TaskSet{ID: 2, Tasks: 2, CPUs: 1})
	s.at(0, "1/0@a:no-pref", "2/0@a:no-pref")
	s.end("1/0", success)
	s.at(0, "1/1@a:no-pref")
}

func TestTasksSpreadOverExecutors(t *testing.T) {
	s := play(t, Config{},
		Executor{ID: "a", Host: "A", Cores: 2}, Executor{ID: "b", Host: "A", Cores: 2}, Executor{ID: "c", Host: "C", Cores: 2})
	s.submit(TaskSet{ID: 1, Tasks: 3})
	s.at(0, "1/0@a:no-pref", "1/1@b:no-pref", "1/2@c:no-pref")
	s.submit(TaskSet{ID: 2, Tasks: 2})
	s.at(0, "2/0@a:no-pref", "2/1@b:no-pref")
	s.end("1/2", success)
	s.end("1/0", success)
	s.submit(TaskSet{ID: 3, Tasks: 4})
	s.at(0, "3/0@c:no-pref", "3/1@a:no-pref", "3/2@c:no-pref")

	for _, executors := range []int{2, 20} { // fewer executors than preferred locations with tasks, and more
		s := play(t, Config{})
		for i := range executors {
			require.NoError(t, s.AddExecutor(Executor{ID: fmt.Sprint(i), Host: fmt.Sprint("host", i/2), Cores: 4}))
		}
		s.submit(TaskSet{ID: 1, Tasks: 6, Preferences: on("host0", "host0", "host0", "host0", "host0", "host0")})
		s.at(0, "1/0@0:node-local", "1/1@1:node-local", "1/2@0:node-local", "1/3@1:node-local", "1/4@0:node-local", "1/5@1:node-local")
	}
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

func TestFailedTaskAvoidsHostAndExecutor(t *testing.T) {
	a, a2 := Executor{ID: "a", Host: "A", Cores: 1}, Executor{ID: "a2", Host: "A", Cores: 1}
	b, small := Executor{ID: "b", Host: "B", Cores: 1}, Executor{ID: "small", Host: "B", Cores: 1}
	for _, test := range []struct {
		name      string
		executors []Executor
		cpus      int
		expected  string
	}{
		{"to another host rather than another executor", []Executor{a, a2, b}, 1, "2/0@b:any"},
		{"to another executor of the only host", []Executor{a, a2}, 1, "2/0@a2:node-local"},
		{"back to the only executor", []Executor{a}, 1, "2/0@a:node-local"},
		{"back to the only executor that is large enough", []Executor{{ID: "a", Host: "A", Cores: 2}, small}, 2, "2/0@a:node-local"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := play(t, Config{}, test.executors[0])
			s.submit(TaskSet{ID: 2, Tasks: 1, CPUs: test.cpus, Preferences: on("A")})
			s.at(0, "2/0@a:node-local")
			for _, e := range test.executors[1:] {
				require.NoError(t, s.AddExecutor(e))
			}
			require.Equal(t, []Event{AttemptEnded{TaskSet: 2, Attempt: 1, Failures: 1, Reason: "broken"}}, s.end("2/0", failed))
			s.at(0, test.expected)
			require.Equal(t, 1, s.launched["2/0"].Number)
		})
	}
}

func TestFailedTaskWaitsForAnotherExecutor(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 1}, Executor{ID: "b", Host: "B", Cores: 1})
	s.submit(TaskSet{ID: 1, Tasks: 3})
	s.at(0, "1/0@a:no-pref", "1/1@b:no-pref")
	s.end("1/0", failed)
	s.at(0, "1/2@a:no-pref")
	s.end("1/2", success)
	s.at(0)
	s.DecommissionExecutor("b")
	s.at(0, "1/0@a:no-pref")
}

func TestRetriesGoFirst(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 2})
	s.submit(TaskSet{ID: 1, Tasks: 4})
	s.at(0, "1/0@a:no-pref", "1/1@a:no-pref")
	s.end("1/1", Outcome{Result: ResultKilled})
	s.end("1/0", Outcome{Result: ResultKilled})
	s.at(0, "1/1@a:no-pref", "1/0@a:no-pref")
	require.Equal(t, 1, s.launched["1/0"].Number)
}

func TestFailures(t *testing.T) {
	uncounted := Outcome{Result: ResultFailed, Reason: "not its fault"}
	killed := Outcome{Result: ResultKilled, Reason: "asked for"}
	for _, test := range []struct {
		name     string
		limit    int
		outcomes []Outcome
		failures int
		over     bool
	}{
		{"the default is 4", 0, []Outcome{failed, failed, failed, failed}, 4, true},
		{"not before the default", 0, []Outcome{failed, failed, failed}, 3, false},
		{"limit reached", 2, []Outcome{failed, failed}, 2, true},
		{"limit not reached", 3, []Outcome{failed, failed}, 2, false},
		{"no retry", 1, []Outcome{failed}, 1, true},
		{"others don't count", 2, []Outcome{failed, uncounted, killed, uncounted}, 1, false},
		{"others don't count between", 2, []Outcome{uncounted, failed, killed, failed}, 2, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 2})
			s.submit(TaskSet{ID: 1, Name: "count", Tasks: 2, MaxFailures: test.limit})
			s.at(0, "1/0@a:no-pref", "1/1@a:no-pref")
			for i, outcome := range test.outcomes {
				events := s.end("1/1", outcome)
				if test.over && i == len(test.outcomes)-1 {
					require.Equal(t, []Event{
						TaskSetFailed{TaskSet: 1, Index: 1, Attempt: s.launched["1/1"].Attempt, FailureCount: test.failures, Reason: "broken"},
						KillAttempt{Attempt: 1, Executor: "a", Reason: fmt.Sprintf("task 1 of count failed %d times", test.failures)},
					}, events)
					require.Equal(t, 1, s.Demand().RunningTasks, "the other attempt uses its core until it is reported")
					require.Empty(t, s.end("1/0", success), "a late success is ignored")
					require.Zero(t, s.Demand())
					require.Empty(t, s.Snapshot().TaskSets)
					s.at(0)
					return
				}
				require.Len(t, events, 1)
				require.Equal(t, outcome.Reason, events[0].(AttemptEnded).Reason)
				s.at(0, "1/1@a:no-pref")
			}
			require.Equal(t, len(test.outcomes), s.launched["1/1"].Number)
		})
	}
}

func TestSetIsDoneWithLastResult(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 2})
	s.submit(TaskSet{ID: 1, Name: "count", Tasks: 2})
	s.at(0, "1/0@a:no-pref", "1/1@a:no-pref")
	require.Equal(t, []Event{TaskDone{TaskSet: 1, Index: 1, Attempt: 2}}, s.end("1/1", success))
	require.Empty(t, s.end("1/1", success), "an attempt ends once")
	require.Equal(t, []Event{
		TaskDone{TaskSet: 1, Index: 0, Attempt: 1},
		TaskSetDone{TaskSet: 1},
	}, s.end("1/0", success))
	s.submit(TaskSet{ID: 1, Name: "the id is free again", Tasks: 1})
}

func TestExecutorLoss(t *testing.T) {
	for _, counts := range []bool{false, true} {
		t.Run(fmt.Sprintf("counts=%t", counts), func(t *testing.T) {
			s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 2}, Executor{ID: "b", Host: "B", Cores: 1})
			s.submit(TaskSet{ID: 1, Tasks: 3, MaxFailures: 2})
			s.at(0, "1/0@a:no-pref", "1/1@b:no-pref", "1/2@a:no-pref")
			failures := 0
			if counts {
				failures = 1
			}
			require.Equal(t, []Event{
				AttemptEnded{TaskSet: 1, Index: 0, Attempt: 1, Failures: failures, Reason: "lost"},
				AttemptEnded{TaskSet: 1, Index: 2, Attempt: 3, Failures: failures, Reason: "lost"},
			}, s.RemoveExecutor("a", Loss{Reason: "lost", CountsAsFailure: counts}))
			require.Empty(t, s.RemoveExecutor("a", Loss{}), "it is gone")
			require.Empty(t, s.end("1/0", success), "what it sent before comes late")
			s.at(0)
			require.NoError(t, s.AddExecutor(Executor{ID: "a", Host: "A", Cores: 2}))
			if counts {
				s.at(0) // the tasks avoid host A while B has an executor
				s.RemoveExecutor("b", Loss{Reason: "lost", CountsAsFailure: counts})
				s.at(0, "1/0@a:no-pref", "1/2@a:no-pref")
				require.IsType(t, TaskSetFailed{}, s.RemoveExecutor("a", Loss{CountsAsFailure: true})[0])
				return
			}
			s.at(0, "1/0@a:no-pref", "1/2@a:no-pref")
		})
	}
}

func TestDecommissioningExecutorFinishesItsTasks(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 2})
	s.submit(TaskSet{ID: 1, Tasks: 1})
	s.at(0, "1/0@a:no-pref")
	s.DecommissionExecutor("a")
	s.submit(TaskSet{ID: 2, Tasks: 1})
	s.at(0)
	require.Len(t, s.end("1/0", success), 2)
	s.at(0)
	require.Equal(t, []ExecutorStatus{{Executor: Executor{ID: "a", Host: "A", Cores: 2}, FreeCores: 2, Decommissioning: true}}, s.Snapshot().Executors)
	require.Empty(t, s.RemoveExecutor("a", Loss{}))
	require.Empty(t, s.Snapshot().Executors)
}

func TestCancel(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 2})
	s.submit(TaskSet{ID: 1, Tasks: 3, Preferences: on("A", "A", "B")})
	s.at(0, "1/0@a:node-local", "1/1@a:node-local")
	require.Equal(t, []Event{
		KillAttempt{Attempt: 1, Executor: "a", Reason: "changed my mind"},
		KillAttempt{Attempt: 2, Executor: "a", Reason: "changed my mind"},
	}, s.Cancel(1, "changed my mind"))
	require.Empty(t, s.Cancel(1, "again"))
	require.Equal(t, Demand{RunningTasks: 2, RunningCPUs: 2}, s.Demand())
	require.Empty(t, s.PreferredHosts())
	s.submit(TaskSet{ID: 1, Tasks: 1})
	s.at(0)
	require.Empty(t, s.end("1/0", Outcome{Result: ResultKilled}))
	s.at(0, "1/0@a:no-pref")
}

func TestDemand(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 3})
	s.submit(TaskSet{ID: 1, Tasks: 3, CPUs: 2, Preferences: func(int) Preferences { return Preferences{Hosts: []string{"A", "B", "A"}} }})
	require.Equal(t, Demand{WaitingTasks: 3, WaitingCPUs: 6, TasksWithPreferences: 3}, s.Demand())
	require.Equal(t, map[string]int{"A": 3, "B": 3}, s.PreferredHosts())
	s.at(0, "1/0@a:node-local")
	require.Equal(t, Demand{WaitingTasks: 2, WaitingCPUs: 4, RunningTasks: 1, RunningCPUs: 2, TasksWithPreferences: 2}, s.Demand())
	require.Equal(t, map[string]int{"A": 2, "B": 2}, s.PreferredHosts())
}

func TestInvalidInputIsRefused(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 1})
	s.submit(TaskSet{ID: 1, Name: "first", Tasks: 1})
	for _, test := range []struct {
		err      error
		expected string
	}{
		{s.AddExecutor(Executor{Host: "B", Cores: 1}), `executor on host "B": it has no id`},
		{s.AddExecutor(Executor{ID: "b", Cores: 1}), `executor b: it has no host`},
		{s.AddExecutor(Executor{ID: "b", Host: "B"}), `executor b on host B: it has 0 cores, which must be 1 to 65536`},
		{s.AddExecutor(Executor{ID: "b", Host: "B", Cores: 65537}), `executor b on host B: it has 65537 cores, which must be 1 to 65536`},
		{s.AddExecutor(Executor{ID: "a", Host: "B", Cores: 1}), `executor a on host B: one with this id is there already, on host A`},
		{s.Submit(TaskSet{ID: 1, Name: "second", Tasks: 1}), `task set 1 (second): one with this id, "first", has not ended`},
		{s.Submit(TaskSet{ID: 2, Name: "x"}), `task set 2 (x): it has 0 tasks, which must be 1 to 2147483647`},
		{s.Submit(TaskSet{ID: 2, Name: "x", Tasks: 1, CPUs: -1}), `task set 2 (x): its tasks take -1 cores each, which must not be negative`},
		{s.Submit(TaskSet{ID: 2, Name: "x", Tasks: 1, MaxFailures: -1}), `task set 2 (x): its tasks may fail -1 times, which must not be negative`},
	} {
		require.EqualError(t, test.err, test.expected)
	}
}
