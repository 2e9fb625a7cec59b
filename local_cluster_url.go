package bobbin

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// localClusterScheme begins the master URL of a standalone cluster on this
// machine that ends with the program.
const localClusterScheme = "local-cluster"

// localClusterURL is a master URL of the kind local-cluster[E,C,M].
type localClusterURL struct {
	workers int
	cores   int         // of each worker
	memory  config.Size // of each worker
}

var localClusterPattern = regexp.MustCompile(`^local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\]$`)

// parseLocalCluster reads local-cluster[E,C,M]: E workers, each with C cores and
// M megabytes.
func parseLocalCluster(master string) (localClusterURL, error) {
	parts := localClusterPattern.FindStringSubmatch(master)
	if parts == nil {
		return localClusterURL{}, fmt.Errorf("master %q: want local-cluster[E,C,M], E workers with C cores and M megabytes each, such as local-cluster[2,1,1024]", master)
	}
	const mostWorkers, mostCores, mostMemory = 1 << 10, 1 << 16, 1 << 30
	var numbers [3]int
	for i, most := range []int{mostWorkers, mostCores, mostMemory} {
		n, err := strconv.Atoi(parts[i+1])
		if err != nil || n < 1 || n > most {
			return localClusterURL{}, fmt.Errorf("master %q: %s is not from 1 to %d", master, parts[i+1], most)
		}
		numbers[i] = n
	}
	return localClusterURL{workers: numbers[0], cores: numbers[1], memory: config.Size(numbers[2]) * config.MiB}, nil
}

// fit makes executors fit onto the workers: one takes all memory of its worker
// where the settings do not say how much. What can fit onto no worker is refused,
// as no other will come.
func (u localClusterURL) fit(settings *config.Config) (*config.Config, error) {
	if !settings.IsSet(config.ExecutorMem.Name()) && config.ExecutorMem.In(settings) > u.memory {
		fitted, err := settings.With(map[string]string{config.ExecutorMem.Name(): fmt.Sprintf("%dm", u.memory/config.MiB)})
		if err != nil {
			return nil, err
		}
		settings = fitted
	}
	memory := config.ExecutorMem.In(settings)
	if whole := memory + config.ExecutorOverhead.Of(settings, memory); whole > u.memory {
		return nil, fmt.Errorf("an executor takes %d MiB (%s from %s), and each worker of %s has %d", whole/config.MiB,
			config.ExecutorMem.Name(), settings.Source(config.ExecutorMem.Name()), config.Master.In(settings), u.memory/config.MiB)
	}
	if cores := config.ExecutorCores.In(settings); cores > u.cores {
		return nil, fmt.Errorf("an executor takes %d cores (%s from %s), and each worker of %s has %d", cores,
			config.ExecutorCores.Name(), settings.Source(config.ExecutorCores.Name()), config.Master.In(settings), u.cores)
	}
	return settings, nil
}
