package worker

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/discovery"
	"github.com/bobbin-yarn/bobbin/internal/route"
)

// lookupTimeout limits the lookup of this machine's own name.
const lookupTimeout = 10 * time.Second

// machine has the worker's address and its resources.
type machine struct {
	host      string
	port      int // 0 until the port of the worker's web page is known
	cores     int
	memory    config.Size
	resources map[string][]string // addresses, by the resource's name
}

// inspectMachine returns the worker's address and resources. It returns the values in the
// settings; for values that are not set, it returns those of this machine.
func inspectMachine(ctx context.Context, options Options) (machine, error) {
	settings := options.Settings
	e := machine{host: config.WorkerHost.In(settings), port: config.WorkerPort.In(settings), cores: config.WorkerCores.In(settings)}
	if e.host == "" {
		var err error
		if e.host, err = findHost(ctx, options.Masters, hostname(), options.Logger); err != nil {
			return machine{}, err
		}
	}
	if e.cores == 0 {
		e.cores = runtime.NumCPU()
	}
	if own := config.WorkerMemory.In(settings); own != nil {
		e.memory = *own
	} else {
		e.memory = defaultMemory(machineMemory())
	}
	var err error
	e.resources, err = findResources(ctx, config.WorkerResources(settings))
	return e, err
}

// defaultMemory returns the worker's default memory: the machine's memory minus 1 GiB for the
// operating system, as in Spark.
func defaultMemory(machine int64) config.Size {
	return max(config.Size(machine)-config.GiB, config.GiB)
}

// findHost returns name if name resolves to the address from which this machine connects to
// the masters. Otherwise it returns that address.
func findHost(ctx context.Context, masters []string, name string, logger *slog.Logger) (string, error) {
	address, err := route.SourceIP(ctx, masters)
	if err != nil {
		return "", fmt.Errorf("finding the address by which this machine reaches the master: %w; set %s", err, config.WorkerHost.Name())
	}
	if name != "" && !address.IsLoopback() {
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		found, err := net.DefaultResolver.LookupHost(ctx, name)
		if err == nil && slices.Contains(found, address.String()) {
			return name, nil
		}
		logger.Debug("this machine's name does not resolve to its address", "name", name, "addresses", found, "address", address, "error", err)
	}
	return address.String(), nil
}

// findResources returns the addresses of resources, such as GPUs, by name.
func findResources(ctx context.Context, settings map[string]config.WorkerResource) (map[string][]string, error) {
	var found map[string][]string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		resource := settings[name]
		var addresses []string
		if resource.Script != "" {
			var err error
			if addresses, err = discovery.Run(ctx, name, resource.Script); err == nil && int64(len(addresses)) < resource.Amount {
				err = fmt.Errorf("it found %d addresses, and worker.resource.%s.amount is %d", len(addresses), name, resource.Amount)
			}
			if err != nil {
				return nil, fmt.Errorf("worker.resource.%s.discoveryScript=%s: %w", name, resource.Script, err)
			}
			if resource.Amount > 0 {
				addresses = addresses[:resource.Amount]
			}
		} else {
			if resource.Amount > discovery.MaxAddresses {
				return nil, fmt.Errorf("worker.resource.%s.amount=%d: the most is %d", name, resource.Amount, discovery.MaxAddresses)
			}
			for i := range int(resource.Amount) {
				addresses = append(addresses, strconv.Itoa(i))
			}
		}
		if len(addresses) == 0 {
			continue
		}
		if found == nil {
			found = map[string][]string{}
		}
		found[name] = addresses
	}
	return found, nil
}
