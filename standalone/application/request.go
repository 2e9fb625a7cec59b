package application

import (
	"math"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

const (
	// Unlimited, as the total of a demand, asks for executors until cores.max, or
	// the cluster, lets no more be.
	Unlimited = math.MaxInt32
	// WholeWorker, as the cores of a profile, asks for executors that take all cores
	// that are free on their workers, one on each.
	WholeWorker = 1 << 16
)

// encode is a request as masters read it.
func (o *Options) encode(request driver.Request) *protocol.ExecutorRequest {
	encoded := &protocol.ExecutorRequest{ExcludedHosts: request.ExcludedNodes}
	for _, demand := range request.Demands {
		one := &protocol.ExecutorDemand{
			Profile:       o.profile(demand.Profile),
			Total:         total(demand.Total),
			LocalityAware: uint32(demand.LocalityAware),
		}
		if len(demand.HostTasks) > 0 {
			one.HostTasks = make(map[string]uint32, len(demand.HostTasks))
			for host, tasks := range demand.HostTasks {
				one.HostTasks[host] = uint32(tasks)
			}
		}
		encoded.Demands = append(encoded.Demands, one)
	}
	return encoded
}

func total(wanted int) uint32 {
	if wanted >= Unlimited {
		return protocol.Unlimited
	}
	return uint32(max(wanted, 0))
}

// profile is one without what only YARN knows: node labels and containers'
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
