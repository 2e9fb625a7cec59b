package client

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// containerRequest is the size of containers that the application will request. The field settings
// lists the settings that determine the size, for messages.
type containerRequest struct {
	name, settings string
	label          string // node label expression; "" for none
	resource       yarnrest.Resource
}

func containerRequests(settings *config.Config) []containerRequest {
	master := containerRequest{
		name: "the ApplicationMaster", settings: "--driver-memory and driver.memoryOverhead, --driver-cores, driver.resource.*, yarn.driver.resource.*",
		label: config.AMLabel.In(settings), resource: resourceOf(profile.Master(settings)),
	}
	if config.ClientMode(settings) {
		master.settings = "yarn.am.memory and yarn.am.memoryOverhead, yarn.am.cores, yarn.am.resource.*"
	}
	executor := containerRequest{
		name: "an executor", settings: "--executor-memory and executor.memoryOverhead, --executor-cores, executor.resource.*, yarn.executor.resource.*",
		label: config.ExecutorLabel.In(settings), resource: resourceOf(profile.Default(settings)),
	}
	if unmanaged(settings) {
		return []containerRequest{executor}
	}
	return []containerRequest{master, executor}
}

func resourceOf(p profile.Profile) yarnrest.Resource {
	resource := yarnrest.Resource{MemoryMB: p.Container().MiB(), VCores: p.Cores}
	for _, name := range slices.Sorted(maps.Keys(p.Resources)) {
		resource.Types = append(resource.Types, yarnrest.ResourceType{Name: name, Value: p.Resources[name]})
	}
	return resource
}

// checkSizes fails if a requested container exceeds the cluster's maximum allocation.
func checkSizes(settings *config.Config, maximum yarnrest.Resource) error {
	for _, container := range containerRequests(settings) {
		if err := container.resource.Check(maximum); err != nil {
			return fmt.Errorf("%s (%s): %w", container.name, container.settings, err)
		}
	}
	return nil
}

// minResource returns the smaller of two maximum allocations, separately for memory and cores. 0
// means no limit.
func minResource(a, b yarnrest.Resource) yarnrest.Resource {
	if b.MemoryMB > 0 && (a.MemoryMB == 0 || b.MemoryMB < a.MemoryMB) {
		a.MemoryMB = b.MemoryMB
	}
	if b.VCores > 0 && (a.VCores == 0 || b.VCores < a.VCores) {
		a.VCores = b.VCores
	}
	a.Types = slices.Clone(a.Types)
	for i, mine := range a.Types {
		if theirs, ok := b.Type(mine.Name); ok && theirs.Value < mine.Value {
			a.Types[i].Value = theirs.Value
		}
	}
	return a
}

// warnIfNothingFits prints a warning about containers that are larger than every running node. The
// scheduler would leave requests for such containers pending without a message.
func warnIfNothingFits(settings *config.Config, nodes []yarnrest.Node, console *Console) {
	reported := slices.ContainsFunc(nodes, func(n yarnrest.Node) bool { return n.Total.MemoryMB > 0 })
	if !reported {
		return
	}
	for _, container := range containerRequests(settings) {
		fits := slices.ContainsFunc(nodes, func(n yarnrest.Node) bool {
			return (container.label == "" || slices.Contains(n.Labels, container.label)) && container.resource.Check(n.Total) == nil
		})
		if !fits {
			console.Warn("%s (%s) fits on none of the %d nodes that are up, even empty: the application waits until one comes that is large enough",
				container.name, container.settings, len(nodes))
		}
	}
}
