package am

import (
	"maps"
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
	believed map[string]int
	rackOf   func(host string) string
}

// ask is one number to send.
type ask struct {
	name  string // a host, a rack, or anywhere
	count int
}

// change makes total and the hosts' numbers what is asked for, and returns
// what must be sent for it. Hosts' numbers add up to total at the most.
func (a *asks) change(total int, hosts map[string]int) []ask {
	wanted := map[string]int{anywhere: total}
	for host, count := range hosts {
		wanted[host] += count
		wanted[a.rackOf(host)] += count
	}
	var send []ask
	for name := range a.believed {
		if wanted[name] == 0 && a.believed[name] != 0 {
			send = append(send, ask{name, 0})
		}
	}
	for name, count := range wanted {
		if count != 0 && count != a.believed[name] {
			send = append(send, ask{name, count})
		}
	}
	maps.DeleteFunc(wanted, func(_ string, count int) bool { return count == 0 })
	a.believed = wanted
	slices.SortFunc(send, func(x, y ask) int { return compareNames(x.name, y.name) })
	return send
}

// allocated does what the ResourceManager did to its numbers when it allocated
// a container on host: it took one from the closest level that asked for one,
// and from the levels above it.
func (a *asks) allocated(host string) {
	rack := a.rackOf(host)
	if a.believed[host] > 0 {
		a.lower(host)
		a.lower(rack)
	} else if a.believed[rack] > 0 {
		a.lower(rack)
	}
	a.lower(anywhere)
}

func (a *asks) lower(name string) {
	if a.believed[name] > 1 {
		a.believed[name]--
	} else {
		delete(a.believed, name)
	}
}

// forget is for a ResourceManager that knows nothing of this application's
// asks any more: all are sent again.
func (a *asks) forget() { a.believed = map[string]int{} }

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
