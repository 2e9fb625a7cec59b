package yarntest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// queue is a leaf queue.
type queue struct {
	spec QueueSpec
	used yarn.Resource
}

func (q *queue) path() string { return "root." + q.spec.Name }

// queue returns the queue with the given name or path, or nil.
func (c *Cluster) queue(name string) *queue {
	for _, q := range c.queues {
		if q.spec.Name == strings.TrimPrefix(name, "root.") {
			return q
		}
	}
	return nil
}

// total returns the resources of all active nodes.
func (c *Cluster) total() yarn.Resource {
	var total yarn.Resource
	for _, n := range c.nodes {
		if n.active() {
			total = add(total, n.spec.Resource, 1)
		}
	}
	return total
}

// share returns r's dominant share of total: the larger of its shares of memory and
// cores, from 0 to 1.
func share(r, total yarn.Resource) float64 {
	memory := float64(r.MemoryMB) / float64(max(total.MemoryMB, 1))
	return max(memory, float64(r.VCores)/float64(max(total.VCores, 1)))
}

// byNeed returns the queues sorted by the ratio of their used share to their guaranteed share,
// the lowest ratio first.
func (c *Cluster) byNeed(total yarn.Resource) []*queue {
	if len(c.queues) == 1 {
		return c.queues
	}
	order := slices.Clone(c.queues)
	slices.SortStableFunc(order, func(a, b *queue) int {
		return cmp.Compare(share(a.used, total)/a.spec.Capacity, share(b.used, total)/b.spec.Capacity)
	})
	return order
}

// allows reports whether the queue stays within MaxCapacity if the resources in more are added
// to those that it uses.
func (q *queue) allows(more, total yarn.Resource) bool {
	return q.spec.MaxCapacity >= 100 || share(add(q.used, more, 1), total)*100 <= q.spec.MaxCapacity
}

// preemptionRound preempts containers of queues that exceed their guaranteed shares, if other
// queues are below their guaranteed shares and wait, as Hadoop's
// ProportionalCapacityPreemptionPolicy does.
func (c *Cluster) preemptionRound() {
	c.nextPreemption = c.after(c.options.PreemptionInterval, c.preemptionRound)
	total := c.total()
	var free yarn.Resource
	for _, n := range c.nodes {
		if n.active() {
			free = add(free, n.free(), 1)
		}
	}
	needed := -share(free, total)
	for _, q := range c.queues {
		guaranteed := q.spec.Capacity/100 - share(q.used, total)
		needed += min(max(guaranteed, 0), share(c.pending(q), total))
	}
	for _, q := range c.queues {
		surplus := share(q.used, total) - q.spec.Capacity/100
		// Preempt the newest containers of the newest applications first.
		for _, app := range slices.Backward(c.running()) {
			if app.queue != q {
				continue
			}
			var taken []*container
			for _, k := range slices.Backward(app.current().held) {
				size := share(k.resource, total)
				if needed <= 0 || surplus < size || k.master {
					continue
				}
				needed, surplus = needed-size, surplus-size
				if k.preemptionAnnounced.IsZero() {
					taken = append(taken, k)
				}
			}
			if len(taken) > 0 {
				c.preempt(app.current(), taken, false, c.options.PreemptionWait)
			}
		}
	}
}

// pending returns the sum of the resources that a queue's applications have requested and not
// received.
func (c *Cluster) pending(q *queue) yarn.Resource {
	var sum yarn.Resource
	for _, app := range c.running() {
		if app.queue != q {
			continue
		}
		for _, r := range app.current().table.keys {
			if any := r.rows[yarn.AnyHost]; any != nil {
				sum = add(sum, any.resource, int64(any.count))
			}
		}
	}
	return sum
}

// preempt announces the preemption of containers of an attempt. When the duration wait has
// passed, it kills the containers that have not ended. But if strict is false, and the attempt has
// meanwhile released at least the sum of these containers' resources, preempt kills no container.
func (c *Cluster) preempt(a *attempt, containers []*container, strict bool, wait time.Duration) {
	var sum yarn.Resource
	for _, k := range containers {
		k.preemptionAnnounced = time.Now()
		sum = add(sum, k.resource, 1)
	}
	if strict {
		a.strict = append(a.strict, containers...)
	} else {
		a.contract = append(a.contract, containers...)
	}
	before := a.freed
	c.after(wait, func() {
		if !strict && sum.Fits(add(a.freed, before, -1)) {
			return
		}
		for _, k := range containers {
			if !k.held() {
				continue
			}
			c.complete(k, k.killedStatus(yarn.ExitPreempted, preemptedText))
			if k.onNode() {
				k.node.cleanups = append(k.node.cleanups, k)
				k.node.scheduleHeartbeat()
			}
		}
	})
}
