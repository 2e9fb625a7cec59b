package cluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// Request replaces an application's request for executors. It fails if the request
// is malformed.
func (c *Cluster) Request(id string, request *protocol.ExecutorRequest) error {
	a := c.applications[id]
	if a == nil {
		return nil
	}
	profiles := map[uint32]bool{}
	for _, demand := range request.GetDemands() {
		if demand.GetProfile() == nil {
			return fmt.Errorf("application %s asks for executors without a profile", id)
		}
		if err := checkProfile(demand.GetProfile()); err != nil {
			return fmt.Errorf("application %s: %w", id, err)
		}
		if profile := demand.GetProfile().GetId(); profiles[profile] {
			return fmt.Errorf("application %s asks for executors of profile %d twice", id, profile)
		} else {
			profiles[profile] = true
		}
	}
	a.demands = slices.Clone(request.GetDemands())
	slices.SortFunc(a.demands, func(x, y *protocol.ExecutorDemand) int {
		return int(x.GetProfile().GetId()) - int(y.GetProfile().GetId())
	})
	a.excluded = map[string]bool{}
	for _, host := range request.GetExcludedHosts() {
		a.excluded[host] = true
	}
	c.dirty = true
	return nil
}

// KillExecutors stops executors of an application at the application's request.
func (c *Cluster) KillExecutors(id string, executors []uint32) {
	a := c.applications[id]
	if a == nil {
		return
	}
	for _, executorID := range executors {
		switch e := a.executors[executorID]; {
		case e != nil:
			c.kill(e)
		case !a.sentAllExecutors:
			a.killed[executorID] = true
		default:
			c.reportUnknown(a, executorID)
		}
	}
}

// reportUnknown reports to an application that an executor that it wants to stop is unknown
// and therefore lost. It does nothing if an end of the executor was already sent but is not
// acknowledged yet.
func (c *Cluster) reportUnknown(a *application, executorID uint32) {
	if a.hasEnd(executorID) {
		return
	}
	c.reportEnd(a, &protocol.ExecutorEnd{
		Id: executorID, State: protocol.ExecutorState_EXECUTOR_LOST, Text: "the master does not know it",
	})
}

// reportEnd sends an application the end of an executor. The end is sent again after each
// attach until the application has acknowledged it.
func (c *Cluster) reportEnd(a *application, end *protocol.ExecutorEnd) {
	a.sequence++
	end.Sequence = a.sequence
	a.ends = append(a.ends, end)
	order := c.orderApplication(a)
	order.Ends = append(order.Ends, end)
}

// ExecutorsRegistered records that executors have registered with their driver.
func (c *Cluster) ExecutorsRegistered(id string, executors []uint32) {
	a := c.applications[id]
	if a == nil {
		return
	}
	for _, executorID := range executors {
		switch e := a.executors[executorID]; {
		case e != nil && !e.registered:
			e.registered = true
			a.failures, a.retryAt = 0, time.Time{}
			delete(a.failedOn, e.worker.id)
			c.dirty = true
		case e == nil && !a.sentAllExecutors:
			a.registeredIDs[executorID] = true
		}
	}
}

// Acknowledge records that an application has received all executor ends up to a sequence
// number. These ends need not be sent again, so Acknowledge removes them.
func (c *Cluster) Acknowledge(id string, sequence uint64) {
	if a := c.applications[id]; a != nil {
		a.ends = slices.DeleteFunc(a.ends, func(end *protocol.ExecutorEnd) bool { return end.GetSequence() <= sequence })
	}
}

// Finish ends an application, as its driver has requested.
func (c *Cluster) Finish(now time.Time, id string, finish *protocol.Finish) {
	a := c.applications[id]
	if a == nil {
		return
	}
	a.summary = finish.GetSummary()
	if finish.GetSucceeded() {
		c.endApplication(now, a, ApplicationFinished, "")
		return
	}
	c.endApplication(now, a, ApplicationFailed, finish.GetDiagnostics())
}

// KillApplication ends an application, and reports whether the application exists. If the
// application's driver is supervised, KillApplication also kills the driver, because the
// driver would otherwise be launched again.
func (c *Cluster) KillApplication(now time.Time, id, reason string) bool {
	a := c.applications[id]
	if a == nil {
		return false
	}
	c.orderApplication(a).End = &protocol.ApplicationEnd{Reason: reason}
	driver := c.drivers[a.description.GetDriverId()]
	c.endApplication(now, a, ApplicationKilled, reason)
	if driver != nil && driver.description.GetSupervise() {
		c.KillDriver(now, driver.id)
	}
	return true
}

const (
	minRetryDelay = 100 * time.Millisecond
	maxRetryDelay = 10 * time.Second
)

// countFailure counts an executor that failed before it registered with its driver.
// Consecutive failures delay the next launch. Too many of them end the application, unless one
// of its executors is registered.
func (c *Cluster) countFailure(now time.Time, a *application, e *executor, text string) {
	a.failures++
	if a.failures > 1 {
		a.retryAt = now.Add(min(maxRetryDelay, minRetryDelay<<min(a.failures-2, 10)))
	}
	limit := c.options.MaxExecutorRetries
	if limit < 0 || a.failures < limit {
		return
	}
	for _, other := range a.executors {
		if other.registered && !other.killing {
			return
		}
	}
	reason := fmt.Sprintf("%d executors have failed one after the other before any had registered with the driver; "+
		"the last, executor %d on %s: %s", a.failures, e.key.id, e.worker.address.host, text)
	c.orderApplication(a).End = &protocol.ApplicationEnd{Reason: reason}
	c.endApplication(now, a, ApplicationFailed, reason)
}

// endApplication removes an application and stops its executors.
func (c *Cluster) endApplication(now time.Time, a *application, state ApplicationState, reason string) {
	a.state, a.reason, a.ended = state, reason, now
	c.dirty = true
	defer c.endRecoveryIfComplete(now)
	delete(c.applications, a.id)
	c.queue = slices.DeleteFunc(c.queue, func(other *application) bool { return other == a })
	for _, e := range a.executorsInOrder() {
		c.kill(e)
	}
	for id := range a.usedWorkers {
		if w := c.workers[id]; w != nil && w.attached {
			order := c.orderWorker(w)
			order.FinishedApplications = append(order.FinishedApplications, a.id)
		}
	}
	if a.attached {
		c.effects.EndedApplications = append(c.effects.EndedApplications, a.id)
	}
	c.note("an application is over", "application", a.id, "state", state, "reason", reason)
	a.ends, a.demands = nil, nil
	if a.description != nil {
		a.description = &protocol.ApplicationDescription{
			Name: a.description.GetName(), User: a.description.GetUser(), CoresMax: a.description.GetCoresMax(),
			DriverId: a.description.GetDriverId(), Submitted: a.description.GetSubmitted(),
		}
	}
	if a.registration == "" {
		return // the application never attached
	}
	forgotten := c.ended.add(a)
	c.put(kindApplication, a.id, a.record())
	for _, old := range forgotten {
		c.put(kindApplication, old.id, nil)
		delete(c.registrations, old.registration)
	}
}

func (c *Cluster) endedApplication(id string) *application {
	for _, a := range c.ended.entries {
		if a.id == id {
			return a
		}
	}
	return nil
}

func (c *Cluster) applicationHasEnded(id string) bool { return c.endedApplication(id) != nil }
