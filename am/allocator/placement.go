package allocator

import (
	"cmp"
	"slices"
)

// locations are the numbers of executors to request on hosts and, in addition to these, in racks.
type locations struct {
	hosts map[string]int
	racks map[string]int
}

// placement is the input of place, for one profile.
type placement struct {
	missing int // number of executors to request
	// localityAware is the number of executors that waiting tasks with preferred hosts could use.
	localityAware int
	hostTasks     map[string]int                   // number of waiting tasks that prefer each host
	byHost        map[string]int                   // number of the profile's executors on each host
	byRack        map[string]int                   // number of the profile's executors in each rack
	asked         map[string]int                   // number of requested containers, by host, rack or "*"
	nodes         []string                         // hosts on which executors may run
	usable        func(host string) bool           // reports whether an executor may run on the host
	rackOf        func(host string) (string, bool) // the second result is false if the rack is unknown
	shuffle       func(n int, swap func(i, j int)) // randomizes the order of equally good nodes
}

// place determines the hosts and racks in which to request the missing executors.
//
// If waiting tasks prefer hosts, place distributes executors over these hosts in proportion to the
// tasks, as Spark's LocalityPreferredContainerPlacementStrategy does. Otherwise it distributes the
// executors evenly over the nodes, so that more of the data is on the executors' nodes. If there
// are many nodes, place requests executors on any host, because waiting for particular nodes would
// take longer. The scheduler then distributes the executors itself, because it allocates one
// container for each heartbeat of a node.
func place(in placement) locations {
	switch {
	case in.missing <= 0:
		return locations{}
	case len(in.hostTasks) > 0:
		return placeByTasks(in)
	default:
		return locations{hosts: placeBySpread(in)}
	}
}

// hostShare is the share of the executors that a preferred host gets. If executors cannot run on
// the host, its share goes to its rack.
type hostShare struct {
	name      string
	rack      bool    // name is a rack, not a host
	tasks     int     // waiting tasks that prefer the host or, for a rack, its hosts
	existing  int     // executors that the host or rack has
	shortfall float64 // executors that the host or rack lacks
	remainder float64 // shortfall - assigned
	assigned  int     // executors to request
}

// nearRemainder determines which hosts get an additional request: those whose remainder is at least
// nearRemainder times the smallest remainder of the hosts whose number of executors is rounded up.
const nearRemainder = 0.75

// placeByTasks chooses hosts by the tasks that prefer them. For each host, it computes the number
// of executors that the host lacks, and requests the integer part of this number. It requests the
// remaining executors on the hosts with the largest remainders. It also requests an executor on
// hosts with almost as large a remainder, so that YARN can use the first of these hosts with enough
// resources.
func placeByTasks(in placement) locations {
	shares, tasks, pool := sharesOf(in)
	left := min(in.missing, in.localityAware)
	pool += left
	for i := range shares {
		share := &shares[i]
		share.shortfall = float64(pool*share.tasks)/float64(tasks) - float64(share.existing)
	}
	shares = slices.DeleteFunc(shares, func(s hostShare) bool { return s.shortfall <= 0 })
	slices.SortFunc(shares, func(a, b hostShare) int {
		return cmp.Or(cmp.Compare(b.shortfall, a.shortfall), cmp.Compare(a.name, b.name))
	})
	for i := range shares {
		share := &shares[i]
		share.assigned = min(int(share.shortfall), left)
		share.remainder = share.shortfall - float64(share.assigned)
		left -= share.assigned
	}
	least := 0.0 // smallest remainder of the hosts whose number of executors is rounded up; 0 if there are none
	if left > 0 {
		slices.SortFunc(shares, func(a, b hostShare) int {
			return cmp.Or(cmp.Compare(b.remainder, a.remainder), cmp.Compare(a.name, b.name))
		})
		for i := range shares[:min(left, len(shares))] {
			if shares[i].remainder > 0 {
				shares[i].assigned++
				least = shares[i].remainder
			}
		}
	}
	chosen := locations{hosts: make(map[string]int, len(shares)), racks: map[string]int{}}
	for _, share := range shares {
		if share.assigned == 0 && least > 0 && share.remainder >= nearRemainder*least {
			share.assigned = 1
		}
		switch {
		case share.assigned == 0:
		case share.rack:
			chosen.racks[share.name] = share.assigned
		default:
			chosen.hosts[share.name] = share.assigned
		}
	}
	return chosen
}

// sharesOf returns a share for each preferred host and rack. It also returns the total numbers of
// tasks and executors of the shares.
func sharesOf(in placement) (shares []hostShare, tasks, executors int) {
	shares = make([]hostShare, 0, len(in.hostTasks))
	var racks map[string]*hostShare
	for host, count := range in.hostTasks {
		if in.usable(host) {
			shares = append(shares, hostShare{name: host, tasks: count, existing: in.byHost[host]})
			continue
		}
		rack, known := in.rackOf(host)
		if !known {
			continue
		}
		if racks == nil {
			racks = map[string]*hostShare{}
		}
		if racks[rack] == nil {
			racks[rack] = &hostShare{name: rack, rack: true, existing: in.byRack[rack]}
		}
		racks[rack].tasks += count
	}
	for i := range shares {
		tasks += shares[i].tasks
		executors += shares[i].existing
		if len(racks) == 0 {
			continue
		}
		if rack, known := in.rackOf(shares[i].name); known && racks[rack] != nil {
			racks[rack].existing -= shares[i].existing
		}
	}
	for _, rack := range racks {
		shares = append(shares, *rack)
		tasks += rack.tasks
		executors += rack.existing
	}
	return shares, tasks, executors
}

// manyNodes determines when placeBySpread names no hosts: if there are more than manyNodes nodes
// for each missing executor.
const manyNodes = 4

// placeBySpread chooses the nodes with the fewest executors. Among these, it prefers nodes in the
// current requests, and otherwise chooses at random. It returns nil if there are fewer than two
// nodes, or too many (see manyNodes).
func placeBySpread(in placement) map[string]int {
	if len(in.nodes) < 2 || len(in.nodes) > manyNodes*in.missing {
		return nil
	}
	order := slices.Clone(in.nodes)
	in.shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	slices.SortStableFunc(order, func(a, b string) int {
		return cmp.Or(cmp.Compare(in.byHost[a], in.byHost[b]), cmp.Compare(in.asked[b], in.asked[a]))
	})
	chosen := make(map[string]int, len(order))
	level := in.byHost[order[0]] // maximum number of executors that a chosen node may have
	for left := in.missing; left > 0; {
		level++
		for _, node := range order {
			if left == 0 || in.byHost[node] >= level {
				break
			}
			chosen[node]++
			left--
		}
	}
	return chosen
}
