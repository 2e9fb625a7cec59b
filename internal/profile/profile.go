// Package profile describes resource profiles: how much memory, how many cores and which other
// resources, such as GPUs, an executor has. An application has a default profile, and its jobs
// can use others.
package profile

import (
	"maps"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// DefaultID is the id of the default profile, which the settings describe.
const DefaultID = 0

// Profile describes the resources of the container of an executor, driver or ApplicationMaster.
type Profile struct {
	ID int // identifies the profile of an executor within its application
	// Memory is for the Go program. Overhead is the rest of the container's memory. Both are in
	// bytes.
	Memory, Overhead config.Size
	Cores            int              // the number of tasks that an executor runs at once if each task uses one core
	Resources        map[string]int64 // amounts of YARN's resource types other than memory and cores, such as "yarn.io/gpu"
	NodeLabel        string           // node label expression of the allocation request; "" means the queue's default
	// Opportunistic requests OPPORTUNISTIC containers instead of GUARANTEED ones. YARN
	// allocates them at once, but they may be queued on their node, or be preempted.
	Opportunistic bool
}

// Container returns the total memory of the container, in bytes.
func (p Profile) Container() config.Size { return p.Memory + p.Overhead }

// Same reports whether the two profiles are equal except for their ids.
func (p Profile) Same(other Profile) bool {
	return p.Memory == other.Memory && p.Overhead == other.Overhead && p.Cores == other.Cores &&
		p.NodeLabel == other.NodeLabel && p.Opportunistic == other.Opportunistic && maps.Equal(p.Resources, other.Resources)
}

// Default returns the default profile of executors, which the settings describe.
func Default(c *config.Config) Profile {
	return Profile{
		ID:            DefaultID,
		Memory:        config.ExecutorMemory.In(c),
		Overhead:      config.ExecutorOverhead.In(c),
		Cores:         config.ExecutorCores.In(c),
		Resources:     config.ExecutorResources(c),
		NodeLabel:     config.ExecutorLabel.In(c),
		Opportunistic: config.ExecutorExecutionType.In(c) == config.ExecutionOpportunistic,
	}
}

// Master returns the profile of the ApplicationMaster's container. In cluster mode, it includes
// the driver, which runs in this container.
func Master(c *config.Config) Profile {
	master := Driver(c)
	if config.ClientMode(c) {
		master.Memory, master.Overhead, master.Cores = config.AMMemory.In(c), config.AMOverhead.In(c), config.AMCores.In(c)
	}
	return master
}

// Driver returns the profile of a driver that runs on a cluster.
func Driver(c *config.Config) Profile {
	return Profile{
		Memory:    config.DriverMemory.In(c),
		Overhead:  config.DriverOverhead.In(c),
		Cores:     config.DriverCores.In(c),
		Resources: config.AMResources(c),
		NodeLabel: config.AMLabel.In(c),
	}
}
