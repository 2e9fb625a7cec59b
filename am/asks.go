package am

import (
	"slices"
)

// anywhere is the resource name that stands for every host (ResourceRequest.ANY).
const anywhere = "*"

// asks keeps what the ResourceManager believes that this application asks for
// under one priority: a number of containers for each host, for each rack and
// in all. The protocol changes these numbers by sending new ones, and the
// ResourceManager lowers them itself when it allocates; so only differences are
// sent, as a number sent twice would ask for its containers again.
type asks struct {
	rackOf   func(host string) string
	believed map[string]int
	named    map[string]int // of the hosts' numbers, their sum by rack
	// sent holds the numbers that the last heartbeat replaced. The containers in
	// its answer were allocated before that, and lowered these.
	sent map[string]int
	// unsure are racks whose number the ResourceManager may not have lowered: it
	// may call a container off-switch that is in the rack, where the delay for a
	// rack is the longer one (RegularContainerAllocator.canAssign).
	unsure map[string]struct{}
}

// ask is one number to send.
type ask struct {
	name  string // a host, a rack, or anywhere
	count int
}

// closeness is how near to what was asked for a container is.
type closeness int

const (
	onHost closeness = iota
	inRack
	elsewhere
)

func newAsks(rackOf func(string) string) asks {
	return asks{
		rackOf: rackOf, believed: map[string]int{}, named: map[string]int{},
		sent: map[string]int{}, unsure: map[string]struct{}{},
	}
}

// change makes total what is asked for, at the places of w, and returns what
// must be sent for it. It may ask at more places than total: the number for
// anywhere is the one that the ResourceManager never exceeds.
func (a *asks) change(total int, w wish) []ask {
	wanted := make(map[string]int, 2*len(w.hosts)+1)
	clear(a.named)
	for host, count := range w.hosts {
		if count = min(count, total); count > 0 {
			wanted[host] = count
			a.named[a.rackOf(host)] += count
		}
	}
	for rack, count := range a.named {
		wanted[rack] = min(count, total)
	}
	for rack, count := range w.racks {
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
		if _, twice := a.sent[ask.name]; !twice {
			a.sent[ask.name] = a.believed[ask.name]
		}
	}
	a.believed = wanted
	slices.SortFunc(send, func(x, y ask) int { return compareNames(x.name, y.name) })
	return send
}

// allocated does what the ResourceManager did to its numbers when it allocated
// a container on host: it took one from the closest level that asked for one,
// and from the levels above it (LocalityAppPlacementAllocator.allocate and
// canAllocate). Containers are to be told of in the order of the answer.
func (a *asks) allocated(host string) closeness {
	rack := a.rackOf(host)
	near := elsewhere
	if a.before(rack) > 0 {
		near = inRack
		if a.before(host) > 0 {
			near = onHost
			if a.lower(host) && a.named[rack] > 0 {
				a.named[rack]--
			}
		} else {
			a.unsure[rack] = struct{}{}
		}
		a.lower(rack)
	}
	a.lower(anywhere)
	return near
}

// before is the number by which containers were allocated that arrive now.
func (a *asks) before(name string) int {
	if count, ok := a.sent[name]; ok {
		return count
	}
	return a.believed[name]
}

// lower reports whether it is the number at hand that was lowered, and not one
// that was replaced meanwhile.
func (a *asks) lower(name string) bool {
	if count, ok := a.sent[name]; ok {
		a.sent[name] = max(0, count-1)
		return false
	}
	if a.believed[name] > 1 {
		a.believed[name]--
	} else {
		delete(a.believed, name)
	}
	return true
}

// answered is to be called when the answer's containers have been told of.
func (a *asks) answered() { clear(a.sent) }

// stuck reports whether a host is asked for whose rack is not, because its
// number was used up by other hosts. The ResourceManager then neither serves
// the host nor anything else of the application on it.
func (a *asks) stuck(rack string) bool {
	return a.believed[rack] == 0 && a.named[rack] > 0 && a.believed[anywhere] > 0
}

// forget is for a ResourceManager that knows nothing of this application's
// asks any more: all are sent again.
func (a *asks) forget() {
	clear(a.believed)
	clear(a.named)
	clear(a.sent)
	clear(a.unsure)
}

// outstanding is how many containers are asked for and not allocated yet.
func (a *asks) outstanding() int { return a.believed[anywhere] }

// compareNames orders names with anywhere last, so that a message reads from
// the closest level to the farthest.
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
