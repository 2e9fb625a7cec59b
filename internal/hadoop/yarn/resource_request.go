package yarn

import (
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// AnyHost is the resource name of any node.
const AnyHost = "*"

// ResourceRequest is a number of containers at one location. The ResourceManager keeps
// one for each Priority, AllocationRequestID, execution type and Name: a new one
// replaces the earlier, whatever its Resource, and 0 containers remove it. So each
// container size needs a priority of its own. A request for a host takes three: for
// the host, its rack and AnyHost, which has the total.
type ResourceRequest struct {
	// Priority within the application; the lowest number is served first.
	Priority int32
	// Name is a host name, a rack name or AnyHost.
	Name string
	// Resource is the size of each container.
	Resource Resource
	// Containers is how many are wanted in all, not how many more.
	Containers int32
	// RelaxLocality lets the scheduler allocate at other locations, as by Hadoop's
	// default. It must be equal for all hosts, and for all racks, of a priority.
	RelaxLocality bool
	// NodeLabel is a node label expression, for AnyHost only; empty for the queue's
	// default.
	NodeLabel     string
	ExecutionType ExecutionType
	// AllocationRequestID, 0 or more, is also that of the allocated containers.
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
			EnforceExecutionType: proto.Bool(false),
		},
	}
	if r.NodeLabel != "" {
		p.NodeLabelExpression = &r.NodeLabel
	}
	return p
}

func resourceRequest(p *pb.ResourceRequest) ResourceRequest {
	return ResourceRequest{
		Priority:            p.GetPriority().GetPriority(),
		Name:                p.GetResourceName(),
		Resource:            resource(p.GetCapability()),
		Containers:          p.GetContainers(),
		RelaxLocality:       p.GetRelaxLocality(),
		NodeLabel:           p.GetNodeLabelExpression(),
		ExecutionType:       executionType(p.GetExecutionTypeRequest().GetExecutionType()),
		AllocationRequestID: p.GetAllocationRequestId(),
	}
}

// blacklist returns nil if nothing changes.
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
