package yarntest

import (
	"math"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// locality is how close a container is to what was asked for.
type locality int

const (
	nowhere locality = iota
	nodeLocal
	rackLocal
	offSwitch
)

// free is what the node has left.
func (n *Node) free() yarn.Resource { return add(n.spec.Resource, n.used, -1) }

// demandChanged counts what is asked for, and makes nodes report while there is
// any.
func (c *Cluster) demandChanged() {
	before := c.demand
	c.demand = 0
	for _, app := range c.applications {
		if !app.state.Ended() {
			c.demand += app.current().table.outstanding()
		}
	}
	if before > 0 || c.demand == 0 {
		return
	}
	for _, n := range c.nodes {
		n.stir()
	}
}

// schedule gives the node containers, as CapacityScheduler does when it reports:
// as many as are local to it, and few that are not (RegularContainerAllocator,
// CapacityScheduler.canAllocateMore).
func (c *Cluster) schedule(n *Node) {
	far := 0
	total := yarn.Resource{}
	for c.demand > 0 && far < c.options.OffSwitchPerHeartbeat {
		if len(c.queues) > 1 {
			total = c.total()
		}
		got := nowhere
		for _, q := range c.byNeed(total) {
			if got = c.scheduleQueue(q, n, total); got != nowhere {
				break
			}
		}
		if got == nowhere {
			return
		}
		if got == offSwitch {
			far++
		}
	}
}

// scheduleQueue gives the node one container for the first application of a
// queue that can have one.
func (c *Cluster) scheduleQueue(q *queue, n *Node, total yarn.Resource) locality {
	for _, app := range c.applications {
		a := app.current()
		if app.queue != q || app.state.Ended() || len(a.table.keys) == 0 || a.shuns(n) {
			continue
		}
		for _, r := range a.table.keys {
			if got := c.scheduleRequests(a, r, q, n, total); got != nowhere {
				return got
			}
		}
	}
	return nowhere
}

// shuns reports whether a node is on the attempt's blacklist.
func (a *attempt) shuns(n *Node) bool {
	if n.cluster.ignoresBlacklists {
		return false
	}
	_, host := a.blacklist[n.spec.Host]
	_, rack := a.blacklist[n.spec.Rack]
	return host || rack
}

// scheduleRequests gives the node one container for one key.
func (c *Cluster) scheduleRequests(a *attempt, r *requests, q *queue, n *Node, total yarn.Resource) locality {
	any := r.rows[yarn.AnyHost]
	if any == nil || any.label != n.spec.Label {
		return nowhere
	}
	r.opportunities++
	got, from := r.place(n, len(c.nodes), c.options.NodeLocalityDelay)
	if got == nowhere || !from.resource.Fits(n.free()) || !q.allows(from.resource, total) {
		return nowhere
	}
	names := []string{yarn.AnyHost}
	switch got {
	case nodeLocal:
		names = append(names, n.spec.Host, n.spec.Rack)
	case rackLocal:
		names = append(names, n.spec.Rack)
	}
	r.lower(names...)
	c.demand--
	if got != offSwitch {
		r.opportunities = 0
	}
	c.allocate(a, n, r.key, from)
	return got
}

// place returns which row a container on the node would serve. A node that has no room
// does not count as a missed opportunity.
func (r *requests) place(n *Node, nodes, nodeDelay int) (locality, *row) {
	any := r.rows[yarn.AnyHost]
	if host := r.rows[n.spec.Host]; host != nil {
		return nodeLocal, host
	}
	if rack := r.rows[n.spec.Rack]; rack != nil {
		if rack.relax && r.opportunities > min(nodes, nodeDelay) {
			return rackLocal, rack
		}
		if !rack.relax {
			r.opportunities--
			return nowhere, nil
		}
	}
	if !any.relax {
		r.opportunities--
		return nowhere, nil
	}
	if len(r.rows) == 1 {
		return offSwitch, any
	}
	// The more places are named, the longer any other waits
	// (getLocalityWaitFactor).
	factor := min(float64(len(r.rows)-1)/float64(nodes), 1)
	if math.Min(float64(nodes), float64(any.count)*factor) < float64(r.opportunities) {
		return offSwitch, any
	}
	return nowhere, nil
}

// allocate makes a container.
func (c *Cluster) allocate(a *attempt, n *Node, key requestKey, from *row) *container {
	if a.numberEpoch != c.epoch {
		a.numberEpoch, a.numbered = c.epoch, 0
	}
	a.numbered++
	k := &container{
		id:      yarn.ContainerID{Attempt: a.id, ID: c.epoch<<40 | a.numbered},
		attempt: a, node: n, resource: from.resource, priority: key.priority, allocationRequestID: key.allocationID,
		executionType: key.executionType, label: from.label, allocatedAt: time.Now(), exit: yarn.ExitUnknown,
	}
	c.containers[k.id] = k
	c.hold(k)
	if a.app.Managed && a.master == nil {
		c.startMaster(a, k)
		return k
	}
	a.fresh = append(a.fresh, k)
	return k
}

// startMaster is the ResourceManager launching an ApplicationMaster.
func (c *Cluster) startMaster(a *attempt, k *container) {
	k.master, k.stage, a.master = true, launched, k
	k.node.local[k.id] = k
	c.begin(k)
	c.launch(a)
}

// hold adds a container to the counts.
func (c *Cluster) hold(k *container) {
	k.counted = true
	k.attempt.held = append(k.attempt.held, k)
	k.node.held = append(k.node.held, k)
	k.node.used = add(k.node.used, k.resource, 1)
	q := k.attempt.app.queue
	q.used = add(q.used, k.resource, 1)
}

// drop removes a container from the counts.
func (c *Cluster) drop(k *container) {
	if !k.counted {
		return // its node has not come back to a ResourceManager that restarted
	}
	k.counted = false
	same := func(other *container) bool { return other == k }
	k.attempt.held = slices.DeleteFunc(k.attempt.held, same)
	k.node.held = slices.DeleteFunc(k.node.held, same)
	k.node.used = add(k.node.used, k.resource, -1)
	q := k.attempt.app.queue
	q.used = add(q.used, k.resource, -1)
}
