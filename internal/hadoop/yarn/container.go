package yarn

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// ExecutionType says whether resources are reserved for a container.
type ExecutionType int32

const (
	Guaranteed    ExecutionType = iota // start at once, on reserved resources
	Opportunistic                      // may wait on their node, and are preempted first
)

// String returns "guaranteed" or "opportunistic".
func (t ExecutionType) String() string {
	if t == Opportunistic {
		return "opportunistic"
	}
	return "guaranteed"
}

func (t ExecutionType) proto() *pb.ExecutionType {
	if t == Opportunistic {
		return pb.ExecutionType_EXECUTION_OPPORTUNISTIC.Enum()
	}
	return pb.ExecutionType_EXECUTION_GUARANTEED.Enum()
}

func executionType(p pb.ExecutionType) ExecutionType {
	if p == pb.ExecutionType_EXECUTION_OPPORTUNISTIC {
		return Opportunistic
	}
	return Guaranteed
}

// Container is an allocated container.
type Container struct {
	ID   ContainerID
	Node NodeID
	// NodeHTTPAddress is the host:port of the node's web interface, with the logs.
	NodeHTTPAddress string
	Resource        Resource
	Priority        int32
	Token           security.Token // container token that StartContainers needs
	ExecutionType   ExecutionType
	// AllocationRequestID is the AllocationRequestID of the ResourceRequest for which the
	// container was allocated; -1 if that had none.
	AllocationRequestID int64
	Version             int32 // how often Resource was changed
}

func container(p *pb.Container) Container {
	return Container{
		ID:                  containerID(p.GetId()),
		Node:                nodeID(p.GetNodeId()),
		NodeHTTPAddress:     p.GetNodeHttpAddress(),
		Resource:            resource(p.GetResource()),
		Priority:            p.GetPriority().GetPriority(),
		Token:               security.TokenFromProto(p.GetContainerToken()),
		ExecutionType:       executionType(p.GetExecutionType()),
		AllocationRequestID: p.GetAllocationRequestId(),
		Version:             p.GetVersion(),
	}
}

// ContainerState is a step in a container's life.
type ContainerState int32

// The states of a container, with the protocol's numbers.
const (
	ContainerNew      ContainerState = 1
	ContainerRunning  ContainerState = 2
	ContainerComplete ContainerState = 3
)

// String returns "new", "running" or "complete".
func (s ContainerState) String() string {
	switch s {
	case ContainerNew:
		return "new"
	case ContainerRunning:
		return "running"
	case ContainerComplete:
		return "complete"
	default:
		return fmt.Sprintf("unknown state %d", int32(s))
	}
}

// ContainerStatus is the state of a container, or how it ended.
type ContainerStatus struct {
	ID    ContainerID
	State ContainerState
	// ExitStatus is ExitUnknown until State is ContainerComplete.
	ExitStatus ExitStatus
	// Diagnostics is text for people, often the end of the container's standard error.
	Diagnostics   string
	Resource      Resource
	ExecutionType ExecutionType
}

func containerStatus(p *pb.ContainerStatus) ContainerStatus {
	return ContainerStatus{
		ID:            containerID(p.GetContainerId()),
		State:         ContainerState(p.GetState()),
		ExitStatus:    ExitStatus(p.GetExitStatus()),
		Diagnostics:   p.GetDiagnostics(),
		Resource:      resource(p.GetCapability()),
		ExecutionType: executionType(p.GetExecutionType()),
	}
}
