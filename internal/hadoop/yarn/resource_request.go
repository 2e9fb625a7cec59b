package yarn

import (
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// AnyHost is the resource name that stands for every node.
const AnyHost = "*"

// ResourceRequest is the number of containers wanted at one place. Requests
// are a table in the ResourceManager with the key (Priority,
// AllocationRequestID, Name), and one more such table for opportunistic ones:
// each replaces the row there before, whatever its Resource, and 0 containers
// takes it away. So each size needs a priority of its own. A wish for a host comes as three rows, for the
// host, its rack and AnyHost; the row of AnyHost holds the total.
type ResourceRequest struct {
	// Priority of the wish among the application's; the lowest number goes first.
	Priority int32
	// Name is a host name, a rack name or AnyHost.
	Name string
	// Resource is the size of each container.
	Resource Resource
	// Containers is how many are wanted in all, not how many more.
	Containers int32
	// RelaxLocality lets the scheduler serve the wish elsewhere in the rack
	// (on a host's row: this host only where the rack's row forbids it), as
	// Hadoop's default does. It must be the same on all rows of a priority and place level.
	RelaxLocality bool
	// NodeLabel is a node label expression, which only an AnyHost row may bear;
	// empty for the queue's default.
	NodeLabel     string
	ExecutionType ExecutionType
	// EnforceExecutionType refuses containers of the other execution type.
	EnforceExecutionType bool
	// AllocationRequestID comes back in the containers that answer the request.
	// Requests of different ids are different rows. Use 0 or more.
	AllocationRequestID int64
}

func (r ResourceRequest) proto() *pb.ResourceRequest {
	p := &pb.ResourceRequest{
		Priority:            &pb.Priority{Priority: &r.Priority},
		ResourceName:        &r.Name,
		Capability:          r.Resource.proto(),
		Containers:          &r.Containers,
		RelaxLocality:       &r.RelaxLocality,
		AllocationRequestId: &r.AllocationRequestID,
		ExecutionTypeRequest: &pb.ExecutionTypeRequest{
			ExecutionType:        r.ExecutionType.proto(),
			EnforceExecutionType: &r.EnforceExecutionType,
		},
	}
	if r.NodeLabel != "" {
		p.NodeLabelExpression = &r.NodeLabel
	}
	return p
}

func resourceRequest(p *pb.ResourceRequest) ResourceRequest {
	return ResourceRequest{
		Priority:             p.GetPriority().GetPriority(),
		Name:                 p.GetResourceName(),
		Resource:             resource(p.GetCapability()),
		Containers:           p.GetContainers(),
		RelaxLocality:        p.GetRelaxLocality(),
		NodeLabel:            p.GetNodeLabelExpression(),
		ExecutionType:        executionType(p.GetExecutionTypeRequest().GetExecutionType()),
		EnforceExecutionType: p.GetExecutionTypeRequest().GetEnforceExecutionType(),
		AllocationRequestID:  p.GetAllocationRequestId(),
	}
}

// UpdateType says what an update does to a running container.
type UpdateType int32

// The kinds of updates, with the protocol's numbers.
const (
	IncreaseResource     UpdateType = 0
	DecreaseResource     UpdateType = 1
	PromoteExecutionType UpdateType = 2
	DemoteExecutionType  UpdateType = 3
)

// UpdateRequest asks to change a container's size or execution type.
type UpdateRequest struct {
	ContainerID ContainerID
	// Version is the container's, as last seen.
	Version int32
	Type    UpdateType
	// Resource is the size wanted by IncreaseResource and DecreaseResource.
	Resource Resource
	// ExecutionType is the one wanted by the other two.
	ExecutionType ExecutionType
}

func (r UpdateRequest) proto() *pb.UpdateContainerRequest {
	p := &pb.UpdateContainerRequest{
		ContainerVersion: &r.Version,
		ContainerId:      r.ContainerID.proto(),
		UpdateType:       pb.ContainerUpdateType(r.Type).Enum(),
	}
	switch r.Type {
	case IncreaseResource, DecreaseResource:
		p.Capability = r.Resource.proto()
	default:
		p.ExecutionType = r.ExecutionType.proto()
	}
	return p
}

// UpdateError tells why an update was refused.
type UpdateError struct {
	Reason      string
	ContainerID ContainerID
	// CurrentVersion is the container's version where Reason is an outdated one.
	CurrentVersion int32
}

func updateError(p *pb.UpdateContainerError) UpdateError {
	return UpdateError{
		Reason:         p.GetReason(),
		ContainerID:    containerID(p.GetRequest().GetContainerId()),
		CurrentVersion: p.GetCurrentContainerVersion(),
	}
}

// UpdatedContainer is a granted update; the container has a new token and
// version.
type UpdatedContainer struct {
	Type      UpdateType
	Container Container
}

func updatedContainer(p *pb.UpdatedContainer) UpdatedContainer {
	return UpdatedContainer{Type: UpdateType(p.GetUpdateType()), Container: container(p.GetContainer())}
}

// blacklist returns nil where nothing changes.
func blacklist(add, remove []string) *pb.ResourceBlacklistRequest {
	if len(add)+len(remove) == 0 {
		return nil
	}
	return &pb.ResourceBlacklistRequest{Additions: add, Removals: remove}
}

// optionalString leaves an empty string out of a message.
func optionalString(s string) *string {
	if s == "" {
		return nil
	}
	return proto.String(s)
}
