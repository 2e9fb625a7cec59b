package masterurl

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

func TestParse(t *testing.T) {
	all := runtime.GOMAXPROCS(0)
	for text, want := range map[string]URL{
		"yarn":                         {Kind: YARN},
		"bobbin://one,two:7":           {Kind: Standalone, Addresses: []string{"one:7077", "two:7"}},
		"local":                        {Kind: Local, Cores: 1, MaxFailures: 1},
		"local[3]":                     {Kind: Local, Cores: 3, MaxFailures: 1},
		"local[*]":                     {Kind: Local, Cores: all, MaxFailures: 1},
		"local[3,4]":                   {Kind: Local, Cores: 3, MaxFailures: 4},
		"local[*,200]":                 {Kind: Local, Cores: all, MaxFailures: 200},
		"local[ * , 2 ]":               {Kind: Local, Cores: all, MaxFailures: 2},
		"local-cluster[2,1,1024]":      {Kind: LocalCluster, Workers: 2, Cores: 1, Memory: config.GiB},
		"local-cluster[ 3 , 2 , 512 ]": {Kind: LocalCluster, Workers: 3, Cores: 2, Memory: 512 * config.MiB},
	} {
		want.Text = text
		got, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"local[x]", "local[-1]", "locally", "local[2", "mesos://host:1", ""} {
		_, err := Parse(text)
		require.Equal(t, &UnknownError{text}, err)
	}
	for _, text := range []string{"local[0]", "local[2,0]", "local[99999999999]", "local[1,99999999999999999999]"} {
		_, err := Parse(text)
		require.ErrorContains(t, err, fmt.Sprintf("master %q: want 1 to 65536 cores", text))
	}
	for text, reason := range map[string]string{
		"local-cluster":                           "want local-cluster[E,C,M]",
		"local-cluster[2,1]":                      "want local-cluster[E,C,M]",
		"local-cluster[2,1,1g]":                   "want local-cluster[E,C,M]",
		"local-cluster[0,1,1]":                    "0 is not from 1 to",
		"local-cluster[1,1,99999999999999999999]": "99999999999999999999 is not from 1 to",
	} {
		_, err := Parse(text)
		require.ErrorContains(t, err, reason, text)
	}
}

func TestUnsetMasterIsTheCallersDefault(t *testing.T) {
	for _, unset := range []string{YARNURL, LocalURL} {
		got, err := FromSettings(config.Default(), unset)
		require.NoError(t, err)
		require.Equal(t, unset, got.Text)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "yarn", "local", "local[*,4]", "local[65537]", "local-cluster[2,1,1024]", "local-cluster[1,1,-1]", "bobbin://h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Parse(text)
		if err != nil {
			return
		}
		valid := map[Kind]bool{
			YARN:         true,
			Standalone:   len(got.Addresses) > 0,
			Local:        got.Cores > 0 && got.MaxFailures > 0,
			LocalCluster: got.Workers > 0 && got.Cores > 0 && got.Memory > 0,
		}
		require.True(t, valid[got.Kind], "%q gives %+v", text, got)
	})
}
