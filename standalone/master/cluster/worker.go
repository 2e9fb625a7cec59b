package cluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// address is the host and port of a worker. No two live workers have the same address.
type address struct {
	host string
	port uint32
}

// worker is the master's state of a worker.
type worker struct {
	id       string
	address  address
	webURL   string
	capacity capacity
	index    int // position in the order of registration

	attached  bool
	recovered bool // whether the worker is from the store and has not attached yet
	dead      bool
	lastHeard time.Time
	since     time.Time // when the stream ended, or when the worker was considered dead
	reason    string    // why the worker is dead or decommissioned

	decommissioning   bool
	decommissionAsked bool // whether Decommission was called for the worker
	deadline          time.Time
	acknowledged      uint64

	executors map[executorKey]*executor
	runs      map[driverRunKey]*driverRun
}

func (w *worker) record() *WorkerRecord {
	return &WorkerRecord{
		Id: w.id, Host: w.address.host, Port: w.address.port, WebUrl: w.webURL,
		Cores: uint32(w.capacity.cores), Memory: w.capacity.memory, Resources: protocol.ToAddresses(w.capacity.resources),
	}
}

// schedulable reports whether executors and drivers may be launched on the worker.
func (w *worker) schedulable() bool { return w.attached && !w.dead && !w.decommissioning }

func (w *worker) name() string { return fmt.Sprintf("worker %s on %s", w.id, w.address.host) }

// AttachWorker registers a worker, or attaches it again. If it fails, the worker must not
// retry.
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
			w.decommissioning, w.decommissionAsked = false, false
		}
		w.capacity.resize(hello.GetCores(), hello.GetMemory(), hello.GetResources())
		c.note("a worker has come back", "worker", w.id, "host", at.host, "executors", len(hello.GetExecutors()))
	}
	c.byAddress[at] = w
	w.webURL = hello.GetWebUrl()
	w.attached, w.recovered, w.dead, w.lastHeard = true, false, false, now
	w.acknowledged = hello.GetSequence()
	c.put(kindWorker, w.id, w.record())
	// Discard the orders that were meant for the previous stream. Those that are still needed
	// are created again below.
	delete(c.effects.Workers, w.id)
	c.effects.LostWorkers = slices.DeleteFunc(c.effects.LostWorkers, func(lost string) bool { return lost == w.id })
	c.orderWorker(w).Acknowledged = w.acknowledged
	if hello.GetDecommissioning() && !w.decommissioning {
		c.decommissionWorker(w, "its worker is being decommissioned", time.Time{})
	} else if w.decommissionAsked && !hello.GetDecommissioning() {
		c.orderWorker(w).Decommission = true
	}

	for _, a := range c.ended.entries {
		if a.usedWorkers[w.id] { // the cleanup order may have been lost
			order := c.orderWorker(w)
			order.FinishedApplications = append(order.FinishedApplications, a.id)
		}
	}

	executors := map[executorKey]bool{}
	for _, report := range hello.GetExecutors() {
		executors[executorKey{report.GetApplicationId(), report.GetExecutorId()}] = true
		c.handleExecutorReport(now, w, report)
	}
	runs := map[driverRunKey]bool{}
	for _, report := range hello.GetDrivers() {
		runs[driverRunKey{report.GetDriverId(), report.GetLaunch()}] = true
		c.handleDriverReport(now, w, report)
	}
	c.reconcileExecutors(now, w, executors)
	c.reconcileDrivers(now, w, runs)
	c.dirty = true
	c.endRecoveryIfComplete(now)
	return nil
}

func (c *Cluster) newWorker(id string, address address, capacity capacity) *worker {
	w := &worker{
		id: id, address: address, capacity: capacity, index: c.nextIndex,
		executors: map[executorKey]*executor{}, runs: map[driverRunKey]*driverRun{},
	}
	c.nextIndex++
	c.workers[id] = w
	c.byAddress[address] = w
	return w
}

// DetachWorker records that a worker's stream has ended.
func (c *Cluster) DetachWorker(now time.Time, id string) {
	if w := c.workers[id]; w != nil && w.attached {
		w.attached, w.since = false, now
		delete(c.effects.Workers, id)
		c.note("the connection to a worker has broken", "worker", id, "host", w.address.host)
	}
}

// Heartbeat records that a worker is alive.
func (c *Cluster) Heartbeat(now time.Time, id string) {
	if w := c.workers[id]; w != nil {
		w.lastHeard = now
	}
}

// WorkerReport applies a worker's report of changed executors and drivers.
func (c *Cluster) WorkerReport(now time.Time, id string, report *protocol.WorkerReport) {
	w := c.workers[id]
	if w == nil || !w.attached {
		return
	}
	w.lastHeard = now
	if report.GetSequence() > w.acknowledged {
		for _, executor := range report.GetExecutors() {
			c.handleExecutorReport(now, w, executor)
		}
		for _, driver := range report.GetDrivers() {
			c.handleDriverReport(now, w, driver)
		}
		w.acknowledged = report.GetSequence()
	}
	c.orderWorker(w).Acknowledged = w.acknowledged
}

// WorkerDecommissioning records that a worker is decommissioning itself. The worker stops all
// its processes at the deadline; the zero time means that there is no deadline.
func (c *Cluster) WorkerDecommissioning(now time.Time, id, reason string, deadline time.Time) {
	if w := c.workers[id]; w != nil && !w.dead {
		w.lastHeard = now
		if reason == "" {
			reason = "its worker is being decommissioned"
		}
		c.decommissionWorker(w, reason, deadline)
	}
}

// Decommission orders the workers with these ids or on these hosts to decommission themselves.
// It returns the number of these workers.
func (c *Cluster) Decommission(ids, hosts []string) int {
	asked := 0
	for _, w := range c.workersInOrder() {
		if w.dead || !slices.Contains(ids, w.id) && !slices.Contains(hosts, w.address.host) {
			continue
		}
		asked++
		w.decommissionAsked = true
		c.orderWorker(w).Decommission = true
		if !w.decommissioning { // otherwise keep the reason and the deadline that the worker has sent
			c.decommissionWorker(w, "its worker is being decommissioned", time.Time{})
		}
	}
	return asked
}

// decommissionWorker excludes a worker from scheduling, and notifies the applications that
// have executors on it.
func (c *Cluster) decommissionWorker(w *worker, reason string, deadline time.Time) {
	if w.decommissioning && w.deadline.Equal(deadline) {
		return
	}
	w.decommissioning, w.reason, w.deadline = true, reason, deadline
	c.dirty = true
	c.note("a worker is being decommissioned", "worker", w.id, "host", w.address.host, "reason", reason)
	affected := map[*application]*protocol.ExecutorNotice{}
	for _, e := range w.executorsInOrder() {
		if e.application == nil || e.killing {
			continue
		}
		e.update(func() { e.decommissioning = true })
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

// notice returns a notice that the worker is being decommissioned. The caller adds the
// executors.
func (w *worker) notice() *protocol.ExecutorNotice {
	notice := &protocol.ExecutorNotice{Reason: w.reason}
	if !w.deadline.IsZero() {
		notice.Deadline = w.deadline.UnixNano()
	}
	return notice
}

// UnregisterWorker removes a worker that is stopping and has no executors or drivers left.
func (c *Cluster) UnregisterWorker(now time.Time, id string) {
	if w := c.workers[id]; w != nil {
		c.note("a worker has left", "worker", id, "host", w.address.host)
		c.removeWorker(now, w, "it was stopped")
	}
}

func (c *Cluster) loseWorker(now time.Time, w *worker, reason string) {
	if !w.dead {
		c.warn("a worker is lost", "worker", w.id, "host", w.address.host, "reason", reason,
			"executors", len(w.executors), "drivers", len(w.runs))
		c.removeWorker(now, w, reason)
	}
}

// removeWorker marks a worker as dead. The worker's executors and drivers are considered lost.
func (c *Cluster) removeWorker(now time.Time, w *worker, reason string) {
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
	for _, e := range w.executorsInOrder() {
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
	c.endRecoveryIfComplete(now)
}
