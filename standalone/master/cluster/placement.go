package cluster

import (
	"cmp"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// candidate is a worker on which an executor fits, and the resources that were assigned on the
// worker.
type candidate struct {
	worker       *worker
	cores        int  // number of cores assigned in this placement
	executors    int  // number of executors assigned in this placement
	running      int  // number of the application's executors on the worker before this placement
	failures     int  // number of the application's executors that have failed on the worker
	missingLocal *int // how many more cores the tasks that prefer this host need; all workers on the host share the variable; nil if no task prefers the host
}

// missing returns how many more cores the tasks that prefer this host need.
func (c *candidate) missing() int {
	if c.missingLocal == nil {
		return 0
	}
	return max(*c.missingLocal, 0)
}

// placement assigns one application's executors of one profile to workers.
type placement struct {
	profile     *protocol.ExecutorProfile
	size        size // size of an executor; the smallest size if wholeWorker
	wholeWorker bool // whether each executor gets all free cores of its worker
	candidates  []*candidate
	coresLeft   int // how many more cores the application may use
	wanted      int // number of executors still to assign
}

// placeExecutors launches as many of a profile's requested executors as fit, like
// scheduleExecutorsOnWorkers of Spark's Master.scala.
func (c *Cluster) placeExecutors(now time.Time, a *application, demand *protocol.ExecutorDemand, workers []*worker) {
	profile := demand.GetProfile()
	p := &placement{
		profile:     profile,
		size:        executorSize(profile),
		wholeWorker: profile.GetCores() == 0,
		coresLeft:   c.coresLeft(a),
		wanted:      int(demand.GetTotal()) - a.live[profile.GetId()],
	}
	if p.wanted <= 0 || p.coresLeft < p.size.cores {
		return
	}
	for _, w := range workers {
		if !a.excluded[w.address.host] && w.capacity.fits(p.size, 1) {
			p.candidates = append(p.candidates, &candidate{worker: w, failures: a.failedOn[w.id]})
		}
	}
	if len(p.candidates) == 0 {
		return
	}
	p.countRunning(a, demand)
	p.sort()
	if p.assignLocal() {
		p.sort()
	}
	p.assignRest(c.options.SpreadOut)
	for _, candidate := range p.candidates {
		if p.wholeWorker && candidate.executors > 0 {
			c.launch(now, a, candidate.worker, profile, candidate.cores)
			continue
		}
		for range candidate.executors {
			c.launch(now, a, candidate.worker, profile, p.size.cores)
		}
	}
}

// countRunning sets, for each candidate, the number of the application's executors on the
// worker, and how many more cores the tasks that prefer the worker's host need.
func (p *placement) countRunning(a *application, demand *protocol.ExecutorDemand) {
	running := make(map[*worker]int, len(a.executors))
	local := make(map[string]*int, len(demand.GetHostTasks()))
	for host, tasks := range demand.GetHostTasks() {
		cores := int(tasks)
		local[host] = &cores
	}
	for _, e := range a.executors {
		if !e.isActive() {
			continue
		}
		running[e.worker]++
		if cores := local[e.worker.address.host]; cores != nil && e.profile.GetId() == p.profile.GetId() {
			*cores -= e.reserved.cores
		}
	}
	for _, c := range p.candidates {
		c.running, c.missingLocal = running[c.worker], local[c.worker.address.host]
	}
}

// sort sorts the candidates, best first: those on preferred hosts, then those with the fewest
// failures, the most free cores, and the fewest executors of the application.
func (p *placement) sort() {
	slices.SortStableFunc(p.candidates, func(a, b *candidate) int {
		return cmp.Or(
			cmp.Compare(b.missing(), a.missing()),
			cmp.Compare(a.failures, b.failures),
			cmp.Compare(b.worker.capacity.freeCores()-b.cores, a.worker.capacity.freeCores()-a.cores),
			cmp.Compare(a.running+a.executors, b.running+b.executors),
		)
	})
}

// hasRoom reports whether another executor fits on the candidate, or another core if
// wholeWorker is set.
func (p *placement) hasRoom(c *candidate) bool {
	capacity := &c.worker.capacity
	if p.coresLeft < p.size.cores || capacity.freeCores()-c.cores < p.size.cores {
		return false
	}
	if p.wholeWorker && c.executors > 0 {
		return true
	}
	return p.wanted > 0 && capacity.fits(p.size, c.executors+1)
}

func (p *placement) assign(c *candidate) {
	c.cores += p.size.cores
	p.coresLeft -= p.size.cores
	if !p.wholeWorker || c.executors == 0 {
		c.executors++
		p.wanted--
	}
}

// assignLocal assigns executors to the hosts that waiting tasks prefer, as long as these tasks
// need more cores there: each executor to the host where the most cores are missing. It reports
// whether it assigned any executor.
func (p *placement) assignLocal() (assigned bool) {
	if p.wholeWorker {
		return false
	}
	for {
		var best *candidate
		for _, c := range p.candidates {
			if c.missing() > 0 && (best == nil || c.missing() > best.missing()) && p.hasRoom(c) {
				best = c
			}
		}
		if best == nil {
			return assigned
		}
		p.assign(best)
		assigned = true
		*best.missingLocal -= p.size.cores
	}
}

// assignRest assigns the remaining executors. If spread is set, it assigns one to each worker
// in turn; otherwise it assigns as many as fit to a worker before it continues with the next.
func (p *placement) assignRest(spread bool) {
	free := slices.Clone(p.candidates)
	for len(free) > 0 {
		free = slices.DeleteFunc(free, func(c *candidate) bool { return !p.hasRoom(c) })
		for _, c := range free {
			for p.hasRoom(c) {
				p.assign(c)
				if spread {
					break
				}
			}
		}
	}
}
