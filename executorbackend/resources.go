package executorbackend

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/discovery"
)

// Discover returns the addresses of an executor's resources by name. amounts are the numbers of
// addresses that the executor's container has, by resource name. For each resource, Discover
// runs the script of the setting executor.resource.NAME.discoveryScript and returns the
// addresses that it prints. Without a script, the addresses are 0, 1 and so on, as CUDA numbers
// the devices of a process. Scripts run one after the other in the working directory. Scripts of
// resources that are not in amounts do not run. Discover fails if a script fails or prints fewer
// addresses than the amount.
func Discover(ctx context.Context, c *config.Config, amounts map[string]int64) (map[string][]string, error) {
	resources := map[string][]string{}
	for name, amount := range amounts {
		if amount > discovery.MaxAddresses {
			continue
		}
		for i := range int(amount) {
			resources[name] = append(resources[name], strconv.Itoa(i))
		}
	}
	scripts, defaults := config.ResourceScripts(c), config.TaskResourceNames(c, config.ExecutorResources(c))
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		if defaults[name] > 0 && amounts[name] == 0 {
			continue
		}
		addresses, err := discovery.Run(ctx, name, scripts[name])
		if err == nil && int64(len(addresses)) < amounts[name] {
			err = fmt.Errorf("it found %d addresses, and the container has %d", len(addresses), amounts[name])
		}
		if err != nil {
			return nil, fmt.Errorf("executor.resource.%s.discoveryScript=%s: %w", name, scripts[name], err)
		}
		resources[name] = addresses
	}
	return resources, nil
}
