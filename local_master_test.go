package bobbin

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseLocalMaster(t *testing.T) {
	all := runtime.GOMAXPROCS(0)
	for master, want := range map[string]localMaster{
		"":               {cores: all, maxFailures: 1},
		"local":          {cores: 1, maxFailures: 1},
		"local[3]":       {cores: 3, maxFailures: 1},
		"local[*]":       {cores: all, maxFailures: 1},
		"local[3,4]":     {cores: 3, maxFailures: 4},
		"local[*,200]":   {cores: all, maxFailures: 200},
		"local[ * , 2 ]": {cores: all, maxFailures: 2},
	} {
		got, err := parseLocalMaster(master)
		require.NoError(t, err, master)
		require.Equal(t, want, got, master)
	}
	for _, master := range []string{"local[0]", "local[x]", "local[-1]", "local[2,0]", "local[99999999999]", "locally", "local[2", "mesos://host:1", "local[1,99999999999999999999]"} {
		_, err := parseLocalMaster(master)
		require.ErrorContains(t, err, fmt.Sprintf("master %q: want", master))
	}
	_, err := parseLocalMaster("yarn")
	require.ErrorContains(t, err, "yarn-submit submit")
}

func FuzzParseMasters(f *testing.F) {
	for _, seed := range []string{"", "local", "local[*,4]", "local[65537]", "local-cluster[2,1,1024]", "local-cluster[1,1,-1]", "bobbin://h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		if got, err := parseLocalMaster(url); err == nil && (got.cores < 1 || got.maxFailures < 1) {
			t.Errorf("%q gives %+v", url, got)
		}
		if got, err := parseLocalCluster(url); err == nil && (got.workers < 1 || got.cores < 1 || got.memory < 1) {
			t.Errorf("%q gives %+v", url, got)
		}
	})
}
