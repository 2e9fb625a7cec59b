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

// Node is one NodeManager, and what the ResourceManager knows of it.
type Node struct {
	cluster *Cluster
	spec    NodeSpec
	index   int
	id      yarn.NodeID
	phase   time.Duration // of its heartbeats, within their interval

	server   *ipctest.Server
	rpc      endpoint
	pages    endpoint // nil without pages
	httpPort int

	state        yarn.NodeState
	health       string
	decommission time.Duration // the timeout told of, while decommissioning
	deadline     *event        // of the decommission, or of a silent node

	// reachable is whether the NodeManager answers, and registration what the
	// ResourceManager of today knows it by; nil where it does not.
	reachable    bool
	registration *registration

	used yarn.Resource
	// held are the containers that the ResourceManager counts there, in the order
	// of allocation; local those that the NodeManager knows.
	held  []*container
	local map[yarn.ContainerID]*container
	// launches were started since the last heartbeat, cleanups are to be stopped
	// with the next, and unreported have ended while nobody could be told.
	launches, cleanups, unreported []*container
	beating                        *event
	failing                        string // why every start fails, empty for none
}

// registration is a node from when it registers until it is lost or leaves, as
// the ResourceManager has an object for it (RMNodeImpl): a node that comes back
// is another object of the same name, and the old one keeps its last state.
type registration struct {
	node *Node
	last yarn.NodeState // 0 for one that is not over
}

func (n *Node) httpAddress() string {
	return net.JoinHostPort(n.id.Host, strconv.Itoa(n.httpPort))
}

// active reports whether containers run on the node, in the ResourceManager's eyes.
func (n *Node) active() bool {
	return n.registration != nil && (n.state == yarn.NodeRunning || n.state == yarn.NodeDecommissioning)
}

func (n *Node) report(k *container) {
	c := n.cluster
	if n.registration != nil && n.reachable && c.active() != nil {
		c.hear(k)
		return
	}
	n.unreported = append(n.unreported, k)
}

// hear is the ResourceManager learning of a container's exit from its node.
func (c *Cluster) hear(k *container) {
	k.reported = true
	if k.held() {
		c.complete(k, k.status())
	}
}

// nextBeat is when the node reports next.
func (n *Node) nextBeat() time.Time {
	interval := n.cluster.options.NodeHeartbeat
	since := time.Since(n.cluster.began) - n.phase
	turns := since/interval + 1
	if since < 0 {
		turns = 0
	}
	return n.cluster.began.Add(n.phase + turns*interval)
}

// stir makes the node report when its time comes: it has something to do.
func (n *Node) stir() {
	if n.beating != nil || !n.reachable {
		return
	}
	n.beating = n.cluster.at(n.nextBeat(), n.beat)
}

// beat is the node's heartbeat.
func (n *Node) beat() {
	c := n.cluster
	n.beating = nil
	if !n.reachable {
		return
	}
	if c.active() == nil {
		n.stir() // it tries again until there is one
		return
	}
	if n.registration == nil {
		n.register()
	}
	for _, k := range n.unreported {
		c.hear(k)
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
		n.leave(yarn.NodeDecommissioned)
		return
	}
	if c.demand > 0 && n.state == yarn.NodeRunning || n.state == yarn.NodeDecommissioning {
		n.stir()
	}
}

// register makes the node known to a ResourceManager, with the containers that
// it has: those that this one knows or can take over go on, and others end.
func (n *Node) register() {
	c := n.cluster
	n.registration = &registration{node: n}
	if n.state != yarn.NodeDecommissioning && n.state != yarn.NodeUnhealthy {
		n.state = yarn.NodeRunning
	}
	for _, k := range sorted(n.local) {
		a := k.attempt
		switch {
		case a.over() || a != a.app.current() && !a.app.KeepContainers:
			n.cleanups = append(n.cleanups, k)
		case k.onNode() && k.stage == completed:
			n.cleanups = append(n.cleanups, k)
		case k.onNode():
			c.cancel(k.expiry)
			k.stage = launched
			c.hold(k)
			if a.pendingReleases[k] {
				c.complete(k, k.abnormal(yarn.ExitAborted, releasedText))
				n.cleanups = append(n.cleanups, k)
			}
		case k.process == exited && k.stage != completed:
			// A node tells of what has ended until it has heard that the master knows.
			k.stage = completed
			a.finished = append(a.finished, k.status())
		}
	}
	c.nodeChanged(n)
}

// changeState is the ResourceManager's new view of the node.
func (n *Node) changeState(state yarn.NodeState) {
	if n.state != state {
		n.state = state
		n.cluster.nodeChanged(n)
	}
}

// abandon completes every container of the node as lost.
func (n *Node) abandon() {
	for len(n.held) > 0 {
		k := n.held[len(n.held)-1]
		n.cluster.complete(k, k.abnormal(yarn.ExitAborted, lostNodeText))
		if k.onNode() {
			n.cleanups = append(n.cleanups, k)
		}
	}
}

// leave takes the node out of the cluster for the ResourceManager: what runs
// there is lost.
func (n *Node) leave(state yarn.NodeState) {
	n.cluster.cancel(n.deadline)
	n.changeState(state)
	if n.registration != nil { // it may leave while there is no ResourceManager
		n.registration.last = state
	}
	n.abandon()
	n.cluster.forgetTokens(n)
	n.registration = nil
	if state == yarn.NodeDecommissioned || state == yarn.NodeShutdown {
		// The NodeManager is told to end, and takes its containers with it.
		n.halt(true)
	}
}

// halt makes the NodeManager unreachable, with its processes or without.
func (n *Node) halt(processes bool) {
	c := n.cluster
	n.reachable = false
	c.cancel(n.beating)
	n.beating = nil
	n.rpc.shut()
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

// nodeChanged tells every application that runs: once, however often the node
// changes until the next heartbeat (RMAppImpl.pullRMNodeUpdates).
func (c *Cluster) nodeChanged(n *Node) {
	c.log("node changed", "node", n.id, "state", n.state)
	if n.registration == nil {
		return // the ResourceManager does not know it
	}
	for _, app := range c.running() {
		if a := app.current(); !slices.Contains(a.nodeUpdates, n.registration) {
			a.nodeUpdates = append(a.nodeUpdates, n.registration)
		}
	}
}

// forgetTokens makes applications get a new token for the node with their next
// container there.
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
