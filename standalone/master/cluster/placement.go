package cluster

import (
	"cmp"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// slot is a worker on which executors may be placed, and what is placed there.
type slot struct {
	worker    *worker
	cores     int
	executors int
	own       int  // executors that the application has there
	failures  int  // of the application's executors there
	need      *int // tasks that prefer the host and have no core there; shared by its workers
}

// lacks is how many tasks that prefer the slot's host have no core there.
func (s *slot) lacks() int {
	if s.need == nil {
		return 0
	}
	return max(*s.need, 0)
}

// placing is the placement of one application's executors of one profile.
type placing struct {
	profile   *protocol.ExecutorProfile
	slots     []*slot
	least     int // cores of an executor, or the least that one takes
	oneEach   bool
	memory    int64 // bytes of an executor
	coresLeft int   // that may be given
	want      int   // executors
}

// placeExecutors launches what an application wants of one profile, as far as there is
// room. It follows scheduleExecutorsOnWorkers of Spark's Master.scala.
func (c *Cluster) placeExecutors(now time.Time, a *application, demand *protocol.ExecutorDemand, workers []*worker) {
	profile := demand.GetProfile()
	p := &placing{
		profile:   profile,
		least:     max(int(profile.GetCores()), 1),
		oneEach:   profile.GetCores() == 0,
		memory:    profile.GetMemory() + profile.GetOverhead(),
		coresLeft: c.coresLeft(a),
		want:      int(demand.GetTotal()) - a.live[profile.GetId()],
	}
	if p.want <= 0 || p.coresLeft < p.least {
		return
	}
	for _, w := range workers {
		if a.excluded[w.place.host] || !w.pool.fits(p.least, p.memory, profile.GetResources(), 1) {
			continue
		}
		p.slots = append(p.slots, &slot{worker: w, failures: a.failedOn[w.id]})
	}
	if len(p.slots) == 0 {
		return
	}
	p.count(a, demand)
	p.sort()
	if p.preferred() {
		p.sort()
	}
	p.fill(c.options.SpreadOut)
	for _, s := range p.slots {
		if p.oneEach && s.executors > 0 {
			c.launch(now, a, s.worker, profile, s.cores)
			continue
		}
		for range s.executors {
			c.launch(now, a, s.worker, profile, p.least)
		}
	}
}

// count finds where the application has executors, and how many tasks on each
// host these leave to others.
func (p *placing) count(a *application, demand *protocol.ExecutorDemand) {
	at := make(map[*worker]int, len(a.executors))
	needs := make(map[string]*int, len(demand.GetHostTasks()))
	for host, tasks := range demand.GetHostTasks() {
		need := int(tasks)
		needs[host] = &need
	}
	for _, e := range a.executors {
		if !e.counts() {
			continue
		}
		at[e.worker]++
		if need := needs[e.worker.place.host]; need != nil && e.profile.GetId() == p.profile.GetId() {
			*need -= e.claim.cores
		}
	}
	for _, s := range p.slots {
		s.own, s.need = at[s.worker], needs[s.worker.place.host]
	}
}

// sort puts the best workers first: where tasks want to be, where nothing has
// failed, where most cores are free.
func (p *placing) sort() {
	slices.SortStableFunc(p.slots, func(a, b *slot) int {
		return cmp.Or(
			cmp.Compare(b.lacks(), a.lacks()),
			cmp.Compare(a.failures, b.failures),
			cmp.Compare(b.worker.pool.freeCores()-b.cores, a.worker.pool.freeCores()-a.cores),
			cmp.Compare(a.own+a.executors, b.own+b.executors),
		)
	})
}

// room tells whether one more executor, or one more core of the only one, can
// be given to the slot.
func (p *placing) room(s *slot) bool {
	pool := &s.worker.pool
	if p.coresLeft < p.least || pool.freeCores()-s.cores < p.least {
		return false
	}
	if p.oneEach && s.executors > 0 {
		return true
	}
	return p.want > 0 && pool.fits(s.cores+p.least, p.memory, p.profile.GetResources(), int64(s.executors)+1)
}

func (p *placing) give(s *slot) {
	s.cores += p.least
	p.coresLeft -= p.least
	if !p.oneEach || s.executors == 0 {
		s.executors++
		p.want--
	}
}

// preferred gives executors to hosts while tasks there have none to run on, the
// host that lacks most first. It reports whether it gave any.
func (p *placing) preferred() (gave bool) {
	if p.oneEach {
		return false
	}
	for {
		var best *slot
		for _, s := range p.slots {
			if s.lacks() > 0 && (best == nil || s.lacks() > best.lacks()) && p.room(s) {
				best = s
			}
		}
		if best == nil {
			return gave
		}
		p.give(best)
		gave = true
		*best.need -= p.least
	}
}

// fill gives what is left: one after the other in turn, or as many as fit to
// each.
func (p *placing) fill(spread bool) {
	free := slices.Clone(p.slots)
	for len(free) > 0 {
		free = slices.DeleteFunc(free, func(s *slot) bool { return !p.room(s) })
		for _, s := range free {
			for p.room(s) {
				p.give(s)
				if spread {
					break
				}
			}
		}
	}
}
