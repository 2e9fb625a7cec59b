package yarntest

import (
	"errors"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// Restart stops the active ResourceManager and, when the duration down has passed, starts it
// again with its stored state. Nodes register again at their next heartbeats and report their
// containers.
func (c *Cluster) Restart(down time.Duration) {
	c.do(func() {
		m := c.active()
		if m == nil {
			return
		}
		c.stopMaster(m, false)
		c.after(down, func() { c.activate(m) })
	})
}

// Failover makes the active ResourceManager a standby and, when the duration gap has passed,
// activates another one. It fails if no ResourceManager is active or the cluster has only one.
func (c *Cluster) Failover(gap time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.changed()
	m := c.active()
	if m == nil {
		return errors.New("no ResourceManager is active")
	}
	if len(c.masters) < 2 {
		return errors.New("there is only one ResourceManager: set Options.Masters")
	}
	c.stopMaster(m, true)
	next := c.masters[(slices.Index(c.masters, m)+1)%len(c.masters)]
	c.after(gap, func() { c.activate(next) })
	return nil
}

// stopMaster stops the active ResourceManager m or, if standby is true, makes it a standby.
func (c *Cluster) stopMaster(m *master, standby bool) {
	c.log("the ResourceManager stops", "standby", standby)
	m.up = standby
	_ = m.serve(false) // cannot fail, because the argument is false
	if !standby {
		m.web.close()
	}
	c.cancel(c.nextPreemption)
	for _, n := range c.nodes {
		n.registration = nil
		c.cancel(n.pendingHeartbeat)
		n.pendingHeartbeat = nil
		n.held, n.used = nil, yarn.Resource{}
		n.cleanups, n.launches = nil, nil
	}
	for _, q := range c.queues {
		q.used = yarn.Resource{}
	}
	c.demand = 0
	for _, app := range c.applications {
		for _, a := range app.attempts {
			c.forget(a)
		}
	}
}

// forget removes the part of an attempt's state that is lost when the ResourceManager stops,
// because it is not in the state store.
func (c *Cluster) forget(a *attempt) {
	for _, k := range a.held {
		c.cancel(k.expiry)
		k.counted = false
		if k.process == absent {
			k.stage = forgotten
			k.endedAt = time.Now()
		}
	}
	a.held, a.newlyAllocated, a.newlyCompleted, a.nodeUpdates, a.strict, a.contract = nil, nil, nil, nil, nil, nil
	a.table, a.registered, a.last, a.lastID = table{}, false, nil, -1
	clear(a.blacklist)
	clear(a.tokensFor)
	clear(a.pendingReleases)
	c.cancel(a.expiry)
	// Nodes that still know an exited container report the exit again when they register.
	if !a.ended {
		for _, n := range c.nodes {
			for _, k := range n.local {
				if k.attempt == a && k.process == exited && k.reported {
					k.stage = launched
				}
			}
		}
	}
}

// activate makes a ResourceManager active, with the stored state. It has no effect if a
// ResourceManager is active already.
func (c *Cluster) activate(m *master) {
	if c.active() != nil || c.closed {
		return
	}
	if err := errors.Join(m.web.open(), m.serve(true)); err != nil {
		// The port is in use. Try again later.
		_ = m.serve(false)
		c.after(time.Second, func() { c.activate(m) })
		return
	}
	m.up = true
	c.epoch++
	c.identifier = max(time.Now().UnixMilli(), c.identifier+1)
	c.lastApplication = 0
	c.recovered = time.Now().Add(c.options.RecoveryTime)
	c.log("a ResourceManager is active", "epoch", c.epoch)
	for _, app := range c.running() {
		a := app.current()
		switch {
		case a.finishing && a.app.stored:
			c.end(app, yarn.ApplicationFinished, app.final, app.diagnostics)
		case app.Managed && a.master == nil:
			c.closeAttempt(a, false)
			c.newAttempt(app)
		default:
			a.finishing = false
			c.ping(a)
		}
	}
	for _, n := range c.nodes {
		n.scheduleHeartbeat()
	}
	if c.options.PreemptionInterval > 0 {
		c.nextPreemption = c.after(c.options.PreemptionInterval, c.preemptionRound)
	}
}
