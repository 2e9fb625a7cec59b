package yarntest

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// Options configure a Cluster. A field with the zero value has its default. Defaults of
// durations are those of Hadoop (yarn-default.xml) unless stated otherwise.
type Options struct {
	// Nodes are the NodeManagers. Default: two with 8192 MiB and 8 cores, in different racks.
	Nodes []NodeSpec
	// Queues are the leaf queues below root. Default: "default" with the whole cluster.
	Queues []QueueSpec
	// Network connects clients with the cluster. Default: Memory().
	Network Network
	// Masters is the number of ResourceManagers; the first one is active. Default: 1.
	Masters int
	// Seed seeds random choices, such as the times of heartbeats, and the calls that a Fault
	// with a Chance affects.
	Seed uint64

	// MaxContainer is the maximum size of a container (yarn.scheduler.maximum-allocation-mb and
	// -vcores). Default: 8192 MiB and 4 cores.
	MaxContainer yarn.Resource
	// MinMemoryMB is the minimum memory of a container, in MiB. Requested memory is rounded up
	// to a multiple of it (yarn.scheduler.minimum-allocation-mb). Default: 1, unlike Hadoop's
	// 1024.
	MinMemoryMB int64
	// NodeHeartbeat is the interval of a NodeManager's heartbeats. Default: 1 s.
	NodeHeartbeat time.Duration
	// OffSwitchPerHeartbeat is the maximum number of containers that are neither node-local nor
	// rack-local and are allocated on a node at one heartbeat of the node
	// (yarn.scheduler.capacity.per-node-heartbeat.maximum-offswitch-assignments). Default: 1.
	OffSwitchPerHeartbeat int
	// NodeLocalityDelay is the number of node heartbeats after which a container that was
	// requested on a host may be allocated on another host of its rack. It is limited by the
	// number of nodes (yarn.scheduler.capacity.node-locality-delay). Default: 40.
	NodeLocalityDelay int
	// AllocationExpiry is the time within which an ApplicationMaster must start a container
	// that it has received. Default: 10 min.
	AllocationExpiry time.Duration
	// MasterExpiry is the time without a heartbeat of the ApplicationMaster after which an
	// attempt fails. Default: 10 min.
	MasterExpiry time.Duration
	// NodeExpiry is the time without a heartbeat of the NodeManager after which a node is lost.
	// Default: 10 min.
	NodeExpiry time.Duration
	// MaxAttempts is the maximum number of attempts of an application. Default: 2.
	MaxAttempts int
	// PreemptionInterval is the interval at which the scheduler checks whether containers of
	// one queue must be preempted in favour of another queue. Default: never. (Preemption is
	// disabled by default in Hadoop too, where the interval is 3 s.)
	PreemptionInterval time.Duration
	// PreemptionWait is the time from the announcement of a preemption to the kill.
	// Default: 15 s.
	PreemptionWait time.Duration
	// RecoveryTime is the time after a restart during which the REST API responds "not found"
	// for running applications. Default: 1500 ms.
	RecoveryTime time.Duration

	// Process returns the behaviour of a container's process after localization. By default,
	// the process runs until it is stopped. The function must not call methods of the Cluster.
	Process func(Container) Process
	// NodePages makes NodeManagers serve their REST API. With TCP, this adds a listener for
	// each.
	NodePages bool
	// Logger receives events at level debug. Default: no logging.
	Logger *slog.Logger
}

// NodeSpec describes a NodeManager.
type NodeSpec struct {
	// Host is the node's host name. The Network determines which names are possible.
	Host string
	// Rack is the node's rack. Default: "/default-rack".
	Rack string
	// Label is the node's label (partition); "" for the default partition.
	Label string
	// Resource is the total of the node's resources for containers. Default: 8192 MiB and 8
	// cores.
	Resource yarn.Resource
}

// QueueSpec describes a leaf queue below root.
type QueueSpec struct {
	Name string
	// Capacity is the guaranteed share of the cluster, and MaxCapacity the maximum share, both
	// in percent. Default: 100 each.
	Capacity, MaxCapacity float64
}

// Process describes the behaviour of a container's process.
type Process struct {
	// Localizing is the duration of localization.
	Localizing time.Duration
	// Never means that localization continues until the container is stopped.
	Never bool
	// Ends makes the process exit with status Exit when it has run for the duration After.
	// Otherwise it runs until it is stopped.
	Ends  bool
	After time.Duration
	Exit  yarn.ExitStatus
	// Diagnostics is the text that the NodeManager reports with the exit status.
	Diagnostics string
}

// Nodes returns n nodes of the same size with the names "node-0001" and so on, distributed
// evenly over racks "/rack-01" and so on.
func Nodes(n, racks int, resource yarn.Resource) []NodeSpec {
	nodes := make([]NodeSpec, n)
	for i := range nodes {
		nodes[i] = NodeSpec{
			Host:     fmt.Sprintf("node-%04d", i+1),
			Rack:     fmt.Sprintf("/rack-%02d", i%max(racks, 1)+1),
			Resource: resource,
		}
	}
	return nodes
}

func (o Options) withDefaults() (Options, error) {
	usual := yarn.Resource{MemoryMB: 8192, VCores: 8}
	if o.Nodes == nil {
		o.Nodes = Nodes(2, 2, usual)
	}
	if o.Queues == nil {
		o.Queues = []QueueSpec{{Name: "default"}}
	}
	if o.Network == nil {
		o.Network = Memory()
	}
	if o.MaxContainer.Equal(yarn.Resource{}) {
		o.MaxContainer = yarn.Resource{MemoryMB: 8192, VCores: 4}
	}
	orDefault(&o.Masters, 1)
	orDefault(&o.MinMemoryMB, 1)
	orDefault(&o.NodeHeartbeat, time.Second)
	orDefault(&o.OffSwitchPerHeartbeat, 1)
	orDefault(&o.NodeLocalityDelay, 40)
	orDefault(&o.AllocationExpiry, 10*time.Minute)
	orDefault(&o.MasterExpiry, 10*time.Minute)
	orDefault(&o.NodeExpiry, 10*time.Minute)
	orDefault(&o.MaxAttempts, 2)
	orDefault(&o.PreemptionWait, 15*time.Second)
	orDefault(&o.RecoveryTime, 1500*time.Millisecond)
	if o.Process == nil {
		o.Process = func(Container) Process { return Process{} }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	nodes := make([]NodeSpec, len(o.Nodes))
	hosts := map[string]bool{}
	for i, node := range o.Nodes {
		if node.Host == "" || hosts[node.Host] {
			return o, fmt.Errorf("node %d has the host %q, which is empty or not unique", i, node.Host)
		}
		hosts[node.Host] = true
		orDefault(&node.Rack, "/default-rack")
		if node.Resource.Equal(yarn.Resource{}) {
			node.Resource = usual
		}
		nodes[i] = node
	}
	o.Nodes = nodes
	queues := make([]QueueSpec, len(o.Queues))
	for i, queue := range o.Queues {
		orDefault(&queue.Capacity, 100)
		orDefault(&queue.MaxCapacity, 100)
		queues[i] = queue
	}
	o.Queues = queues
	return o, nil
}

func orDefault[T comparable](value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
	}
}
