// Package profile describes resource profiles: the memory, cores and further
// resources, such as GPUs, of an executor. An application has a default profile,
// from its settings, and the profiles that its jobs request.
package profile

import (
	"maps"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// DefaultID is the id of the default profile, which the application's settings
// describe.
const DefaultID = 0

// Profile is the resources of the container of an executor, a driver or an
// ApplicationMaster.
type Profile struct {
	// ID distinguishes the executor profiles of an application.
	ID int
	// Memory is the size in bytes that the Go program may use. Overhead is the size
	// in bytes of the container beyond Memory.
	Memory, Overhead config.Size
	// Cores is the number of cores. An executor runs that many tasks at once if
	// each takes one core.
	Cores int
	// Resources are the amounts of YARN's further resource types, such as
	// "yarn.io/gpu", that the container has.
	Resources map[string]int64
	// NodeLabel is the node label expression with which the containers are
	// requested; "" means the default of the queue.
	NodeLabel string
	// Opportunistic requests containers of the type OPPORTUNISTIC instead of
	// GUARANTEED: YARN allocates them at once, but they may wait on their node or
	// be preempted.
	Opportunistic bool
}

// Container returns the memory of the whole container, in bytes.
func (p Profile) Container() config.Size { return p.Memory + p.Overhead }

// Same reports whether two profiles differ at most in their ids.
func (p Profile) Same(other Profile) bool {
	return p.Memory == other.Memory && p.Overhead == other.Overhead && p.Cores == other.Cores &&
		p.NodeLabel == other.NodeLabel && p.Opportunistic == other.Opportunistic && maps.Equal(p.Resources, other.Resources)
}

// Default returns the executors' default profile, which the settings describe.
func Default(c *config.Config) Profile {
	return Profile{
		ID:            DefaultID,
		Memory:        config.ExecutorMem.In(c),
		Overhead:      config.ExecutorOverhead.In(c),
		Cores:         config.ExecutorCores.In(c),
		Resources:     config.ExecutorResources(c),
		NodeLabel:     config.ExecutorLabel.In(c),
		Opportunistic: config.ExecutorExecutionType.In(c) == config.ExecutionOpportunistic,
	}
}

// Master returns the profile of the ApplicationMaster's container. The driver runs
// there too, except in client mode.
func Master(c *config.Config) Profile {
	master := Driver(c)
	if config.ClientMode(c) {
		master.Memory, master.Overhead, master.Cores = config.AMMemory.In(c), config.AMOverhead.In(c), config.AMCores.In(c)
	}
	return master
}

// Driver returns the profile of the container or process in which the cluster runs
// a driver.
func Driver(c *config.Config) Profile {
	return Profile{
		Memory:    config.DriverMemory.In(c),
		Overhead:  config.DriverOverhead.In(c),
		Cores:     config.DriverCores.In(c),
		Resources: config.AMResources(c),
		NodeLabel: config.AMLabel.In(c),
	}
}
