package allocator

import (
	"cmp"
	"slices"
)

// locations has the numbers of executors to ask for on hosts and, in addition, in racks.
type locations struct {
	hosts map[string]int
	racks map[string]int
}

// placement is the input of place, for one profile.
type placement struct {
	missing int // executors to ask for
	// localityAware is how many executors waiting tasks with preferences could use.
	localityAware int
	hostTasks     map[string]int                   // number of waiting tasks that prefer a host, by host
	byHost        map[string]int                   // number of the profile's executors by host
	byRack        map[string]int                   // number of the profile's executors by rack
	asked         map[string]int                   // numbers asked for now, by host, rack or anywhere
	nodes         []string                         // hosts where executors may run
	usable        func(host string) bool           // reports whether an executor may run on the host
	rackOf        func(host string) (string, bool) // false if the rack is not known
	shuffle       func(n int, swap func(i, j int)) // chooses among equally good nodes
}

// place decides where to ask for the missing executors.
//
// If waiting tasks prefer hosts, executors are distributed in proportion to the tasks, as
// by Spark's LocalityPreferredContainerPlacementStrategy. Otherwise executors are spread
// over the nodes, to be close to more of the data. With many nodes, place names no host:
// the scheduler then spreads the executors itself, because it allocates one container for
// each heartbeat of a node, and waiting for certain nodes would take longer.
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

// hostShare is a host's share of the executors. For preferred hosts that cannot run
// executors, it is the share of their rack.
type hostShare struct {
	name      string
	rack      bool    // whether name is a rack
	tasks     int     // waiting tasks that prefer the host, or hosts of the rack
	existing  int     // executors that are already there
	shortfall float64 // executors that it should have in addition
	remainder float64 // shortfall - assigned
	assigned  int     // executors to ask for
}

// A host is asked for, too, if its remainder is at least nearRemainder times the smallest
// remainder that gets an executor.
const nearRemainder = 0.75

// placeByTasks chooses hosts by the tasks that prefer them. Each host gets the integer part
// of the number of executors that it lacks; the rest goes to the hosts with the largest
// remainders. Hosts with nearly as large a remainder are asked for, too, so that YARN can
// take the first host with room.
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
	least := 0.0 // the smallest remainder that gets an executor
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

// sharesOf returns the preferred hosts and racks, with the sums of their tasks and executors.
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

// manyNodes is how many nodes there may be for each missing executor. If there are more,
// placeBySpread names no host.
const manyNodes = 4

// placeBySpread chooses the nodes with the fewest executors. Among these, it prefers nodes
// that are asked for already, and chooses at random among the rest. It returns nil if there
// are fewer than two nodes or too many; see manyNodes.
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
	level := in.byHost[order[0]] // the most executors that a chosen node may have
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
