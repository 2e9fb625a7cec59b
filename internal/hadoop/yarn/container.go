package yarn

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// ExecutionType specifies whether resources are reserved for a container.
type ExecutionType int32

const (
	Guaranteed    ExecutionType = iota // starts at once, on reserved resources
	Opportunistic                      // may wait for resources on its node, and is preempted first
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
	// NodeHTTPAddress is the host:port of the node's web interface, which shows the container's
	// logs.
	NodeHTTPAddress string
	Resource        Resource
	Priority        int32
	Token           security.Token // container token, for NodeClient.StartContainers
	ExecutionType   ExecutionType
	// AllocationRequestID is the AllocationRequestID of the ResourceRequest for which the
	// container was allocated; -1 if the request had none.
	AllocationRequestID int64
	Version             int32 // number of changes of Resource since the allocation
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

// ContainerState is the state of a container at its NodeManager.
type ContainerState int32

// The states of a container, with the protocol's numbers.
const (
	ContainerNew      ContainerState = 1
	ContainerRunning  ContainerState = 2
	ContainerComplete ContainerState = 3
)

// String returns "new", "running", "complete" or "unknown state N".
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

// ContainerStatus is the state of a container and, if the container has ended, the reason.
type ContainerStatus struct {
	ID    ContainerID
	State ContainerState
	// ExitStatus is ExitUnknown before State is ContainerComplete.
	ExitStatus ExitStatus
	// Diagnostics is an explanation for users, often the end of the container's standard error.
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
