package allocator

import (
	"slices"
)

// anywhere is YARN's resource name for any host (ResourceRequest.ANY).
const anywhere = "*"

// asks is a copy of the ResourceRequests that the ResourceManager has for one
// priority: the number of containers to allocate on each host, in each rack and
// anywhere. The ResourceManager lowers the numbers as it allocates. A heartbeat
// contains only the numbers that change: repeating a number would ask again for
// containers allocated in the meantime.
type asks struct {
	rackOf   func(host string) string
	believed map[string]int // the numbers that the ResourceManager should have
	byHosts  map[string]int // by rack, the sum of the numbers of its hosts
	// replaced has the old values of the numbers in the last heartbeat. Containers in
	// that heartbeat's answer were allocated before it, and lowered the old values.
	replaced map[string]int
	// unsure has the racks whose number the ResourceManager may not have lowered: it
	// may have allocated a container in the rack as an off-switch one, if it delays
	// rack-local containers for longer (RegularContainerAllocator.canAssign).
	unsure map[string]struct{}
}

type ask struct {
	name  string // a host, a rack, or anywhere
	count int
}

// closeness is how close an allocated container is to a requested host.
type closeness int

const (
	onHost closeness = iota
	inRack
	elsewhere
)

func newAsks(rackOf func(string) string) asks {
	return asks{
		rackOf: rackOf, believed: map[string]int{}, byHosts: map[string]int{},
		replaced: map[string]int{}, unsure: map[string]struct{}{},
	}
}

// change sets the numbers to ask for: total containers anywhere, and those of
// locations on hosts and in racks. It returns the numbers to send. Hosts and racks
// may add up to more than total, but the ResourceManager allocates at most total.
func (a *asks) change(total int, locations locations) []ask {
	wanted := make(map[string]int, 2*len(locations.hosts)+1)
	clear(a.byHosts)
	for host, count := range locations.hosts {
		if count = min(count, total); count > 0 {
			wanted[host] = count
			a.byHosts[a.rackOf(host)] += count
		}
	}
	for rack, count := range a.byHosts {
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
	for name := range a.believed {
		if wanted[name] == 0 {
			send = append(send, ask{name, 0})
		}
	}
	for name, count := range wanted {
		if _, unsure := a.unsure[name]; unsure || count != a.believed[name] {
			send = append(send, ask{name, count})
		}
	}
	for name := range a.unsure {
		if wanted[name] == 0 && a.believed[name] == 0 {
			send = append(send, ask{name, 0})
		}
	}
	clear(a.unsure)
	for _, ask := range send {
		if _, ok := a.replaced[ask.name]; !ok {
			a.replaced[ask.name] = a.believed[ask.name]
		}
	}
	a.believed = wanted
	slices.SortFunc(send, func(x, y ask) int { return compareNames(x.name, y.name) })
	return send
}

// allocated lowers the numbers as the ResourceManager did when it allocated a
// container on host: by one at the closest level that asked for one and at the
// levels above (LocalityAppPlacementAllocator.allocate). It returns the closest
// level. Call it in the answer's order.
func (a *asks) allocated(host string) closeness {
	rack := a.rackOf(host)
	level := elsewhere
	if a.before(rack) > 0 {
		level = inRack
		if a.before(host) > 0 {
			level = onHost
			if a.lower(host) && a.byHosts[rack] > 0 {
				a.byHosts[rack]--
			}
		} else {
			a.unsure[rack] = struct{}{}
		}
		a.lower(rack)
	}
	a.lower(anywhere)
	return level
}

// before returns the number asked for at name before the current answer's containers
// were allocated.
func (a *asks) before(name string) int {
	if count, ok := a.replaced[name]; ok {
		return count
	}
	return a.believed[name]
}

// lower subtracts one from name's number, or from its replaced value and returns false.
func (a *asks) lower(name string) bool {
	if count, ok := a.replaced[name]; ok {
		a.replaced[name] = max(0, count-1)
		return false
	}
	if a.believed[name] > 1 {
		a.believed[name]--
	} else {
		delete(a.believed, name)
	}
	return true
}

// answered must be called after all containers of an answer were passed to allocated.
func (a *asks) answered() { clear(a.replaced) }

// stuck reports whether containers are asked for on a host of the rack but not in
// the rack, whose number other hosts used up. YARN then allocates nothing on that
// host.
func (a *asks) stuck(rack string) bool {
	return a.believed[rack] == 0 && a.byHosts[rack] > 0 && a.believed[anywhere] > 0
}

// forget resets all numbers after the ResourceManager has restarted.
func (a *asks) forget() {
	clear(a.believed)
	clear(a.byHosts)
	clear(a.replaced)
	clear(a.unsure)
}

// outstanding returns how many requested containers are not allocated yet.
func (a *asks) outstanding() int { return a.believed[anywhere] }

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
