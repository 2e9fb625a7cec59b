package yarn

import "github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"

// Preemption is the ResourceManager's notice that it will preempt containers.
type Preemption struct {
	Strict []ContainerID // containers that will be killed in any case
	// Containers lists the containers that will be killed unless the application itself
	// releases, in time, containers with the amounts in Resources.
	Containers []ContainerID
	Resources  []ResourceRequest
}

// preemption converts a message; it returns nil if p is nil.
func preemption(p *pb.PreemptionMessage) *Preemption {
	if p == nil {
		return nil
	}
	id := func(c *pb.PreemptionContainer) ContainerID { return containerID(c.GetId()) }
	return &Preemption{
		Strict:     convert(p.GetStrict().GetContainers(), id),
		Containers: convert(p.GetContract().GetContainers(), id),
		Resources: convert(p.GetContract().GetResources(), func(r *pb.PreemptionResourceRequest) ResourceRequest {
			return resourceRequest(r.GetResource())
		}),
	}
}
