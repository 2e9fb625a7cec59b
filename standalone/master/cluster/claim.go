package cluster

import (
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// claim is what an executor or a driver takes of its worker.
type claim struct {
	cores     int
	memory    int64 // bytes
	resources map[string][]string
}

// pool is what a worker has, and how much of it is taken. More than all can be
// taken: where a worker that has been away brings back what was given up.
type pool struct {
	cores, usedCores   int
	memory, usedMemory int64
	resources          map[string][]string
	used               map[string]map[string]int // how often an address is taken
}

func newPool(cores uint32, memory int64, resources map[string]*protocol.Addresses) pool {
	return pool{cores: int(cores), memory: memory, resources: protocol.FromAddresses(resources), used: map[string]map[string]int{}}
}

func (p *pool) freeCores() int    { return p.cores - p.usedCores }
func (p *pool) freeMemory() int64 { return p.memory - p.usedMemory }

// freeOf is how many addresses of a resource are free.
func (p *pool) freeOf(name string) int64 {
	return int64(len(p.resources[name]) - len(p.used[name]))
}

// fits tells whether so many times the needs are free beside so many cores.
func (p *pool) fits(cores int, memory int64, amounts map[string]int64, times int64) bool {
	if p.freeCores() < cores || p.freeMemory() < memory*times {
		return false
	}
	for name, amount := range amounts {
		if amount > 0 && p.freeOf(name)/amount < times {
			return false
		}
	}
	return true
}

// everFits tells whether the needs would fit if nothing was taken.
func (p *pool) everFits(cores int, memory int64, amounts map[string]int64) bool {
	if p.cores < cores || p.memory < memory {
		return false
	}
	for name, amount := range amounts {
		if int64(len(p.resources[name])) < amount {
			return false
		}
	}
	return true
}

// take takes the needs, of which it chooses the addresses.
func (p *pool) take(cores int, memory int64, amounts map[string]int64) claim {
	taken := claim{cores: cores, memory: memory}
	for name, amount := range amounts {
		for _, address := range p.resources[name] {
			if int64(len(taken.resources[name])) == amount {
				break
			}
			if p.used[name][address] > 0 {
				continue
			}
			if taken.resources == nil {
				taken.resources = map[string][]string{}
			}
			taken.resources[name] = append(taken.resources[name], address)
		}
	}
	p.add(taken)
	return taken
}

// add takes what is known to be taken.
func (p *pool) add(c claim) {
	p.usedCores += c.cores
	p.usedMemory += c.memory
	for name, addresses := range c.resources {
		for _, address := range addresses {
			if !slices.Contains(p.resources[name], address) {
				continue
			}
			if p.used[name] == nil {
				p.used[name] = map[string]int{}
			}
			p.used[name][address]++
		}
	}
}

// release gives back what add or take took.
func (p *pool) release(c claim) {
	p.usedCores -= c.cores
	p.usedMemory -= c.memory
	for name, addresses := range c.resources {
		used := p.used[name]
		for _, address := range addresses {
			if used[address] > 1 {
				used[address]--
			} else {
				delete(used, address)
			}
		}
	}
}

// resize changes what there is; what is taken stays.
func (p *pool) resize(cores uint32, memory int64, resources map[string]*protocol.Addresses) {
	p.cores, p.memory, p.resources = int(cores), memory, protocol.FromAddresses(resources)
	for name, used := range p.used {
		maps.DeleteFunc(used, func(address string, _ int) bool { return !slices.Contains(p.resources[name], address) })
	}
}
