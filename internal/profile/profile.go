// Package profile describes resource profiles: the memory, cores and further
// resources of an executor. An application has a default profile from its
// settings, and further ones that its jobs request.
package profile

import (
	"maps"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// DefaultID is the id of the profile of the application's settings.
const DefaultID = 0

// Profile is the resources of an executor, or of another process of an application.
type Profile struct {
	// ID distinguishes the application's profiles.
	ID int
	// Memory is for the Go program, Overhead what its container has in addition.
	Memory, Overhead config.Size
	// Cores is how many tasks of one core run at once.
	Cores int
	// Resources are amounts of YARN's further resource types, such as
	// "yarn.io/gpu", in each container.
	Resources map[string]int64
	// NodeLabel is the node label expression of the containers; "" for the queue's.
	NodeLabel string
	// Opportunistic containers are allocated at once, but may wait for their node or
	// be preempted. Others are guaranteed.
	Opportunistic bool
}

// Container returns the memory of the whole container.
func (p Profile) Container() config.Size { return p.Memory + p.Overhead }

// Same reports whether both profiles differ in nothing but their ids.
func (p Profile) Same(other Profile) bool {
	return p.Memory == other.Memory && p.Overhead == other.Overhead && p.Cores == other.Cores &&
		p.NodeLabel == other.NodeLabel && p.Opportunistic == other.Opportunistic && maps.Equal(p.Resources, other.Resources)
}

// Default returns the profile of the application's settings.
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

// Master returns the profile of the ApplicationMaster's container, in which the
// driver runs too unless the client runs it.
func Master(c *config.Config) Profile {
	master := Driver(c)
	if config.ClientMode(c) {
		master.Memory, master.Overhead, master.Cores = config.AMMemory.In(c), config.AMOverhead.In(c), config.AMCores.In(c)
	}
	return master
}

// Driver returns the profile of a driver's process that the cluster starts.
func Driver(c *config.Config) Profile {
	return Profile{
		Memory:    config.DriverMemory.In(c),
		Overhead:  config.DriverOverhead.In(c),
		Cores:     config.DriverCores.In(c),
		Resources: config.AMResources(c),
		NodeLabel: config.AMLabel.In(c),
	}
}
