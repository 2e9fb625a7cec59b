package allocator

import (
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// profileState is the state of one resource profile: the driver's demand, the container requests,
// and the executors. Each profile has its own YARN priority, by which an allocated container is
// assigned to its profile.
type profileState struct {
	profile.Profile
	size    yarn.Resource // size of the containers
	demand  driver.Demand
	asks    asks
	backoff backoff

	live     int                    // executors that count towards the demand (see executorState.counts)
	starting map[*executor]struct{} // live executors that no NodeManager has accepted, as far as is known
	byHost   map[string]int         // live executors by host
	byRack   map[string]int         // live executors by rack
	replan   bool                   // the hosts in the current requests may no longer be the best
}

func newProfileState(p profile.Profile, rackOf func(string) string) *profileState {
	return &profileState{
		Profile: p, size: containerSize(p), demand: driver.Demand{Profile: p}, asks: newAsks(rackOf),
		starting: map[*executor]struct{}{}, byHost: map[string]int{}, byRack: map[string]int{},
	}
}

func containerSize(p profile.Profile) yarn.Resource {
	return yarn.Resource{MemoryMB: p.Container().MiB(), VCores: int32(p.Cores), Others: p.Resources}
}

// priorityOf returns the YARN priority of a profile's requests. YARN serves lower numbers first.
func priorityOf(p profile.Profile) int32 { return int32(p.ID) + 1 }

// want sets the driver's demand.
func (p *profileState) want(demand driver.Demand) {
	if demand.Total != p.demand.Total || demand.LocalityAwareTasks != p.demand.LocalityAwareTasks || !maps.Equal(demand.HostTasks, p.demand.HostTasks) {
		p.replan = true
	}
	p.demand = demand
}

// missing returns the number of executors that the driver wants in addition to the live ones.
func (p *profileState) missing() int { return max(0, p.demand.Total-p.live) }

// containersToAsk returns the number of containers to request: the missing executors without the
// replacements that backoff delays.
func (p *profileState) containersToAsk() int { return max(0, p.missing()-p.backoff.delayedContainers) }

// asksChanged reports whether the requests must be recomputed.
func (p *profileState) asksChanged() bool {
	n := p.containersToAsk()
	return n != p.asks.outstanding() || p.replan && n > 0
}

// localityAware returns the number of executors that waiting tasks with preferred hosts could use.
// If no waiting task has preferred hosts, it returns the result of containersToAsk.
func (p *profileState) localityAware(taskCPUs int) int {
	if p.demand.LocalityAwareTasks == 0 {
		return p.containersToAsk()
	}
	slots := max(1, p.Cores/taskCPUs)
	return (p.demand.LocalityAwareTasks + slots - 1) / slots
}

func (p *profileState) add(e *executor) {
	p.live++
	p.starting[e] = struct{}{}
	p.byHost[e.host()]++
	p.byRack[e.rack]++
}

// remove removes an executor that has ended, or soon will, from the counts of the profile.
func (p *profileState) remove(e *executor) {
	p.live--
	delete(p.starting, e)
	p.replan = true
	decrement(p.byHost, e.host())
	decrement(p.byRack, e.rack)
}

// surplus returns the executors to release because the driver wants fewer executors. It chooses
// executors that no NodeManager has accepted, the youngest first.
func (p *profileState) surplus() []*executor {
	n := min(p.live-p.demand.Total, len(p.starting))
	if n <= 0 {
		return nil
	}
	return slices.SortedFunc(maps.Keys(p.starting), youngestFirst)[:n]
}

func decrement(counts map[string]int, name string) {
	if counts[name] > 1 {
		counts[name]--
	} else {
		delete(counts, name)
	}
}

// requests converts asks to YARN's ResourceRequests.
func (p *profileState) requests(asks []ask) []yarn.ResourceRequest {
	requests := make([]yarn.ResourceRequest, len(asks))
	for i, ask := range asks {
		requests[i] = yarn.ResourceRequest{
			Priority:      priorityOf(p.Profile),
			Name:          ask.name,
			Resource:      p.size,
			Containers:    int32(ask.count),
			RelaxLocality: true,
		}
		if p.Opportunistic {
			requests[i].ExecutionType = yarn.Opportunistic
		}
		// YARN accepts node labels only in requests for any host
		// (SchedulerUtils.validateResourceRequest).
		if ask.name == anywhere {
			requests[i].NodeLabel = p.NodeLabel
		}
	}
	return requests
}
