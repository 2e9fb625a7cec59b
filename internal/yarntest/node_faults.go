package yarntest

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// Host is the node's name.
func (n *Node) Host() string { return n.spec.Host }

// Rack is the node's place in the topology.
func (n *Node) Rack() string { return n.spec.Rack }

// ID is the address of the NodeManager.
func (n *Node) ID() yarn.NodeID { return n.id }

// Lose makes the machine vanish, and the ResourceManager notice at once.
func (n *Node) Lose() {
	n.cluster.do(func() {
		if n.registration != nil {
			n.leave(yarn.NodeLost)
		}
		n.halt(true)
	})
}

// Cut separates the NodeManager from all others: its processes go on, and the
// ResourceManager gives it up after Options.NodeExpiry.
func (n *Node) Cut() {
	n.cluster.do(func() {
		n.halt(false)
		n.cluster.cancel(n.deadline)
		n.deadline = n.cluster.after(n.cluster.options.NodeExpiry, func() {
			if n.registration != nil {
				n.leave(yarn.NodeLost)
			}
		})
	})
}

// Return ends Lose, Cut or a decommission: the NodeManager is there again. What
// survived there and is not wanted any more ends.
func (n *Node) Return() error {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	defer n.cluster.changed()
	if n.reachable {
		return nil
	}
	if err := n.rpc.open(); err != nil {
		return err
	}
	n.cluster.cancel(n.deadline)
	n.reachable = true
	n.stir()
	return nil
}

// Restart ends the NodeManager and starts it again after the time down. With
// recovery its containers go on meanwhile, and otherwise they are killed.
func (n *Node) Restart(down time.Duration, recovery bool) {
	c := n.cluster
	c.do(func() {
		if !n.reachable {
			return
		}
		n.halt(false)
		if !recovery {
			for _, k := range sorted(n.local) {
				c.exit(k, yarn.ExitAborted, "Container killed on NodeManager restart")
			}
		}
		c.after(down, func() {
			if n.reachable || n.rpc.open() != nil {
				return
			}
			n.reachable = true
			n.stir()
		})
	})
}

// Unhealthy makes the node's health check fail: its containers are given up.
func (n *Node) Unhealthy(report string) {
	n.cluster.do(func() {
		if n.active() {
			n.health = report
			n.changeState(yarn.NodeUnhealthy)
			n.abandon()
			n.stir()
		}
	})
}

// Healthy ends Unhealthy.
func (n *Node) Healthy() {
	n.cluster.do(func() {
		if n.state == yarn.NodeUnhealthy {
			n.health = ""
			n.changeState(yarn.NodeRunning)
			n.stir()
		}
	})
}

// Decommission takes the node out of service: it gets no more containers, and
// leaves when it has none, or after the timeout.
func (n *Node) Decommission(timeout time.Duration) {
	n.cluster.do(func() {
		if !n.active() {
			return
		}
		n.decommission = timeout
		n.changeState(yarn.NodeDecommissioning)
		n.cluster.cancel(n.deadline)
		n.deadline = n.cluster.after(timeout, func() {
			if n.state == yarn.NodeDecommissioning {
				n.leave(yarn.NodeDecommissioned)
			}
		})
		n.stir()
	})
}

// Recommission ends Decommission before the node has left.
func (n *Node) Recommission() {
	n.cluster.do(func() {
		if n.state == yarn.NodeDecommissioning {
			n.cluster.cancel(n.deadline)
			n.changeState(yarn.NodeRunning)
			n.stir()
		}
	})
}

// FailStarts makes every start of a container on the node fail with a reason;
// an empty one ends that.
func (n *Node) FailStarts(reason string) {
	n.cluster.do(func() { n.failing = reason })
}
