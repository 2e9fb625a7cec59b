package scheduler

import (
	"cmp"
	"slices"
)

// profile is the executors of one resource profile and the task sets that run
// on them. Sets of different profiles never compete for an executor, so each
// profile is scheduled for itself.
type profile struct {
	id int

	hosts map[string]*host
	racks map[string]*rack
	free  freeCores
	// sizes are those of all executors that may be given tasks.
	sizes sizes

	sets   map[uint64]*taskSet
	demand Demand
	// root is the tree of the pools, pools are all but it by name.
	root  *schedulable
	pools map[string]*schedulable

	// freed are the executors that came or got cores back since the latest
	// offer.
	freed []*executor
	// queuedSet is the latest set of which tasks were queued at executors; nil once
	// they were recalled.
	queuedSet *taskSet
	// What serves the offer that is being made: touched are those that have a part
	// in it, those before that they are in; saved is whether the cores that are
	// left are kept for a barrier set.
	touched []*schedulable
	saved   bool
	// savedFor is the barrier set for which cores were kept at the latest offer.
	savedFor *taskSet
}

// profile returns the profile of that id, which stays until ForgetProfile.
func (s *Scheduler) profile(id int) *profile {
	at, found := slices.BinarySearchFunc(s.profiles, id, func(p *profile, id int) int { return cmp.Compare(p.id, id) })
	if !found {
		p := &profile{id: id, hosts: make(map[string]*host), racks: make(map[string]*rack), sets: make(map[uint64]*taskSet)}
		p.root, p.pools = newRoot(&s.config)
		s.profiles = slices.Insert(s.profiles, at, p)
	}
	return s.profiles[at]
}

// known returns the profile of that id, nil where it was never named.
func (s *Scheduler) known(id int) *profile {
	at, found := slices.BinarySearchFunc(s.profiles, id, func(p *profile, id int) int { return cmp.Compare(p.id, id) })
	if !found {
		return nil
	}
	return s.profiles[at]
}

// ForgetProfile drops what is kept of a resource profile of which there is no
// executor, task set or attempt. Else it does nothing.
func (s *Scheduler) ForgetProfile(id int) {
	s.profiles = slices.DeleteFunc(s.profiles, func(p *profile) bool {
		return p.id == id && len(p.sets) == 0 && len(p.hosts) == 0 && p.demand == Demand{}
	})
}

// Profiles are the ids, in order, of all resource profiles that an executor or
// a task set had, but for those that were forgotten.
func (s *Scheduler) Profiles() []int {
	ids := make([]int, len(s.profiles))
	for i, p := range s.profiles {
		ids[i] = p.id
	}
	return ids
}

// DemandOf says how much work there is for executors of a profile, at the cost
// of reading it.
func (s *Scheduler) DemandOf(profile int) Demand {
	if p := s.known(profile); p != nil {
		return p.demand
	}
	return Demand{}
}

// PreferredHostsOf says for each host how many waiting tasks of a profile
// prefer it. It costs as much as there are hosts.
func (s *Scheduler) PreferredHostsOf(profile int) map[string]int {
	preferred := make(map[string]int)
	if p := s.known(profile); p != nil {
		p.addPreferred(preferred)
	}
	return preferred
}

func (p *profile) addPreferred(preferred map[string]int) {
	for name, h := range p.hosts {
		if h.waiting > 0 {
			preferred[name] += h.waiting
		}
	}
}
