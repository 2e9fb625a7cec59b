package yarntest

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/ipctest"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// Node is a NodeManager, together with its state at the ResourceManager.
type Node struct {
	cluster *Cluster
	spec    NodeSpec
	index   int
	id      yarn.NodeID
	phase   time.Duration // offset of the node's heartbeats within Options.NodeHeartbeat

	server   *ipctest.Server
	rpc      endpoint
	pages    endpoint // nil unless Options.NodePages is set
	httpPort int

	state        yarn.NodeState
	health       string
	decommission time.Duration // the timeout of the current decommission
	deadline     *event        // ends a decommission, or declares an unreachable node lost

	// reachable is true if the NodeManager responds to calls. registration is nil if the active
	// ResourceManager does not know the node.
	reachable    bool
	registration *registration

	used yarn.Resource
	// held are the containers on the node that the ResourceManager counts as used, in the order
	// of allocation. local are the containers that the NodeManager knows.
	held  []*container
	local map[yarn.ContainerID]*container
	// launches are the containers that were started since the last heartbeat. cleanups are the
	// containers that will be stopped at the next heartbeat. unreported are the containers
	// whose exit could not be reported to a ResourceManager.
	launches, cleanups, unreported []*container
	pendingHeartbeat               *event
	failing                        string // the reason for which every start of a container fails; "" if starts do not fail
}

// registration represents a node from its registration until it is lost or removed, as
// RMNodeImpl does. A node that registers again has a new registration. The state in the old
// registration does not change any more.
type registration struct {
	node *Node
	last yarn.NodeState // the state in which the node was lost or removed; 0 before
}

func (n *Node) httpAddress() string {
	return net.JoinHostPort(n.id.Host, strconv.Itoa(n.httpPort))
}

// active reports whether the ResourceManager lets containers run on the node.
func (n *Node) active() bool {
	return n.registration != nil && (n.state == yarn.NodeRunning || n.state == yarn.NodeDecommissioning)
}

// report reports a container's exit to the ResourceManager: at once if possible, otherwise at
// the node's next heartbeat.
func (n *Node) report(k *container) {
	c := n.cluster
	if n.registration != nil && n.reachable && c.active() != nil {
		c.exitReported(k)
		return
	}
	n.unreported = append(n.unreported, k)
}

func (c *Cluster) exitReported(k *container) {
	k.reported = true
	if k.held() {
		c.complete(k, k.status())
	}
}

func (n *Node) nextHeartbeat() time.Time {
	interval := n.cluster.options.NodeHeartbeat
	since := time.Since(n.cluster.began) - n.phase
	count := since/interval + 1
	if since < 0 {
		count = 0
	}
	return n.cluster.began.Add(n.phase + count*interval)
}

// scheduleHeartbeat schedules the node's next heartbeat if none is scheduled. It is called
// whenever a heartbeat would have an effect, so idle nodes send no heartbeats.
func (n *Node) scheduleHeartbeat() {
	if n.pendingHeartbeat != nil || !n.reachable {
		return
	}
	n.pendingHeartbeat = n.cluster.at(n.nextHeartbeat(), n.heartbeat)
}

func (n *Node) heartbeat() {
	c := n.cluster
	n.pendingHeartbeat = nil
	if !n.reachable {
		return
	}
	if c.active() == nil {
		n.scheduleHeartbeat() // try again until a ResourceManager is active
		return
	}
	if n.registration == nil {
		n.register()
	}
	for _, k := range n.unreported {
		c.exitReported(k)
	}
	n.unreported = nil
	for _, k := range n.launches {
		switch {
		case k.stage == acquired:
			k.stage = launched
			c.cancel(k.expiry)
		case !k.held() && k.onNode():
			n.cleanups = append(n.cleanups, k)
		}
	}
	n.launches = nil
	for _, k := range n.cleanups {
		c.exit(k, yarn.ExitKilledByResourceManager, "Container killed by the ResourceManager.")
	}
	n.cleanups = nil
	if n.state == yarn.NodeRunning {
		c.schedule(n)
	}
	if n.state == yarn.NodeDecommissioning && len(n.held) == 0 {
		n.deregister(yarn.NodeDecommissioned)
		return
	}
	if c.demand > 0 && n.state == yarn.NodeRunning || n.state == yarn.NodeDecommissioning {
		n.scheduleHeartbeat()
	}
}

// register registers the node and its containers. A container continues to run if the
// application keeps it (its attempt is the current one, or KeepContainers is set), and if it
// has neither completed nor is to be released. The other containers are stopped.
func (n *Node) register() {
	c := n.cluster
	n.registration = &registration{node: n}
	if n.state != yarn.NodeDecommissioning && n.state != yarn.NodeUnhealthy {
		n.state = yarn.NodeRunning
	}
	for _, k := range sorted(n.local) {
		a := k.attempt
		switch {
		case a.ended || a != a.app.current() && !a.app.KeepContainers:
			n.cleanups = append(n.cleanups, k)
		case k.onNode() && k.stage == completed:
			n.cleanups = append(n.cleanups, k)
		case k.onNode():
			c.cancel(k.expiry)
			k.stage = launched
			c.hold(k)
			if a.pendingReleases[k] {
				c.complete(k, k.killedStatus(yarn.ExitAborted, releasedText))
				n.cleanups = append(n.cleanups, k)
			}
		case k.process == exited && k.stage != completed:
			// A node reports an exit again until the ApplicationMaster has received the report.
			k.stage = completed
			a.newlyCompleted = append(a.newlyCompleted, k.status())
		}
	}
	c.nodeChanged(n)
}

func (n *Node) changeState(state yarn.NodeState) {
	if n.state != state {
		n.state = state
		n.cluster.nodeChanged(n)
	}
}

// loseContainers completes every container of the node with the exit status of a lost node.
func (n *Node) loseContainers() {
	for len(n.held) > 0 {
		k := n.held[len(n.held)-1]
		n.cluster.complete(k, k.killedStatus(yarn.ExitAborted, lostNodeText))
		if k.onNode() {
			n.cleanups = append(n.cleanups, k)
		}
	}
}

// deregister removes the node and its containers from the ResourceManager.
func (n *Node) deregister(state yarn.NodeState) {
	n.cluster.cancel(n.deadline)
	n.changeState(state)
	if n.registration != nil { // nil if the active ResourceManager does not know the node
		n.registration.last = state
	}
	n.loseContainers()
	n.cluster.forgetTokens(n)
	n.registration = nil
	if state == yarn.NodeDecommissioned || state == yarn.NodeShutdown {
		// The ResourceManager shuts the NodeManager down, which also ends its containers.
		n.halt(true)
	}
}

// halt makes the NodeManager unreachable. If processes is set, it also ends the processes of
// the node's containers.
func (n *Node) halt(processes bool) {
	c := n.cluster
	n.reachable = false
	c.cancel(n.pendingHeartbeat)
	n.pendingHeartbeat = nil
	n.rpc.close()
	n.server.DropConnections()
	if !processes {
		return
	}
	for _, k := range sorted(n.local) {
		if k.onNode() {
			c.cancel(k.next)
			k.process, k.exit, k.endedAt = exited, yarn.ExitAborted, time.Now()
		}
	}
	clear(n.local)
	n.launches, n.cleanups, n.unreported = nil, nil, nil
}

// nodeChanged queues a node report for every running application. If a node changes several
// times before a heartbeat, the response contains one report with the latest state
// (RMAppImpl.pullRMNodeUpdates).
func (c *Cluster) nodeChanged(n *Node) {
	c.log("node changed", "node", n.id, "state", n.state)
	if n.registration == nil {
		return // the ResourceManager does not know the node
	}
	for _, app := range c.running() {
		if a := app.current(); !slices.Contains(a.nodeUpdates, n.registration) {
			a.nodeUpdates = append(a.nodeUpdates, n.registration)
		}
	}
}

// forgetTokens makes all applications receive a new NMToken with their next container on the
// node.
func (c *Cluster) forgetTokens(n *Node) {
	for _, app := range c.running() {
		delete(app.current().tokensFor, n)
	}
}

func (r *registration) proto() *pb.NodeReport {
	n := r.node
	p := &pb.NodeReport{
		NodeId:       nodeIDProto(n.id),
		HttpAddress:  proto.String(n.httpAddress()),
		RackName:     proto.String(n.spec.Rack),
		Used:         resourceProto(n.used),
		Capability:   resourceProto(n.spec.Resource),
		Containers:   proto.Int32(int32(len(n.held))),
		State:        pb.NodeState(cmp.Or(r.last, n.state)).Enum(),
		HealthReport: proto.String(n.health),
	}
	if n.spec.Label != "" {
		p.Labels = []string{n.spec.Label}
	}
	if n.state == yarn.NodeDecommissioning && n.decommission > 0 {
		p.DecommissioningTimeout = proto.Uint32(uint32(n.decommission / time.Second))
	}
	return p
}
