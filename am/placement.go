package am

import (
	"cmp"
	"slices"
)

// wish is where executors are asked for; what is not in it may be anywhere.
type wish struct {
	hosts map[string]int
	racks map[string]int // beside those for the hosts
}

// scene is what the choice of places depends on.
type scene struct {
	missing int
	// choosy is how many of the missing executors the waiting tasks that prefer
	// a host could use.
	choosy    int
	hostTasks map[string]int                   // waiting tasks that prefer each host
	placed    map[string]int                   // executors by host
	inRack    map[string]int                   // executors by rack
	asked     map[string]int                   // what is asked for now, by name
	nodes     []string                         // hosts where executors may run
	usable    func(host string) bool           // may an executor run there?
	rackOf    func(host string) (string, bool) // false where it is not known
	shuffle   func(n int, swap func(i, j int)) // among equals
}

// place decides where to ask for the missing executors.
//
// Where the driver has said which hosts its waiting tasks prefer, each host
// should come to have executors in proportion to its tasks, as in Spark's
// LocalityPreferredContainerPlacementStrategy. Where it has not, the executors
// are spread over the cluster's nodes: data will be somewhere, and two executors
// on one node are close to half of what executors on two nodes are close to.
// In a cluster of many nodes that happens by itself, as schedulers give one
// container a heartbeat; to wait for certain nodes' heartbeats would only cost
// time, so none are named.
func place(s scene) wish {
	switch {
	case s.missing <= 0:
		return wish{}
	case len(s.hostTasks) > 0:
		return byTasks(s)
	default:
		return wish{hosts: spread(s)}
	}
}

// share is one host, or the hosts of a rack on which no executor may run.
type share struct {
	name     string
	rack     bool
	tasks    int
	placed   int
	lack     float64 // executors
	part     float64 // of an executor that it still lacks
	executor int     // that it gets
}

// nearly is which part of what an executor is asked for by makes a host worth
// being asked for beside it.
const nearly = 0.75

// byTasks gives the hosts that are furthest below their share what they lack.
// The executors that are left when each has its whole ones go to the largest
// remainders; and hosts that lack nearly as much as these are asked for beside
// them, so that whichever has room first is taken.
func byTasks(s scene) wish {
	shares, tasks, pool := sharesOf(s)
	left := min(s.missing, s.choosy)
	pool += left
	for i := range shares {
		share := &shares[i]
		share.lack = float64(pool*share.tasks)/float64(tasks) - float64(share.placed)
	}
	shares = slices.DeleteFunc(shares, func(s share) bool { return s.lack <= 0 })
	slices.SortFunc(shares, func(a, b share) int { return cmp.Or(cmp.Compare(b.lack, a.lack), cmp.Compare(a.name, b.name)) })
	for i := range shares {
		share := &shares[i]
		share.executor = min(int(share.lack), left)
		share.part = share.lack - float64(share.executor)
		left -= share.executor
	}
	least := 0.0 // of the parts for which an executor comes
	if left > 0 {
		slices.SortFunc(shares, func(a, b share) int { return cmp.Or(cmp.Compare(b.part, a.part), cmp.Compare(a.name, b.name)) })
		for i := range shares[:min(left, len(shares))] {
			if shares[i].part > 0 {
				shares[i].executor++
				least = shares[i].part
			}
		}
	}
	w := wish{hosts: make(map[string]int, len(shares)), racks: map[string]int{}}
	for _, share := range shares {
		if share.executor == 0 && least > 0 && share.part >= nearly*least {
			share.executor = 1
		}
		switch {
		case share.executor == 0:
		case share.rack:
			w.racks[share.name] = share.executor
		default:
			w.hosts[share.name] = share.executor
		}
	}
	return w
}

// sharesOf lists the places that tasks prefer, and counts their tasks and
// their executors.
func sharesOf(s scene) (shares []share, tasks, placed int) {
	shares = make([]share, 0, len(s.hostTasks))
	var racks map[string]*share
	for host, count := range s.hostTasks {
		if s.usable(host) {
			shares = append(shares, share{name: host, tasks: count, placed: s.placed[host]})
			continue
		}
		rack, known := s.rackOf(host)
		if !known {
			continue
		}
		if racks == nil {
			racks = map[string]*share{}
		}
		if racks[rack] == nil {
			racks[rack] = &share{name: rack, rack: true, placed: s.inRack[rack]}
		}
		racks[rack].tasks += count
	}
	for i := range shares {
		tasks += shares[i].tasks
		placed += shares[i].placed
		if len(racks) == 0 {
			continue
		}
		if rack, known := s.rackOf(shares[i].name); known && racks[rack] != nil {
			racks[rack].placed -= shares[i].placed
		}
	}
	for _, rack := range racks {
		shares = append(shares, *rack)
		tasks += rack.tasks
		placed += rack.placed
	}
	return shares, tasks, placed
}

// manyNodes is how many nodes there must be for each missing executor to leave
// it to chance that executors come to different ones.
const manyNodes = 4

// spread takes the nodes with the fewest executors; among equals those that
// are asked for already, or else any.
func spread(s scene) map[string]int {
	if len(s.nodes) < 2 || len(s.nodes) > manyNodes*s.missing {
		return nil
	}
	order := slices.Clone(s.nodes)
	s.shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	slices.SortStableFunc(order, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.placed[a], s.placed[b]), cmp.Compare(s.asked[b], s.asked[a]))
	})
	chosen := make(map[string]int, len(order))
	level := s.placed[order[0]] // every node below it has been raised to it
	for left := s.missing; left > 0; {
		level++
		for _, node := range order {
			if left == 0 || s.placed[node] >= level {
				break
			}
			chosen[node]++
			left--
		}
	}
	return chosen
}
