package scheduler

// host is a node that an executor runs on or a task prefers.
type host struct {
	name string
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

// rack is some hosts near to each other.
type rack struct {
	name      string
	executors int
	free      freeCores
	// references are its hosts.
	references int
}

// host returns the host of that name, with one more reference.
func (s *Scheduler) host(name string) *host {
	h := s.hosts[name]
	if h == nil {
		h = &host{name: name, free: freeCores{scope: hostScope}}
		s.hosts[name] = h
		if s.config.RackOf != nil {
			if rack := s.config.RackOf(name); rack != "" {
				h.rack = s.rack(rack)
			}
		}
	}
	h.references++
	return h
}

func (s *Scheduler) rack(name string) *rack {
	r := s.racks[name]
	if r == nil {
		r = &rack{name: name, free: freeCores{scope: rackScope}}
		s.racks[name] = r
	}
	r.references++
	return r
}

func (s *Scheduler) releaseHost(h *host) {
	if h.references--; h.references > 0 {
		return
	}
	delete(s.hosts, h.name)
	if h.rack != nil {
		if h.rack.references--; h.rack.references == 0 {
			delete(s.racks, h.rack.name)
		}
	}
}

// learnRack puts a host whose rack was not known into one.
func (s *Scheduler) learnRack(h *host, name string) {
	h.rack = s.rack(name)
	for e := range h.free.atLeast(1) {
		h.rack.free.add(e)
	}
	for _, set := range s.sets {
		if p := set.hosts[h]; p != nil {
			set.joinRack(p)
		}
		set.settled = false // its tasks may be rack-local to others now, or others' to it
	}
	s.addToRack(h.rack, h.executors)
}

// addToRack counts executors that are new in a rack, or gone from it.
func (s *Scheduler) addToRack(r *rack, executors int) {
	turn := crossing(&r.executors, executors)
	if turn == 0 {
		return
	}
	for _, set := range s.sets {
		if g := set.racks[r]; g != nil && g.waiting > 0 {
			set.live[RackLocal] += turn
		}
	}
}

// addToHost counts an executor that from now on may be given tasks (1) or may
// not (-1).
func (s *Scheduler) addToHost(e *executor, change int) {
	h := e.host
	h.sizes.add(e.Cores, change)
	s.sizes.add(e.Cores, change)
	turn := crossing(&h.executors, change)
	for _, set := range s.sets {
		if turn != 0 {
			if p := set.hosts[h]; p != nil && p.waiting > 0 {
				set.live[NodeLocal] += turn
			}
		}
		if p := set.executors[e.ID]; p != nil {
			p.executor = nil
			if change > 0 {
				p.executor = e
			}
			if p.waiting > 0 {
				set.live[ProcessLocal] += change
			}
		}
	}
	if h.rack != nil {
		s.addToRack(h.rack, change)
	}
}

// sizes counts executors by how many cores they have. Executors of one
// application come in few sizes.
type sizes []struct{ cores, executors int }

func (z *sizes) add(cores, change int) {
	for i := range *z {
		if size := &(*z)[i]; size.cores == cores {
			if size.executors += change; size.executors == 0 {
				(*z)[i] = (*z)[len(*z)-1]
				*z = (*z)[:len(*z)-1]
			}
			return
		}
	}
	*z = append(*z, struct{ cores, executors int }{cores, change})
}

// atLeast is how many executors have that many cores, busy or free.
func (z sizes) atLeast(cores int) int {
	executors := 0
	for _, size := range z {
		if size.cores >= cores {
			executors += size.executors
		}
	}
	return executors
}
