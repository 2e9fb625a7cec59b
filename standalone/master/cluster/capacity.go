package cluster

import (
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// size is the cores, the memory and the other resources, such as GPUs, of an executor or
// driver.
type size struct {
	cores     int
	memory    int64            // bytes
	resources map[string]int64 // amounts of other resources, by the resource's name
}

// executorSize returns the size of an executor with the smallest number of cores that the
// profile allows.
func executorSize(profile *protocol.ExecutorProfile) size {
	return size{
		cores: max(int(profile.GetCores()), 1), memory: profile.GetMemory() + profile.GetOverhead(), resources: profile.GetResources(),
	}
}

func driverSize(description *protocol.DriverDescription) size {
	return size{cores: int(description.GetCores()), memory: description.GetMemory(), resources: description.GetResources()}
}

// reservation is the part of a worker's capacity that one executor or driver uses.
type reservation struct {
	cores     int
	memory    int64               // bytes
	resources map[string][]string // addresses, by the resource's name
}

// capacity has the total and the used resources of a worker. If a worker attaches again with
// executors that were already replaced, the used resources may exceed the total.
type capacity struct {
	cores, usedCores   int
	memory, usedMemory int64
	resources          map[string][]string
	used               map[string]map[string]int // by the resource's name and address: number of reservations that use the address
}

func newCapacity(cores uint32, memory int64, resources map[string]*protocol.Addresses) capacity {
	return capacity{cores: int(cores), memory: memory, resources: protocol.FromAddresses(resources), used: map[string]map[string]int{}}
}

func (c *capacity) freeCores() int { return c.cores - c.usedCores }

// fits reports whether the worker has free resources for count executors or drivers of the
// size.
func (c *capacity) fits(s size, count int) bool {
	if c.freeCores() < s.cores*count || c.memory-c.usedMemory < s.memory*int64(count) {
		return false
	}
	for name, amount := range s.resources {
		free := int64(len(c.resources[name]) - len(c.used[name]))
		if amount > 0 && free/amount < int64(count) { // division, because a product could overflow
			return false
		}
	}
	return true
}

// fitsWhenUnused reports whether the size would fit if nothing ran on the worker.
func (c *capacity) fitsWhenUnused(s size) bool {
	empty := capacity{cores: c.cores, memory: c.memory, resources: c.resources}
	return empty.fits(s, 1)
}

// reserve reserves resources of a size, which must fit, and selects the addresses.
func (c *capacity) reserve(s size) reservation {
	r := reservation{cores: s.cores, memory: s.memory}
	for name, amount := range s.resources {
		for _, address := range c.resources[name] {
			if int64(len(r.resources[name])) == amount {
				break
			}
			if c.used[name][address] > 0 {
				continue
			}
			if r.resources == nil {
				r.resources = map[string][]string{}
			}
			r.resources[name] = append(r.resources[name], address)
		}
	}
	c.add(r)
	return r
}

// add adds a reservation, even if it does not fit.
func (c *capacity) add(r reservation) {
	c.usedCores += r.cores
	c.usedMemory += r.memory
	for name, addresses := range r.resources {
		for _, address := range addresses {
			if !slices.Contains(c.resources[name], address) {
				continue
			}
			if c.used[name] == nil {
				c.used[name] = map[string]int{}
			}
			c.used[name][address]++
		}
	}
}

func (c *capacity) release(r reservation) {
	c.usedCores -= r.cores
	c.usedMemory -= r.memory
	for name, addresses := range r.resources {
		used := c.used[name]
		for _, address := range addresses {
			if used[address] > 1 {
				used[address]--
			} else {
				delete(used, address)
			}
		}
	}
}

// resize changes the total resources. It does not change the reservations.
func (c *capacity) resize(cores uint32, memory int64, resources map[string]*protocol.Addresses) {
	c.cores, c.memory, c.resources = int(cores), memory, protocol.FromAddresses(resources)
	for name, used := range c.used {
		maps.DeleteFunc(used, func(address string, _ int) bool { return !slices.Contains(c.resources[name], address) })
	}
}
