package yarntest

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// Host returns the node's host name.
func (n *Node) Host() string { return n.spec.Host }

// Rack returns the node's rack.
func (n *Node) Rack() string { return n.spec.Rack }

// ID returns the node's id, the address of its NodeManager.
func (n *Node) ID() yarn.NodeID { return n.id }

// Lose simulates a failure of the node's machine that the ResourceManager detects at once.
func (n *Node) Lose() {
	n.cluster.do(func() {
		if n.registration != nil {
			n.deregister(yarn.NodeLost)
		}
		n.halt(true)
	})
}

// Disconnect makes the NodeManager unreachable. Its containers continue to run. The
// ResourceManager declares the node lost after Options.NodeExpiry.
func (n *Node) Disconnect() {
	n.cluster.do(func() {
		n.halt(false)
		n.cluster.cancel(n.deadline)
		n.deadline = n.cluster.after(n.cluster.options.NodeExpiry, func() {
			if n.registration != nil {
				n.deregister(yarn.NodeLost)
			}
		})
	})
}

// Reconnect makes the NodeManager register again after Lose, Disconnect or a decommission.
// Running containers that the ResourceManager considers ended are killed.
func (n *Node) Reconnect() error {
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
	n.scheduleHeartbeat()
	return nil
}

// Restart stops the NodeManager and, when the duration down has passed, starts it again. Its
// containers are killed unless recovery is set.
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
			n.scheduleHeartbeat()
		})
	})
}

// Unhealthy makes the node's health check fail, with report as the reason. The node's
// containers are lost.
func (n *Node) Unhealthy(report string) {
	n.cluster.do(func() {
		if n.active() {
			n.health = report
			n.changeState(yarn.NodeUnhealthy)
			n.loseContainers()
			n.scheduleHeartbeat()
		}
	})
}

// Healthy reverses Unhealthy; the lost containers do not run again.
func (n *Node) Healthy() {
	n.cluster.do(func() {
		if n.state == yarn.NodeUnhealthy {
			n.health = ""
			n.changeState(yarn.NodeRunning)
			n.scheduleHeartbeat()
		}
	})
}

// Decommission decommissions the node. It gets no further containers, and is removed when its
// last container has ended, but at the latest after timeout.
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
				n.deregister(yarn.NodeDecommissioned)
			}
		})
		n.scheduleHeartbeat()
	})
}

// Recommission cancels a decommission. It has no effect if the node has been removed already.
func (n *Node) Recommission() {
	n.cluster.do(func() {
		if n.state == yarn.NodeDecommissioning {
			n.cluster.cancel(n.deadline)
			n.changeState(yarn.NodeRunning)
			n.scheduleHeartbeat()
		}
	})
}

// FailStarts makes every start of a container on the node fail with reason, until
// FailStarts("") is called.
func (n *Node) FailStarts(reason string) {
	n.cluster.do(func() { n.failing = reason })
}
