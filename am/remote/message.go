package remote

import (
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func encodeRequest(request driver.Request) *wire.ExecutorRequest {
	encoded := &wire.ExecutorRequest{ExcludedNodes: request.ExcludedNodes}
	for _, demand := range request.Demands {
		p := demand.Profile
		hosts := make(map[string]uint32, len(demand.HostTasks))
		for host, tasks := range demand.HostTasks {
			hosts[host] = uint32(tasks)
		}
		encoded.Demands = append(encoded.Demands, &wire.ExecutorDemand{
			Profile: &wire.ExecutorProfile{
				Id: uint32(p.ID), Memory: int64(p.Memory), Overhead: int64(p.Overhead), Cores: uint32(p.Cores),
				Resources: p.Resources, NodeLabel: p.NodeLabel, Opportunistic: p.Opportunistic,
			},
			Total: uint32(demand.Total), HostTasks: hosts, LocalityAware: uint32(demand.LocalityAwareTasks),
		})
	}
	return encoded
}

func decodeRequest(encoded *wire.ExecutorRequest) driver.Request {
	request := driver.Request{ExcludedNodes: encoded.GetExcludedNodes()}
	for _, demand := range encoded.GetDemands() {
		p := demand.GetProfile()
		var hosts map[string]int
		if len(demand.GetHostTasks()) > 0 {
			hosts = make(map[string]int, len(demand.GetHostTasks()))
		}
		for host, tasks := range demand.GetHostTasks() {
			hosts[host] = int(tasks)
		}
		request.Demands = append(request.Demands, driver.Demand{
			Profile: profile.Profile{
				ID: int(p.GetId()), Memory: config.Size(p.GetMemory()), Overhead: config.Size(p.GetOverhead()), Cores: int(p.GetCores()),
				Resources: p.GetResources(), NodeLabel: p.GetNodeLabel(), Opportunistic: p.GetOpportunistic(),
			},
			Total: int(demand.GetTotal()), HostTasks: hosts, LocalityAwareTasks: int(demand.GetLocalityAware()),
		})
	}
	return request
}

func decodeNotice(encoded *wire.ExecutorNotice) driver.DecommissionNotice {
	notice := driver.DecommissionNotice{Reason: encoded.GetReason(), NodeLeaves: encoded.GetNodeLeaves()}
	if encoded.GetDeadline() != 0 {
		notice.Deadline = time.Unix(0, encoded.GetDeadline())
	}
	return notice
}
