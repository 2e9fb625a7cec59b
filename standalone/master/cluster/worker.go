package cluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// address is where a worker can be reached. At most one live worker has it.
type address struct {
	host string
	port uint32
}

// worker is a machine, or a part of one.
type worker struct {
	id       string
	address  address
	webURL   string
	capacity capacity
	arrival  int

	attached  bool
	recovered bool // from the store, and not attached yet
	dead      bool
	heard     time.Time
	since     time.Time // detached, or dead
	reason    string    // of its death, or of its decommissioning

	decommissioning bool
	decommission    bool // as it was asked for here
	deadline        time.Time
	acknowledged    uint64

	executors map[executorKey]*executor
	runs      map[runKey]*run
}

func (w *worker) record() *WorkerRecord {
	return &WorkerRecord{
		Id: w.id, Host: w.address.host, Port: w.address.port, WebUrl: w.webURL,
		Cores: uint32(w.capacity.cores), Memory: w.capacity.memory, Resources: protocol.ToAddresses(w.capacity.resources),
	}
}

// schedulable tells whether anything new may go there.
func (w *worker) schedulable() bool { return w.attached && !w.dead && !w.decommissioning }

func (w *worker) name() string { return fmt.Sprintf("worker %s on %s", w.id, w.address.host) }

// AttachWorker takes a worker's registration, its first one or a later one. The
// error says why it is refused for good.
func (c *Cluster) AttachWorker(now time.Time, hello *protocol.WorkerHello) error {
	if err := checkWorker(hello); err != nil {
		return err
	}
	at := address{hello.GetHost(), hello.GetPort()}
	if other := c.byAddress[at]; other != nil && other.id != hello.GetWorkerId() {
		c.loseWorker(now, other, "another worker has taken its address")
	}
	w := c.workers[hello.GetWorkerId()]
	switch {
	case w == nil:
		w = c.newWorker(hello.GetWorkerId(), at, newCapacity(hello.GetCores(), hello.GetMemory(), hello.GetResources()))
		c.note("a worker has registered", "worker", w.id, "host", at.host, "cores", w.capacity.cores, "memory", w.capacity.memory)
	default:
		if w.address != at {
			delete(c.byAddress, w.address)
			w.address = at
		}
		if w.dead {
			w.decommissioning, w.decommission = false, false
		}
		w.capacity.resize(hello.GetCores(), hello.GetMemory(), hello.GetResources())
		c.note("a worker has come back", "worker", w.id, "host", at.host, "executors", len(hello.GetExecutors()))
	}
	c.byAddress[at] = w
	w.webURL = hello.GetWebUrl()
	w.attached, w.recovered, w.dead, w.heard = true, false, false, now
	w.acknowledged = hello.GetSequence()
	c.put(kindWorker, w.id, w.record())
	// They were for the stream before, and all is told again.
	delete(c.effects.Workers, w.id)
	c.effects.LostWorkers = slices.DeleteFunc(c.effects.LostWorkers, func(lost string) bool { return lost == w.id })
	c.orderWorker(w).Acknowledged = w.acknowledged
	if hello.GetDecommissioning() && !w.decommissioning {
		c.leave(w, "its worker is being decommissioned", time.Time{})
	} else if w.decommission && !hello.GetDecommissioning() {
		c.orderWorker(w).Decommission = true
	}

	for _, a := range c.ended.all {
		if a.touched[w.id] { // it may have been away when it was told
			order := c.orderWorker(w)
			order.FinishedApplications = append(order.FinishedApplications, a.id)
		}
	}

	executors := map[executorKey]bool{}
	for _, report := range hello.GetExecutors() {
		executors[executorKey{report.GetApplicationId(), report.GetExecutorId()}] = true
		c.hearExecutor(now, w, report)
	}
	runs := map[runKey]bool{}
	for _, report := range hello.GetDrivers() {
		runs[runKey{report.GetDriverId(), report.GetLaunch()}] = true
		c.hearDriver(now, w, report)
	}
	c.reconcileExecutors(now, w, executors)
	c.reconcileDrivers(now, w, runs)
	c.dirty = true
	c.recoverIfAllAreBack(now)
	return nil
}

func (c *Cluster) newWorker(id string, at address, has capacity) *worker {
	w := &worker{
		id: id, address: at, capacity: has, arrival: c.arrivals,
		executors: map[executorKey]*executor{}, runs: map[runKey]*run{},
	}
	c.arrivals++
	c.workers[id] = w
	c.byAddress[at] = w
	return w
}

// DetachWorker says that a worker's stream has broken.
func (c *Cluster) DetachWorker(now time.Time, id string) {
	if w := c.workers[id]; w != nil && w.attached {
		w.attached, w.since = false, now
		delete(c.effects.Workers, id)
		c.note("the connection to a worker has broken", "worker", id, "host", w.address.host)
	}
}

// Heartbeat says that a worker has been heard.
func (c *Cluster) Heartbeat(now time.Time, id string) {
	if w := c.workers[id]; w != nil {
		w.heard = now
	}
}

// WorkerReport takes what has changed on a worker.
func (c *Cluster) WorkerReport(now time.Time, id string, report *protocol.WorkerReport) {
	w := c.workers[id]
	if w == nil || !w.attached {
		return
	}
	w.heard = now
	if report.GetSequence() > w.acknowledged {
		for _, one := range report.GetExecutors() {
			c.hearExecutor(now, w, one)
		}
		for _, one := range report.GetDrivers() {
			c.hearDriver(now, w, one)
		}
		w.acknowledged = report.GetSequence()
	}
	c.orderWorker(w).Acknowledged = w.acknowledged
}

// WorkerDecommissioning says that a worker will go. deadline may be zero.
func (c *Cluster) WorkerDecommissioning(now time.Time, id, reason string, deadline time.Time) {
	if w := c.workers[id]; w != nil && !w.dead {
		w.heard = now
		if reason == "" {
			reason = "its worker is being decommissioned"
		}
		c.leave(w, reason, deadline)
	}
}

// Decommission asks workers to go: those with the ids, and all on the hosts. It
// returns how many it has asked.
func (c *Cluster) Decommission(ids, hosts []string) int {
	asked := 0
	for _, w := range c.inOrder() {
		if w.dead || !slices.Contains(ids, w.id) && !slices.Contains(hosts, w.address.host) {
			continue
		}
		asked++
		w.decommission = true
		c.orderWorker(w).Decommission = true
		if !w.decommissioning { // else it has said why, and until when
			c.leave(w, "its worker is being decommissioned", time.Time{})
		}
	}
	return asked
}

// leave has a worker take nothing new, and tells applications what they will lose.
func (c *Cluster) leave(w *worker, reason string, deadline time.Time) {
	if w.decommissioning && w.deadline.Equal(deadline) {
		return
	}
	w.decommissioning, w.reason, w.deadline = true, reason, deadline
	c.dirty = true
	c.note("a worker is being decommissioned", "worker", w.id, "host", w.address.host, "reason", reason)
	affected := map[*application]*protocol.ExecutorNotice{}
	for _, e := range w.inOrder() {
		if e.application == nil || e.killing {
			continue
		}
		e.discount(func() { e.leaving = true })
		notice := affected[e.application]
		if notice == nil {
			notice = w.notice()
			affected[e.application] = notice
			order := c.orderApplication(e.application)
			order.Notices = append(order.Notices, notice)
		}
		notice.Executors = append(notice.Executors, e.key.id)
	}
}

// notice says of no executor yet that the worker takes it away.
func (w *worker) notice() *protocol.ExecutorNotice {
	notice := &protocol.ExecutorNotice{Reason: w.reason}
	if !w.deadline.IsZero() {
		notice.Deadline = w.deadline.UnixNano()
	}
	return notice
}

// WorkerLeaving says that a worker stops in order: what it ran has ended.
func (c *Cluster) WorkerLeaving(now time.Time, id string) {
	if w := c.workers[id]; w != nil {
		c.note("a worker has left", "worker", id, "host", w.address.host)
		c.forgetWorker(now, w, "it was stopped")
	}
}

// loseWorker takes a worker for dead that has not said so.
func (c *Cluster) loseWorker(now time.Time, w *worker, reason string) {
	if !w.dead {
		c.warn("a worker is lost", "worker", w.id, "host", w.address.host, "reason", reason,
			"executors", len(w.executors), "drivers", len(w.runs))
		c.forgetWorker(now, w, reason)
	}
}

// forgetWorker ends all that a worker had.
func (c *Cluster) forgetWorker(now time.Time, w *worker, reason string) {
	if w.dead {
		return
	}
	if w.attached {
		c.effects.LostWorkers = append(c.effects.LostWorkers, w.id)
	}
	w.attached, w.recovered, w.dead, w.since, w.reason = false, false, true, now, reason
	delete(c.effects.Workers, w.id)
	if c.byAddress[w.address] == w {
		delete(c.byAddress, w.address)
	}
	c.put(kindWorker, w.id, nil)
	for _, e := range w.inOrder() {
		state := protocol.ExecutorState_EXECUTOR_LOST
		if e.killing {
			state = protocol.ExecutorState_EXECUTOR_KILLED
		}
		c.endExecutor(now, e, state, w.name()+" is lost: "+reason, 0)
	}
	for _, r := range w.runsInOrder() {
		c.loseRun(now, r, w.name()+" is lost: "+reason)
	}
	c.dirty = true
	c.recoverIfAllAreBack(now)
}
