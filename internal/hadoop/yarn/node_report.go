package yarn

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// NodeState is the state of a NodeManager at the ResourceManager.
type NodeState int32

// The states of a node, with the protocol's numbers.
const (
	NodeNew             NodeState = 1
	NodeRunning         NodeState = 2
	NodeUnhealthy       NodeState = 3
	NodeDecommissioned  NodeState = 4
	NodeLost            NodeState = 5
	NodeRebooted        NodeState = 6
	NodeDecommissioning NodeState = 7
	NodeShutdown        NodeState = 8
)

// String returns the state in lower case.
func (s NodeState) String() string {
	names := [...]string{"", "new", "running", "unhealthy", "decommissioned", "lost", "rebooted", "decommissioning", "shutdown"}
	if s < NodeNew || int(s) >= len(names) {
		return fmt.Sprintf("unknown state %d", int32(s))
	}
	return names[s]
}

// NodeReport describes a node whose state has changed.
type NodeReport struct {
	ID                     NodeID
	HTTPAddress            string
	Rack                   string
	State                  NodeState
	Used                   Resource
	Capability             Resource
	Containers             int32
	HealthReport           string
	Labels                 []string
	DecommissioningTimeout time.Duration // how long containers may run on a decommissioning node; 0 if unknown
}

func nodeReport(p *pb.NodeReport) NodeReport {
	return NodeReport{
		ID:                     nodeID(p.GetNodeId()),
		HTTPAddress:            p.GetHttpAddress(),
		Rack:                   p.GetRackName(),
		State:                  NodeState(p.GetState()),
		Used:                   resource(p.GetUsed()),
		Capability:             resource(p.GetCapability()),
		Containers:             p.GetContainers(),
		HealthReport:           p.GetHealthReport(),
		Labels:                 p.GetLabels(),
		DecommissioningTimeout: time.Duration(p.GetDecommissioningTimeout()) * time.Second,
	}
}
