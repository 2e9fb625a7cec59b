package scheduler

// host is a node that an executor of a profile runs on or a task of it prefers.
type host struct {
	name    string
	profile *profile
	// rack is nil as long as it is not known.
	rack *rack
	// executors is how many are here that may be given tasks, sizes how large.
	executors int
	sizes     sizes
	free      freeCores
	// waiting is how many waiting tasks prefer this host.
	waiting int
	// references are the executors and task sets that know it; without any it
	// is forgotten.
	references int
}

// rack is some hosts near to each other, of one profile.
type rack struct {
	name      string
	executors int
	free      freeCores
	// references are its hosts.
	references int
}

// host returns a profile's host of that name, with one more reference.
func (s *Scheduler) host(p *profile, name string) *host {
	h := p.hosts[name]
	if h == nil {
		h = &host{name: name, profile: p, free: freeCores{scope: hostScope}}
		if rack := s.rackOf(name); rack != "" {
			h.rack = p.rack(rack)
		}
		p.hosts[name] = h
	}
	h.references++
	return h
}

// rackOf is the name of a host's rack as it is configured, or was learned; ""
// where it is not known.
func (s *Scheduler) rackOf(host string) string {
	if s.config.RackOf != nil {
		if rack := s.config.RackOf(host); rack != "" {
			return rack
		}
	}
	for _, p := range s.profiles {
		if h := p.hosts[host]; h != nil && h.rack != nil {
			return h.rack.name
		}
	}
	return ""
}

func (p *profile) rack(name string) *rack {
	r := p.racks[name]
	if r == nil {
		r = &rack{name: name, free: freeCores{scope: rackScope}}
		p.racks[name] = r
	}
	r.references++
	return r
}

func (p *profile) releaseHost(h *host) {
	if h.references--; h.references > 0 {
		return
	}
	delete(p.hosts, h.name)
	if h.rack != nil {
		if h.rack.references--; h.rack.references == 0 {
			delete(p.racks, h.rack.name)
		}
	}
}

// learnRack puts a host whose rack was not known into one.
func (s *Scheduler) learnRack(host, rack string) {
	for _, p := range s.profiles {
		if h := p.hosts[host]; h != nil {
			p.learnRack(h, rack)
		}
	}
}

func (p *profile) learnRack(h *host, name string) {
	h.rack = p.rack(name)
	for e := range h.free.atLeast(1) {
		h.rack.free.add(e)
	}
	for _, set := range p.sets {
		if place := set.hosts[h]; place != nil {
			set.joinRack(place)
		}
		set.settled = false // its tasks may be rack-local to others now, or others' to it
	}
	p.addToRack(h.rack, h.executors)
}

// addToRack counts executors that are new in a rack, or gone from it.
func (p *profile) addToRack(r *rack, executors int) {
	turn := crossing(&r.executors, executors)
	if turn == 0 {
		return
	}
	for _, set := range p.sets {
		if g := set.racks[r]; g != nil && g.waiting > 0 {
			set.live[RackLocal] += turn
		}
	}
}

// addToHost counts an executor that from now on may be given tasks (1) or may
// not (-1).
func (p *profile) addToHost(e *executor, change int) {
	h := e.host
	h.sizes.add(e, change)
	p.sizes.add(e, change)
	turn := crossing(&h.executors, change)
	for _, set := range p.sets {
		if turn != 0 {
			if place := set.hosts[h]; place != nil && place.waiting > 0 {
				set.live[NodeLocal] += turn
			}
		}
		if place := set.executors[e.ID]; place != nil {
			place.executor = nil
			if change > 0 {
				place.executor = e
			}
			if place.waiting > 0 {
				set.live[ProcessLocal] += change
			}
		}
	}
	if h.rack != nil {
		p.addToRack(h.rack, change)
	}
}
