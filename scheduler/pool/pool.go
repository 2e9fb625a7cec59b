// Package pool decides which task set gets the next free core.
//
// Task sets are the leaves of a [Tree] of pools. A FIFO pool serves its children in order. A
// FAIR pool serves the child that is furthest below its share. The tree records how many cores
// each node uses and whether the node has tasks to launch. It has no data about executors, hosts
// or localities: if no free executor is suitable for a task set, the caller skips the set for
// the rest of the offer.
//
// The caller adds a leaf for each task set. It calls [Node.Enqueue] when the leaf has tasks to
// launch, and [Node.AddCores] when the number of cores that the leaf uses changes. To make an
// offer, the caller repeatedly calls [Tree.Next], launches tasks of the leaf that Next returns,
// and calls [Node.Skip] if it launched fewer tasks than Next allowed. At the end, it calls
// [Tree.EndOffer].
package pool

import "fmt"

// Mode is how a pool divides cores among its children.
type Mode int

// The modes of a pool.
const (
	// FIFO serves child pools in the order of the configuration, then task sets by priority.
	FIFO Mode = iota
	// FAIR serves the child that is furthest below its share of the cores.
	FAIR
)

// String returns the mode's name as in scheduler.mode: FIFO or FAIR.
func (m Mode) String() string {
	if m == FAIR {
		return "FAIR"
	}
	return "FIFO"
}

// Pool describes a pool. If there are several resource profiles, the pools divide
// the cores of each profile's executors independently of the other profiles.
type Pool struct {
	Name     string // unique among all pools
	Mode     Mode
	Weight   int    // share relative to its siblings in a FAIR pool; 0 means 1
	MinShare int    // while the pool uses fewer cores than this, it is served before siblings that use at least their own MinShare
	Pools    []Pool // child pools
}

// Default is the name of the pool for task sets that name no pool.
const Default = "default"

// Check returns an error if a pool has no name, if two pools have the same name, or
// if a weight or minimum share is negative.
func Check(pools []Pool) error { return check(pools, map[string]bool{}) }

func check(pools []Pool, names map[string]bool) error {
	for _, pool := range pools {
		switch {
		case pool.Name == "":
			return fmt.Errorf("a pool has no name")
		case names[pool.Name]:
			return fmt.Errorf("pool %s: there are two of this name", pool.Name)
		case pool.Weight < 0:
			return fmt.Errorf("pool %s: its weight is %d, which must not be negative", pool.Name, pool.Weight)
		case pool.MinShare < 0:
			return fmt.Errorf("pool %s: its minimum share is %d cores, which must not be negative", pool.Name, pool.MinShare)
		}
		names[pool.Name] = true
		if err := check(pool.Pools, names); err != nil {
			return err
		}
	}
	return nil
}

// Priority orders task sets: by job, then by stage, then in the order of submission. Lower
// numbers come first, as in Spark. A task set whose Job is 0 comes after all others.
type Priority struct{ Job, Stage uint64 }
