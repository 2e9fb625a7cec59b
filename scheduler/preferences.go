package scheduler

// Preferences are the places where a task runs best.
type Preferences struct {
	// Executors names executors by id, whether they exist or not: running there
	// is process-local.
	Executors []string
	// Hosts names hosts: running there is node-local, and rack-local in the
	// same rack. It should have the hosts of Executors too.
	Hosts []string
}

// preferredPlaces are the places that the tasks of a set prefer.
type preferredPlaces struct {
	places    []*place
	executors map[string]*place
	hosts     map[*host]*place
	racks     map[*rack]*rackGroup
	// rackGroups are those of racks, in order.
	rackGroups []*rackGroup
	// ofTasks are indexes of places: those of the task i are from first[i] to
	// first[i+1]. Both are nil when no task has preferences.
	ofTasks, first []int32
}

// preferred are the indexes of the places that a task prefers.
func (set *taskSet) preferred(index int32) []int32 {
	if set.first == nil {
		return nil
	}
	return set.ofTasks[set.first[index]:set.first[index+1]]
}

// prefer asks for the preferences of all tasks of a new set and lists the tasks
// at their places.
func (s *Scheduler) prefer(set *taskSet, preferences func(int) Preferences) {
	tasks := int32(len(set.states))
	set.noPref.end = tasks
	set.live[NoPref] = int(tasks)
	if preferences == nil {
		return
	}
	set.first = make([]int32, 1, tasks+1)
	set.noPref.fresh = []int32{}
	for index := range tasks {
		s.preferOne(set, preferences(int(index)))
		if int(set.first[index]) == len(set.ofTasks) {
			set.noPref.fresh = append(set.noPref.fresh, index)
		}
		set.first = append(set.first, int32(len(set.ofTasks)))
	}
	set.noPref.end = int32(len(set.noPref.fresh))
	set.live[NoPref] = len(set.noPref.fresh)
	if len(set.ofTasks) == 0 {
		set.first, set.noPref.fresh = nil, nil
		return
	}
	set.anywhere.end = tasks
	set.listFresh()
	for _, p := range set.places {
		if p.host != nil && p.host.rack != nil {
			set.joinRack(p)
		}
		waiting := len(p.fresh)
		p.count(set, waiting)
	}
}

// preferOne adds the places of the next task.
func (s *Scheduler) preferOne(set *taskSet, preferences Preferences) {
	start := len(set.ofTasks)
	add := func(p *place) {
		for _, other := range set.ofTasks[start:] {
			if other == p.number {
				return
			}
		}
		set.ofTasks = append(set.ofTasks, p.number)
		p.end++
	}
	for _, id := range preferences.Executors {
		p := set.executors[id]
		if p == nil {
			p = set.newPlace()
			if e := s.executors[id]; e != nil && e.available && e.host.profile == set.profile {
				p.executor = e
			}
			if set.executors == nil {
				set.executors = make(map[string]*place)
			}
			set.executors[id] = p
		}
		add(p)
	}
	for _, name := range preferences.Hosts {
		h := set.profile.hosts[name]
		p := set.hosts[h]
		if p == nil {
			p = set.newPlace()
			p.host = s.host(set.profile, name)
			if set.hosts == nil {
				set.hosts = make(map[*host]*place)
			}
			set.hosts[p.host] = p
		}
		add(p)
	}
}

func (set *taskSet) newPlace() *place {
	p := &place{number: int32(len(set.places))}
	set.places = append(set.places, p)
	return p
}

// listFresh lists the tasks at each place by index. The places' ends say how
// many each has; one allocation serves all.
func (set *taskSet) listFresh() {
	room := make([]int32, len(set.ofTasks))
	for _, p := range set.places {
		p.fresh, room = room[:0:p.end], room[p.end:]
	}
	for index := range int32(len(set.states)) {
		for _, i := range set.preferred(index) {
			set.places[i].fresh = append(set.places[i].fresh, index)
		}
	}
}

// joinRack adds a host's place to the group of its rack.
func (set *taskSet) joinRack(p *place) {
	g := set.racks[p.host.rack]
	if g == nil {
		g = &rackGroup{rack: p.host.rack}
		if set.racks == nil {
			set.racks = make(map[*rack]*rackGroup)
		}
		set.racks[g.rack] = g
		set.rackGroups = append(set.rackGroups, g)
	}
	p.group = g
	if !p.listed {
		p.listed = true
		g.hosts = append(g.hosts, p)
	}
	if p.waiting > 0 {
		g.count(set, 1)
	}
}
