package yarntest

import (
	"math"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

type locality int

const (
	notAllocated locality = iota
	nodeLocal
	rackLocal
	offSwitch
)

func (n *Node) free() yarn.Resource { return add(n.spec.Resource, n.used, -1) }

// demandChanged counts the requested containers that are not allocated. If the previous count
// was 0, it schedules heartbeats of all nodes, at which these containers are allocated.
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
		n.scheduleHeartbeat()
	}
}

// schedule allocates containers on a node at the node's heartbeat, as the CapacityScheduler
// does. At most Options.OffSwitchPerHeartbeat of the containers are neither node-local nor
// rack-local (RegularContainerAllocator, CapacityScheduler.canAllocateMore).
func (c *Cluster) schedule(n *Node) {
	offSwitchCount := 0
	total := yarn.Resource{}
	for c.demand > 0 && offSwitchCount < c.options.OffSwitchPerHeartbeat {
		if len(c.queues) > 1 {
			total = c.total()
		}
		got := notAllocated
		for _, q := range c.byNeed(total) {
			if got = c.scheduleQueue(q, n, total); got != notAllocated {
				break
			}
		}
		if got == notAllocated {
			return
		}
		if got == offSwitch {
			offSwitchCount++
		}
	}
}

// scheduleQueue allocates one container on the node, for the first application of the queue
// that has a request that can be allocated on the node.
func (c *Cluster) scheduleQueue(q *queue, n *Node, total yarn.Resource) locality {
	for _, app := range c.applications {
		a := app.current()
		if app.queue != q || app.state.Ended() || len(a.table.keys) == 0 || a.blacklists(n) {
			continue
		}
		for _, r := range a.table.keys {
			if got := c.scheduleRequests(a, r, q, n, total); got != notAllocated {
				return got
			}
		}
	}
	return notAllocated
}

func (a *attempt) blacklists(n *Node) bool {
	if n.cluster.ignoresBlacklists {
		return false
	}
	_, host := a.blacklist[n.spec.Host]
	_, rack := a.blacklist[n.spec.Rack]
	return host || rack
}

// scheduleRequests allocates one container on the node for the requests r, if
// locality, free resources and the queue's limit allow it.
func (c *Cluster) scheduleRequests(a *attempt, r *requests, q *queue, n *Node, total yarn.Resource) locality {
	any := r.rows[yarn.AnyHost]
	if any == nil || any.label != n.spec.Label {
		return notAllocated
	}
	r.opportunities++
	got, from := r.serve(n, len(c.nodes), c.options.NodeLocalityDelay)
	if got == notAllocated || !from.resource.Fits(n.free()) || !q.allows(from.resource, total) {
		return notAllocated
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

// serve returns the row that a container on the node would satisfy, and the container's
// locality. It returns notAllocated if there is no such row, or if the scheduler must still wait
// for a container at a requested location. If the rows exclude the node, the node's heartbeat
// does not count in opportunities.
func (r *requests) serve(n *Node, nodes, nodeDelay int) (locality, *row) {
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
			return notAllocated, nil
		}
	}
	if !any.relax {
		r.opportunities--
		return notAllocated, nil
	}
	if len(r.rows) == 1 {
		return offSwitch, any
	}
	// The more locations are requested, the longer the scheduler waits before it allocates
	// containers at other locations (getLocalityWaitFactor).
	factor := min(float64(len(r.rows)-1)/float64(nodes), 1)
	if math.Min(float64(nodes), float64(any.count)*factor) < float64(r.opportunities) {
		return offSwitch, any
	}
	return notAllocated, nil
}

// allocate allocates a container on the node. from is the row that contains the request for it.
func (c *Cluster) allocate(a *attempt, n *Node, key requestKey, from *row) *container {
	if a.countEpoch != c.epoch {
		a.countEpoch, a.containerCount = c.epoch, 0
	}
	a.containerCount++
	k := &container{
		id:      yarn.ContainerID{Attempt: a.id, ID: c.epoch<<40 | a.containerCount},
		attempt: a, node: n, resource: from.resource, priority: key.priority, allocationRequestID: key.allocationID,
		executionType: key.executionType, label: from.label, allocatedAt: time.Now(), exit: yarn.ExitUnknown,
	}
	c.containers[k.id] = k
	c.hold(k)
	if a.app.Managed && a.master == nil {
		c.startMaster(a, k)
		return k
	}
	a.newlyAllocated = append(a.newlyAllocated, k)
	return k
}

func (c *Cluster) startMaster(a *attempt, k *container) {
	k.master, k.stage, a.master = true, launched, k
	k.node.local[k.id] = k
	c.begin(k)
	c.launch(a)
}

// hold adds a container to the resources that its attempt, node and queue use.
func (c *Cluster) hold(k *container) {
	k.counted = true
	k.attempt.held = append(k.attempt.held, k)
	k.node.held = append(k.node.held, k)
	k.node.used = add(k.node.used, k.resource, 1)
	q := k.attempt.app.queue
	q.used = add(q.used, k.resource, 1)
}

// drop removes a container from the resources that its attempt, node and queue use.
func (c *Cluster) drop(k *container) {
	if !k.counted {
		return // the ResourceManager has restarted, and the container's node has not registered since
	}
	k.counted = false
	same := func(other *container) bool { return other == k }
	k.attempt.held = slices.DeleteFunc(k.attempt.held, same)
	k.node.held = slices.DeleteFunc(k.node.held, same)
	k.node.used = add(k.node.used, k.resource, -1)
	q := k.attempt.app.queue
	q.used = add(q.used, k.resource, -1)
}
