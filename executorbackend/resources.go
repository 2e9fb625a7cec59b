package executorbackend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

const (
	// discoveryTimeout bounds a command that prints the addresses of a resource.
	discoveryTimeout = 30 * time.Second
	// discoveryLeave bounds the end of such a command's children.
	discoveryLeave = time.Second
	// maxAddresses bounds the addresses of one resource. A container that has more
	// of it has an amount, not devices that tasks could be given.
	maxAddresses = 1024
)

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
		addresses, err := runScript(ctx, name, scripts[name])
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

// runScript has a command print the addresses of a resource, in the format of
// Spark's discovery scripts.
func runScript(ctx context.Context, name, script string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	var printed, complaint bytes.Buffer
	command := exec.CommandContext(ctx, script)
	command.Stdout, command.Stderr, command.WaitDelay = &printed, &complaint, discoveryLeave
	if err := command.Run(); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("it did not end within %v", discoveryTimeout)
		}
		if said := strings.TrimSpace(cut(complaint.String())); said != "" {
			err = fmt.Errorf("%w: %s", err, said)
		}
		return nil, err
	}
	var found struct {
		Name      string   `json:"name"`
		Addresses []string `json:"addresses"`
	}
	if err := json.Unmarshal(printed.Bytes(), &found); err != nil {
		return nil, fmt.Errorf(`it printed %q: want {"name": %q, "addresses": ["0", "1"]}: %w`, cut(printed.String()), name, err)
	}
	switch {
	case found.Name != name:
		return nil, fmt.Errorf("it told of resource %q", found.Name)
	case len(found.Addresses) > maxAddresses:
		return nil, fmt.Errorf("it printed %d addresses, the most is %d", len(found.Addresses), maxAddresses)
	case len(slices.Compact(slices.Sorted(slices.Values(found.Addresses)))) < len(found.Addresses):
		return nil, errors.New("it printed an address twice")
	}
	return found.Addresses, nil
}
