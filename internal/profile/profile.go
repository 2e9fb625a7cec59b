// Package profile says what an executor of a kind is made of: its memory, its
// cores and what else of a node it takes. An application has one profile from
// its settings, and as many more as its jobs ask for.
package profile

import (
	"cmp"
	"maps"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// DefaultID is the id of the profile that the application's settings describe.
const DefaultID = 0

// Profile is a kind of executor.
type Profile struct {
	// ID tells the application's profiles apart; DefaultID is the settings'.
	ID int
	// Memory is the Go program's, Overhead what its container gets on top.
	Memory, Overhead config.Size
	// Cores is how many tasks of one CPU run at once.
	Cores int
	// Resources are amounts of YARN's further resource types, such as
	// "yarn.io/gpu", that each container holds.
	Resources map[string]int64
	// NodeLabel is the node label expression of the containers; "" for the
	// queue's own.
	NodeLabel string
	// Opportunistic containers are given at once and may have to wait for their
	// node, and to yield to others; the others are guaranteed.
	Opportunistic bool
}

// Container is the memory of the executor's whole container.
func (p Profile) Container() config.Size { return p.Memory + p.Overhead }

// Same reports whether executors of both profiles are alike, whatever the ids.
func (p Profile) Same(other Profile) bool {
	return p.Memory == other.Memory && p.Overhead == other.Overhead && p.Cores == other.Cores &&
		p.NodeLabel == other.NodeLabel && p.Opportunistic == other.Opportunistic && maps.Equal(p.Resources, other.Resources)
}

// Default is the profile of the application's settings.
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

// Master is what the container of the ApplicationMaster is made of, in which
// the driver runs too unless it is in the client.
func Master(c *config.Config) Profile {
	master := Driver(c)
	if config.ClientMode(c) {
		master.Memory, master.Overhead, master.Cores = config.AMMemory.In(c), config.AMOverhead.In(c), config.AMCores.In(c)
	}
	return master
}

// Driver is what the process is made of in which a driver runs that the cluster
// starts.
func Driver(c *config.Config) Profile {
	return Profile{
		Memory:    config.DriverMemory.In(c),
		Overhead:  config.DriverOverhead.In(c),
		Cores:     config.DriverCores.In(c),
		Resources: config.AMResources(c),
		NodeLabel: config.AMLabel.In(c),
	}
}

// Compare orders profiles by id.
func Compare(a, b Profile) int { return cmp.Compare(a.ID, b.ID) }
