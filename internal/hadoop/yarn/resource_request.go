package yarn

import (
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// AnyHost is the ResourceRequest.Name that stands for all nodes.
const AnyHost = "*"

// ResourceRequest requests a number of containers at one location. The ResourceManager stores
// one request for each combination of Priority, AllocationRequestID, ExecutionType and Name. A
// new request replaces the stored one, even if its Resource differs, and a request for 0
// containers removes it. So each container size needs a different priority. Containers on a
// host need three requests: for the host, for its rack, and for AnyHost. The request for
// AnyHost states the total number for all hosts.
type ResourceRequest struct {
	Priority   int32    // relative to the application's other requests; lower numbers are allocated first
	Name       string   // a host name, a rack name or AnyHost
	Resource   Resource // size of each container
	Containers int32    // total number of containers to allocate, not an increment
	// RelaxLocality allows the scheduler to allocate at other locations. Hadoop's clients set
	// it by default. Within a priority, all requests for hosts must have the same value, and so
	// must all requests for racks.
	RelaxLocality bool
	// NodeLabel is a label expression, allowed only if Name is AnyHost; "" for the queue's
	// default.
	NodeLabel           string
	ExecutionType       ExecutionType
	AllocationRequestID int64 // at least 0; copied to the allocated containers
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

// blacklist returns a change of the blacklist as a message; nil if add and remove are empty.
func blacklist(add, remove []string) *pb.ResourceBlacklistRequest {
	if len(add)+len(remove) == 0 {
		return nil
	}
	return &pb.ResourceBlacklistRequest{Additions: add, Removals: remove}
}

// optionalString returns nil for "", so that a message omits the field.
func optionalString(s string) *string {
	if s == "" {
		return nil
	}
	return proto.String(s)
}
