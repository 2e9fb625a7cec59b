package application

import (
	"math"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

const (
	// Unlimited, as the number of executors, requests as many executors as cores.max and the
	// cluster allow.
	Unlimited = math.MaxInt32
	// WholeWorker, as the number of cores of a profile, requests one executor on each worker,
	// with all free cores of the worker.
	WholeWorker = 1 << 16
)

// encode converts the driver's request for executors to a protocol message.
func (o *Options) encode(request driver.Request) *protocol.ExecutorRequest {
	encoded := &protocol.ExecutorRequest{ExcludedHosts: request.ExcludedNodes}
	for _, demand := range request.Demands {
		converted := &protocol.ExecutorDemand{
			Profile:       o.profile(demand.Profile),
			Total:         total(demand.Total),
			LocalityAware: uint32(demand.LocalityAwareTasks),
		}
		if len(demand.HostTasks) > 0 {
			converted.HostTasks = make(map[string]uint32, len(demand.HostTasks))
			for host, tasks := range demand.HostTasks {
				converted.HostTasks[host] = uint32(tasks)
			}
		}
		encoded.Demands = append(encoded.Demands, converted)
	}
	return encoded
}

func total(wanted int) uint32 {
	if wanted >= Unlimited {
		return protocol.Unlimited
	}
	return uint32(max(wanted, 0))
}

// profile converts a resource profile to a protocol message. It omits YARN's node labels and
// execution types.
func (o *Options) profile(p profile.Profile) *protocol.ExecutorProfile {
	encoded := &protocol.ExecutorProfile{
		Id: uint32(p.ID), Memory: int64(p.Memory), Overhead: int64(p.Overhead), Cores: uint32(p.Cores), Resources: p.Resources,
	}
	if p.Cores == WholeWorker {
		encoded.Cores = 0
	}
	if o.TaskResources != nil {
		encoded.Resources = o.TaskResources(p.Resources)
	}
	return encoded
}
