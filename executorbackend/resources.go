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

// maxAddresses bounds the addresses of one resource.
const maxAddresses = discovery.MaxAddresses

// Discover finds the addresses of what an executor has of each resource, by the
// amounts of its container: those that executor.resource.NAME.discoveryScript
// prints, or else 0, 1 and so on, as CUDA numbers the devices that a process
// may see. The commands run in the working directory, one after the other; that
// of a resource of which the settings give executors an amount, but this one has
// none as its resource profile is another, is left out.
func Discover(ctx context.Context, c *config.Config, amounts map[string]int64) (map[string][]string, error) {
	resources := map[string][]string{}
	for name, amount := range amounts {
		if amount > maxAddresses {
			continue
		}
		for i := range int(amount) {
			resources[name] = append(resources[name], strconv.Itoa(i))
		}
	}
	scripts, usual := config.ResourceScripts(c), config.TaskResourceNames(c, config.ExecutorResources(c))
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		if usual[name] > 0 && amounts[name] == 0 {
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
