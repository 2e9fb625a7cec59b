package allocator

import (
	"slices"
)

// anywhere is YARN's resource name for any host (ResourceRequest.ANY).
const anywhere = "*"

// asks is a copy of the ResourceRequests that the ResourceManager stores for one priority: the
// numbers of containers to allocate on each host, in each rack and anywhere. The ResourceManager
// lowers these numbers when it allocates containers. A heartbeat contains only changed numbers. If
// it repeated an unchanged number, the ResourceManager would again allocate containers that it has
// allocated in the meantime.
type asks struct {
	rackOf         func(host string) string
	knownToManager map[string]int // numbers that the ResourceManager should have now, by host, rack or anywhere
	rackSums       map[string]int // sum of the numbers requested on the hosts of each rack
	// previous contains, for each number in the last heartbeat, the number that it replaced. The
	// containers in the answer to that heartbeat were allocated before the ResourceManager received
	// the heartbeat, so they lowered the replaced numbers.
	previous map[string]int
	// uncertainRacks contains the racks whose number the ResourceManager may not have lowered. If
	// its delay for rack-local containers is longer than its delay for off-switch containers, it
	// may have allocated a container in the rack as an off-switch container
	// (RegularContainerAllocator.canAssign).
	uncertainRacks map[string]struct{}
}

type ask struct {
	name  string // host, rack or anywhere
	count int
}

// placementLevel is the distance of an allocated container from a requested host.
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

// change sets the numbers of containers to request. It returns the numbers that the next heartbeat
// must contain. total is the number of containers on all hosts together. locations contains the
// numbers on single hosts and in racks. The sum of these numbers may exceed total, but the
// ResourceManager still allocates at most total containers.
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

// allocated lowers numbers of requested containers by one, as the ResourceManager did when it
// allocated a container on this host: the number at the closest level (host, rack or anywhere) with
// a number above 0, and the numbers at all wider levels (LocalityAppPlacementAllocator.allocate).
// It returns the closest level. It must be called once for each allocated container, in the order
// in which the answer to the heartbeat lists the containers.
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

// countBefore returns the number for name that the ResourceManager stored before it allocated the
// containers in the answer that is being applied.
func (a *asks) countBefore(name string) int {
	if count, ok := a.previous[name]; ok {
		return count
	}
	return a.knownToManager[name]
}

// lower subtracts one from the number for name and returns true. If the last heartbeat replaced
// that number, lower instead subtracts one from the replaced number and returns false.
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

// responseApplied must be called after allocated was called for all containers of an answer.
func (a *asks) responseApplied() { clear(a.previous) }

// isStuck reports whether YARN cannot allocate the containers that are requested on hosts of the
// rack. This happens if containers on other hosts of the rack have lowered the rack's number to 0.
func (a *asks) isStuck(rack string) bool {
	return a.knownToManager[rack] == 0 && a.rackSums[rack] > 0 && a.knownToManager[anywhere] > 0
}

// reset sets all numbers to 0, because the ResourceManager has restarted.
func (a *asks) reset() {
	clear(a.knownToManager)
	clear(a.rackSums)
	clear(a.previous)
	clear(a.uncertainRacks)
}

// outstanding returns the number of requested containers that are not allocated yet.
func (a *asks) outstanding() int { return a.knownToManager[anywhere] }

// compareNames orders names for a heartbeat: hosts and racks by name, and anywhere last.
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
