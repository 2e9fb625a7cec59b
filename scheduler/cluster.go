package scheduler

import (
	"cmp"
	"maps"
	"slices"
)

// cluster contains the executors of one resource profile, with their hosts, racks and free
// cores.
type cluster struct {
	rackOf    func(host string) string // "" if the rack is not known
	executors map[string]*executor
	hosts     map[string]*host
	racks     map[string]*rack
	free      freeCores
	sizes     executorSizes // sizes of the available executors
	// newlyFree are the executors that the next offer must try again: executors that, since the
	// last offer, became available, had an attempt end, or had their window set.
	newlyFree []*executor
}

// host is a node on which an executor runs or which a task prefers.
type host struct {
	name      string
	rack      *rack // nil if unknown
	available int   // number of available executors
	sizes     executorSizes
	free      freeCores
	waiting   int // number of waiting tasks that prefer the host
	// references is the number of executors and task sets that refer to the host. At 0, the host
	// is removed.
	references int
}

// rack is a rack, with the hosts of one resource profile in it.
type rack struct {
	name       string
	available  int
	free       freeCores
	references int // number of hosts in the rack
}

func newCluster(rackOf func(host string) string) cluster {
	return cluster{rackOf: rackOf, executors: map[string]*executor{}, hosts: map[string]*host{}, racks: map[string]*rack{}}
}

// sortedByOrder returns executors in the order in which they were added.
func sortedByOrder(executors map[string]*executor) []*executor {
	return slices.SortedFunc(maps.Values(executors), func(a, b *executor) int { return cmp.Compare(a.addedAs, b.addedAs) })
}

// reference adds a reference to the host with the given name. It creates the host if necessary.
func (c *cluster) reference(name string) *host {
	h := c.hosts[name]
	if h == nil {
		h = &host{name: name, free: freeCores{scope: hostScope}}
		if rack := c.rackOf(name); rack != "" {
			h.rack = c.referenceRack(rack)
		}
		c.hosts[name] = h
	}
	h.references++
	return h
}

func (c *cluster) referenceRack(name string) *rack {
	r := c.racks[name]
	if r == nil {
		r = &rack{name: name, free: freeCores{scope: rackScope}}
		c.racks[name] = r
	}
	r.references++
	return r
}

// release removes a reference to a host. If that was the last reference, it removes the
// host.
func (c *cluster) release(h *host) {
	if h.references--; h.references > 0 {
		return
	}
	delete(c.hosts, h.name)
	if h.rack != nil {
		if h.rack.references--; h.rack.references == 0 {
			delete(c.racks, h.rack.name)
		}
	}
}

// setRack sets the rack of a host whose rack was not known, and adds the host's executors to the
// rack.
func (c *cluster) setRack(h *host, name string) {
	h.rack = c.referenceRack(name)
	for e := range h.free.atLeast(1) {
		h.rack.free.add(e)
	}
	h.rack.available += h.available
}

// setAvailable sets whether an executor's free cores are offered to task sets.
func (c *cluster) setAvailable(e *executor, available bool) {
	change := 1
	if available {
		c.addFree(e)
		c.markNewlyFree(e)
	} else {
		change = -1
		c.removeFree(e)
	}
	e.available = available
	e.host.available += change
	e.host.sizes.add(e, change)
	c.sizes.add(e, change)
	if e.host.rack != nil {
		e.host.rack.available += change
	}
}

// markNewlyFree makes the next offer try an executor again.
func (c *cluster) markNewlyFree(e *executor) {
	if !e.newlyFree {
		e.newlyFree = true
		c.newlyFree = append(c.newlyFree, e)
	}
}

func (c *cluster) clearNewlyFree() {
	for i, e := range c.newlyFree {
		e.newlyFree, c.newlyFree[i] = false, nil
	}
	c.newlyFree = c.newlyFree[:0]
}

func (c *cluster) setFree(e *executor, free int) {
	if !e.available {
		e.free = free
		return
	}
	c.removeFree(e)
	e.free = free
	c.addFree(e)
}

func (c *cluster) addFree(e *executor) {
	if e.free == 0 {
		return
	}
	c.free.add(e)
	e.host.free.add(e)
	if e.host.rack != nil {
		e.host.rack.free.add(e)
	}
}

func (c *cluster) removeFree(e *executor) {
	if e.free == 0 {
		return
	}
	c.free.remove(e)
	e.host.free.remove(e)
	if e.host.rack != nil {
		e.host.rack.free.remove(e)
	}
}

// executorSizes counts the executors of each size, which is a number of cores and of other
// resources. The executors of a profile have few different sizes.
type executorSizes []executorSize

type executorSize struct {
	example   *executor
	executors int
}

func (z *executorSizes) add(e *executor, change int) {
	for i := range *z {
		if size := &(*z)[i]; size.example.Cores == e.Cores && size.example.resources.SameSize(&e.resources) {
			if size.executors += change; size.executors == 0 {
				*z = slices.Delete(*z, i, i+1)
			}
			return
		}
	}
	*z = append(*z, executorSize{example: e, executors: change})
}

// largeEnough returns how many executors could run a task of a set if they were idle.
func (z executorSizes) largeEnough(set *taskSet) int {
	executors := 0
	for _, size := range z {
		if size.example.slots(set) > 0 {
			executors += size.executors
		}
	}
	return executors
}

// slots returns how many tasks of a set all executors together could run at once if they were
// idle, and how many of them the largest executor could run.
func (z executorSizes) slots(set *taskSet) (all, largest int) {
	for _, size := range z {
		slots := size.example.slots(set)
		all += size.executors * slots
		largest = max(largest, slots)
	}
	return all, largest
}
