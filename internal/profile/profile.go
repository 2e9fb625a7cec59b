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

// Profile is the resources of an executor's, driver's or ApplicationMaster's container.
type Profile struct {
	ID int // identifies an executor profile within an application
	// Memory is for the Go program, and Overhead is the rest of the container's memory; both
	// are in bytes.
	Memory, Overhead config.Size
	Cores            int              // an executor runs that many tasks at once if each takes one core
	Resources        map[string]int64 // amounts of YARN's further resource types, such as "yarn.io/gpu"
	NodeLabel        string           // node label expression for the request; "" means the queue's default
	// Opportunistic requests OPPORTUNISTIC containers instead of GUARANTEED ones. They are
	// allocated at once, but may have to wait on their node, or be preempted.
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
		Memory:        config.ExecutorMemory.In(c),
		Overhead:      config.ExecutorOverhead.In(c),
		Cores:         config.ExecutorCores.In(c),
		Resources:     config.ExecutorResources(c),
		NodeLabel:     config.ExecutorLabel.In(c),
		Opportunistic: config.ExecutorExecutionType.In(c) == config.ExecutionOpportunistic,
	}
}

// Master returns the profile of the ApplicationMaster's container, where the driver runs
// too, except in client mode.
func Master(c *config.Config) Profile {
	master := Driver(c)
	if config.ClientMode(c) {
		master.Memory, master.Overhead, master.Cores = config.AMMemory.In(c), config.AMOverhead.In(c), config.AMCores.In(c)
	}
	return master
}

// Driver returns the profile in which the cluster runs a driver.
func Driver(c *config.Config) Profile {
	return Profile{
		Memory:    config.DriverMemory.In(c),
		Overhead:  config.DriverOverhead.In(c),
		Cores:     config.DriverCores.In(c),
		Resources: config.AMResources(c),
		NodeLabel: config.AMLabel.In(c),
	}
}
