package allocator

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/ipctest"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/yarntest"
)

// rollOver is the time during which the old and the new AMRMToken are both valid. It is longer than
// the time during which calls fail in this test. Hadoop's default is 15 min.
const rollOver = 10 * time.Minute

// injectFault injects one fault at random.
func (c *chaos) injectFault() {
	faults := []struct {
		name   string
		happen func()
	}{
		{"target", func() { c.want(c.random.IntN(c.capacity() + 1)) }},
		{"target", func() { c.want(c.random.IntN(c.capacity() + 1)) }},
		{"heartbeats go wrong", func() { c.failCalls("allocate") }},
		{"launches go wrong", func() { c.failCalls("startContainers") }},
		{"registrations go wrong", func() { c.failCalls("registerApplicationMaster") }},
		{"a node is lost", func() { c.node().Lose() }},
		{"a node is cut off", func() { c.node().Disconnect() }},
		{"a node comes back", func() { c.reconnect(c.node()) }},
		{"a node is lost and back", func() { n := c.node(); n.Lose(); c.reconnect(n) }},
		{"a NodeManager restarts", func() { c.node().Restart(c.upTo(20*time.Second), true) }},
		{"a NodeManager restarts without recovery", func() { c.node().Restart(c.upTo(20*time.Second), false) }},
		{"a node is unhealthy", func() { c.node().Unhealthy("disks") }},
		{"nodes are healthy", c.heal},
		{"a node is decommissioned", func() { c.node().Decommission(c.upTo(time.Minute)) }},
		{"a node is recommissioned", func() { c.node().Recommission() }},
		{"a node starts nothing", func() { c.node().FailStarts("its disk is full") }},
		{"the ResourceManager restarts", func() { c.cluster.Restart(c.upTo(30 * time.Second)) }},
		{"the ResourceManager fails over", c.failover},
		{"the AMRMToken rolls over", func() { c.cluster.RollMasterKey(rollOver + c.upTo(time.Minute)) }},
		{"NMTokens roll over", func() { c.cluster.RollNodeKey(c.upTo(time.Minute)) }},
		{"container tokens are not valid", func() { c.cluster.SpoilTokens(1 + c.random.IntN(3)) }},
		{"blacklists are not heeded", func() { c.cluster.IgnoreBlacklists(true) }},
		{"blacklists are heeded", func() { c.cluster.IgnoreBlacklists(false) }},
		{"containers are preempted", func() { c.preempt(true) }},
		{"containers are negotiated for", func() { c.preempt(false) }},
		{"more containers come than were asked for", func() {
			c.app.Surplus(1+c.random.IntN(4), yarn.Resource{MemoryMB: 1024, VCores: 1}, 1)
		}},
	}
	chosen := faults[c.random.IntN(len(faults))]
	c.note("%s", chosen.name)
	chosen.happen()
}

func (c *chaos) upTo(limit time.Duration) time.Duration {
	return time.Duration(1 + c.random.Int64N(int64(limit)))
}

// failCalls makes the next calls of a method fail in a random way.
func (c *chaos) failCalls(method string) {
	effects := []ipctest.Fault{
		{Lose: true}, {Break: true}, {Refuse: true}, {Duplicate: true}, {After: c.upTo(10 * time.Second)}, {Before: c.upTo(10 * time.Second)},
		{Exception: &ipctest.Exception{Class: "java.io.IOException", Text: "it went wrong"}},
		{Exception: &ipctest.Exception{Class: string(ipc.RetriableException), Text: "not yet"}},
	}
	c.faults = append(c.faults, c.cluster.Inject(yarntest.Fault{Method: method, Times: 1 + c.random.IntN(3), Effect: effects[c.random.IntN(len(effects))]}))
}

func (c *chaos) reconnect(n *yarntest.Node) {
	if err := n.Reconnect(); err != nil {
		c.t.Errorf("%s: %v", n.Host(), err)
	}
}

func (c *chaos) heal() {
	for _, n := range c.cluster.Nodes() {
		n.Healthy()
	}
}

func (c *chaos) failover() {
	if err := c.cluster.Failover(c.upTo(30 * time.Second)); err != nil {
		// There is no second ResourceManager, or none is active.
		c.note("not: %v", err)
	}
}

func (c *chaos) preempt(strict bool) {
	var ids []yarn.ContainerID
	c.cluster.Inspect(func(v yarntest.View) {
		for _, k := range v.Live(c.app.ID()) {
			if c.random.IntN(3) == 0 {
				ids = append(ids, k.ID)
			}
		}
	})
	c.app.Preempt(strict, c.upTo(20*time.Second), ids...)
}

func (c *chaos) node() *yarntest.Node {
	nodes := c.cluster.Nodes()
	return nodes[c.random.IntN(len(nodes))]
}

func (c *chaos) note(format string, args ...any) {
	c.history = append(c.history, fmt.Sprintf(format, args...))
}
