package dataset

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
)

// The driver chooses the executors for second copies of partitions. A test in
// integration/standalone kills executors whose partitions have such copies.
func TestExecutorsOfSecondCopies(t *testing.T) {
	x := func(id, host string) *executor {
		return &executor{ExecutorInfo: driver.ExecutorInfo{ID: id, Host: host, DataAddress: host + ":1"}}
	}
	first, near, far, farther := x("1", "a"), x("2", "a"), x("3", "b"), x("4", "c")
	lost, leaving, large, portless := x("5", "d"), x("6", "d"), x("7", "d"), x("8", "d")
	lost.lost, leaving.decommissioned, large.Profile, portless.DataAddress = true, true, 1, ""
	for _, c := range []struct {
		name      string
		executors []*executor
		assigned  map[*executor]int
		want      *executor
	}{
		{"there is no other", []*executor{first, lost, leaving, large, portless}, nil, nil},
		{"there is one on the same host", []*executor{first, near}, nil, near},
		{"another host is better", []*executor{first, near, far}, map[*executor]int{far: 3}, far},
		{"the one with fewer copies is better", []*executor{first, near, far, farther}, map[*executor]int{far: 3, farther: 2}, farther},
		{"else the first", []*executor{first, farther, far}, nil, far},
	} {
		e := &engine{executors: map[string]*executor{}}
		for _, executor := range c.executors {
			e.executors[executor.ID] = executor
		}
		require.Same(t, c.want, e.chooseReplica(first, c.assigned), c.name)
	}
	e := &engine{executors: map[string]*executor{"1": first}}
	require.Nil(t, e.chooseReplica(portless, nil), "nobody can fetch the first copy")
}
