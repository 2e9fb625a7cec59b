package allocator

import (
	"slices"
)

// anywhere is YARN's resource name for any host (ResourceRequest.ANY).
const anywhere = "*"

// asks is a copy of the ResourceRequests that the ResourceManager has for one
// priority: the number of containers to allocate on each host, in each rack and
// anywhere. The ResourceManager lowers the numbers as it allocates. A heartbeat contains
// only the numbers that change, because repeating a number would ask again for containers
// that were allocated in the meantime.
type asks struct {
	rackOf         func(host string) string
	knownToManager map[string]int // the numbers that the ResourceManager should have
	rackSums       map[string]int // by rack, the sum of the numbers of its hosts
	// previous has, for each number in the last heartbeat, the number that it replaced. The
	// containers in that heartbeat's answer were allocated before the heartbeat arrived, so
	// they lowered the replaced numbers.
	previous map[string]int
	// uncertainRacks has the racks whose number the ResourceManager may not have lowered. If
	// it delays rack-local containers for longer than off-switch containers, it may have
	// allocated a container in the rack as an off-switch container
	// (RegularContainerAllocator.canAssign).
	uncertainRacks map[string]struct{}
}

type ask struct {
	name  string // a host, a rack, or anywhere
	count int
}

// placementLevel is how close an allocated container is to a requested host.
type placementLevel int

const (
	onHost placementLevel = iota
	inRack
	elsewhere
)

func newAsks(rackOf func(string) string) asks {
	return asks{
		rackOf: rackOf, knownToManager: map[string]int{}, rackSums: map[string]int{},
		previous: map[string]int{}, uncertainRacks: map[string]struct{}{},
	}
}

// change sets the numbers to ask for: total containers anywhere, and the numbers in
// locations on hosts and in racks. It returns the numbers to send. The numbers of hosts and
// racks may add up to more than total, but the ResourceManager allocates at most total
// containers.
func (a *asks) change(total int, locations locations) []ask {
	wanted := make(map[string]int, 2*len(locations.hosts)+1)
	clear(a.rackSums)
	for host, count := range locations.hosts {
		if count = min(count, total); count > 0 {
			wanted[host] = count
			a.rackSums[a.rackOf(host)] += count
		}
	}
	for rack, count := range a.rackSums {
		wanted[rack] = min(count, total)
	}
	for rack, count := range locations.racks {
		if count = min(wanted[rack]+count, total); count > 0 {
			wanted[rack] = count
		}
	}
	if total > 0 {
		wanted[anywhere] = total
	}
	var send []ask
	for name := range a.knownToManager {
		if wanted[name] == 0 {
			send = append(send, ask{name, 0})
		}
	}
	for name, count := range wanted {
		if _, unsure := a.uncertainRacks[name]; unsure || count != a.knownToManager[name] {
			send = append(send, ask{name, count})
		}
	}
	for name := range a.uncertainRacks {
		if wanted[name] == 0 && a.knownToManager[name] == 0 {
			send = append(send, ask{name, 0})
		}
	}
	clear(a.uncertainRacks)
	for _, ask := range send {
		if _, ok := a.previous[ask.name]; !ok {
			a.previous[ask.name] = a.knownToManager[ask.name]
		}
	}
	a.knownToManager = wanted
	slices.SortFunc(send, func(x, y ask) int { return compareNames(x.name, y.name) })
	return send
}

// allocated lowers the numbers as the ResourceManager did when it allocated a
// container on host: by one at the closest level that asked for one and at the
// levels above (LocalityAppPlacementAllocator.allocate). It returns the closest
// level. Call it in the answer's order.
func (a *asks) allocated(host string) placementLevel {
	rack := a.rackOf(host)
	level := elsewhere
	if a.countBefore(rack) > 0 {
		level = inRack
		if a.countBefore(host) > 0 {
			level = onHost
			if a.lower(host) && a.rackSums[rack] > 0 {
				a.rackSums[rack]--
			}
		} else {
			a.uncertainRacks[rack] = struct{}{}
		}
		a.lower(rack)
	}
	a.lower(anywhere)
	return level
}

// countBefore returns the number asked for at name before the current answer's containers
// were allocated.
func (a *asks) countBefore(name string) int {
	if count, ok := a.previous[name]; ok {
		return count
	}
	return a.knownToManager[name]
}

// lower subtracts one from the number of name and returns true. If the last heartbeat
// replaced that number, lower subtracts one from the replaced number and returns false.
func (a *asks) lower(name string) bool {
	if count, ok := a.previous[name]; ok {
		a.previous[name] = max(0, count-1)
		return false
	}
	if a.knownToManager[name] > 1 {
		a.knownToManager[name]--
	} else {
		delete(a.knownToManager, name)
	}
	return true
}

// responseApplied must be called after all containers of an answer were passed to allocated.
func (a *asks) responseApplied() { clear(a.previous) }

// isStuck reports whether containers are asked for on a host of the rack, but none in the
// rack, because containers on other hosts have used up the rack's number. YARN then
// allocates nothing on that host.
func (a *asks) isStuck(rack string) bool {
	return a.knownToManager[rack] == 0 && a.rackSums[rack] > 0 && a.knownToManager[anywhere] > 0
}

// reset resets all numbers after the ResourceManager has restarted.
func (a *asks) reset() {
	clear(a.knownToManager)
	clear(a.rackSums)
	clear(a.previous)
	clear(a.uncertainRacks)
}

// outstanding returns how many requested containers are not allocated yet.
func (a *asks) outstanding() int { return a.knownToManager[anywhere] }

// compareNames orders names from the closest level to the farthest: anywhere comes last.
func compareNames(x, y string) int {
	switch {
	case x == y:
		return 0
	case x == anywhere:
		return 1
	case y == anywhere, x < y:
		return -1
	default:
		return 1
	}
}
