package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func (s *script) addressesAt(expected ...map[string][]string) {
	s.Helper()
	var got []map[string][]string
	for _, l := range launched(s.Scheduler, start) {
		got = append(got, l.Resources)
		s.launched[string(rune('0'+l.TaskSet))+"/"+string(rune('0'+l.Index))] = l
	}
	require.Equal(s, expected, got)
}

func gpus(addresses ...string) map[string][]string { return map[string][]string{"gpu": addresses} }

func TestTasksGetAddresses(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "none", Host: "A", Cores: 8}, Executor{ID: "a", Host: "A", Cores: 8, Resources: gpus("0", "1", "2")})
	s.submit(TaskSet{ID: 1, Tasks: 2, Resources: map[string]float64{"gpu": 2}})
	s.addressesAt(gpus("0", "1"))
	s.end("1/0", success)
	s.addressesAt(gpus("0", "1"))
}

func TestTasksShareAnAddress(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 8, Resources: gpus("0", "1", "2")})
	s.submit(TaskSet{ID: 1, Tasks: 4, Resources: map[string]float64{"gpu": 1.0 / 3}})
	s.addressesAt(gpus("0"), gpus("0"), gpus("0"), gpus("1"))
	s.submit(TaskSet{ID: 2, Tasks: 2, Resources: map[string]float64{"gpu": 1}})
	s.addressesAt(gpus("2"))
	s.end("1/0", success)
	s.submit(TaskSet{ID: 3, Tasks: 3, Resources: map[string]float64{"gpu": 0.3}})
	s.addressesAt(gpus("0"), gpus("1"), gpus("1"))
	s.end("2/0", success)
	s.addressesAt(gpus("2"))
}

func TestInvalidResourcesAreRefused(t *testing.T) {
	s := New(Config{})
	require.EqualError(t, s.AddExecutor(Executor{ID: "a", Host: "A", Cores: 1, Resources: gpus("0", "0")}),
		`executor a on host A: resource gpu: address "0" is listed twice`)
	for amount, text := range map[float64]string{0: "0", -1: "-1", 1.5: "1.5", 1e9: "1e+09", 1e-12: "1e-12"} {
		require.EqualError(t, s.Submit(TaskSet{ID: 1, Name: "x", Tasks: 1, Resources: map[string]float64{"gpu": amount}}),
			"task set 1 (x): its tasks take "+text+" of resource gpu each, which must be a part of 1 or a whole number up to 65536")
	}
}
