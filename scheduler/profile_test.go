package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTasksRunOnExecutorsOfTheirProfile(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 2}, Executor{ID: "g", Host: "A", Cores: 1, Profile: 2})
	s.submit(TaskSet{ID: 1, Tasks: 2, Profile: 2, Preferences: on("A", "B")})
	s.submit(TaskSet{ID: 2, Tasks: 3, Preferences: on("A", "", "")})
	s.submit(TaskSet{ID: 3, Tasks: 1, Profile: 1})
	s.at(0, "2/0@a:node-local", "2/1@a:no-pref", "1/0@g:node-local")
	require.Len(t, s.profiles, 3)
	require.Equal(t, Demand{WaitingTasks: 1, WaitingCPUs: 1, RunningTasks: 2, RunningCPUs: 2}, s.DemandOf(0))
	require.Equal(t, Demand{WaitingTasks: 1, WaitingCPUs: 1}, s.DemandOf(1))
	require.Equal(t, Demand{WaitingTasks: 1, WaitingCPUs: 1, RunningTasks: 1, RunningCPUs: 1, TasksWithPreferences: 1}, s.DemandOf(2))
	require.Zero(t, s.DemandOf(7))
	require.Empty(t, s.PreferredHostsOf(0))
	require.Equal(t, map[string]int{"B": 1}, s.PreferredHostsOf(2))
	require.Empty(t, s.PreferredHostsOf(7))
	s.end("2/0", success)
	s.at(0, "2/2@a:no-pref")
}

func TestRackIsLearnedForAllProfiles(t *testing.T) {
	s := play(t, Config{LocalityWaitRack: 1}, Executor{ID: "a", Host: "A", Rack: "left", Cores: 1, Profile: 1},
		Executor{ID: "b", Host: "A", Cores: 1}, Executor{ID: "c", Host: "C", Cores: 1})
	s.submit(TaskSet{ID: 1, Tasks: 1, Preferences: on("B")})
	require.NoError(t, s.AddExecutor(Executor{ID: "d", Host: "B", Rack: "left", Cores: 1, Profile: 1}))
	s.at(0, "1/0@b:rack-local")
}
