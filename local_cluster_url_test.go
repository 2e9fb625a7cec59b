package bobbin

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

func TestParseLocalCluster(t *testing.T) {
	for master, want := range map[string]localClusterURL{
		"local-cluster[2,1,1024]":      {workers: 2, cores: 1, memory: config.GiB},
		"local-cluster[ 3 , 2 , 512 ]": {workers: 3, cores: 2, memory: 512 * config.MiB},
	} {
		got, err := parseLocalCluster(master)
		require.NoError(t, err, master)
		require.Equal(t, want, got, master)
	}
	for master, text := range map[string]string{
		"local-cluster":                           "want local-cluster[E,C,M]",
		"local-cluster[2,1]":                      "want local-cluster[E,C,M]",
		"local-cluster[2,1,1g]":                   "want local-cluster[E,C,M]",
		"local-cluster[0,1,1]":                    "0 is not from 1 to",
		"local-cluster[1,1,99999999999999999999]": "99999999999999999999 is not from 1 to",
	} {
		_, err := parseLocalCluster(master)
		require.ErrorContains(t, err, text, master)
	}
}

func TestExecutorsFitOntoTheWorkersOfALocalCluster(t *testing.T) {
	url := localClusterURL{workers: 1, cores: 2, memory: 512 * config.MiB}
	for name, test := range map[string]struct {
		set    map[string]string
		memory config.Size
		text   string
	}{
		"nothing is set":  {memory: 512 * config.MiB},
		"a smaller one":   {set: map[string]string{"executor.memory": "100m", "executor.cores": "2"}, memory: 100 * config.MiB},
		"too much memory": {set: map[string]string{"executor.memory": "500m", "executor.memoryOverhead": "50m"}, text: "an executor takes 550 MiB (executor.memory from the submission)"},
		"too many cores":  {set: map[string]string{"executor.cores": "3"}, text: "an executor takes 3 cores"},
	} {
		t.Run(name, func(t *testing.T) {
			settings, err := config.FromMap(test.set)
			require.NoError(t, err)
			got, err := url.fit(settings)
			if test.text != "" {
				require.ErrorContains(t, err, test.text)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.memory, config.ExecutorMem.In(got))
		})
	}
}
