package role

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
)

func TestFitToWorkers(t *testing.T) {
	master := masterurl.URL{Workers: 1, Cores: 2, Memory: 512 * config.MiB}
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
			got, err := fitToWorkers(settings, master)
			if test.text != "" {
				require.ErrorContains(t, err, test.text)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.memory, config.ExecutorMemory.In(got))
		})
	}
}
