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
