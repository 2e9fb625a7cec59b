package am

import (
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// table is what is wanted of one resource profile, what there is, and what is
// asked for. The ResourceManager keeps a table of its own for each priority, so
// each profile has a priority, by which its containers are known when they come.
type table struct {
	profile profile.Profile
	size    yarn.Resource // of a container
	demand  driver.Demand
	asks    asks
	backoff backoff

	live     int                    // executors that count towards the demand
	starting map[*executor]struct{} // of these, those that no NodeManager is known to have taken
	placed   map[string]int         // these, by host
	inRack   map[string]int         // these, by rack
	dirty    bool                   // other places may be better than those asked for
}

func newTable(p profile.Profile, size yarn.Resource, rackOf func(string) string) *table {
	return &table{
		profile: p, size: size, demand: driver.Demand{Profile: p}, asks: newAsks(rackOf),
		starting: map[*executor]struct{}{}, placed: map[string]int{}, inRack: map[string]int{},
	}
}

// priorityOf is that of a profile's asks. The lowest number goes first.
func priorityOf(p profile.Profile) int32 { return int32(p.ID) + 1 }

// want takes what the driver wants now.
func (t *table) want(demand driver.Demand) {
	if demand.Total != t.demand.Total || demand.LocalityAware != t.demand.LocalityAware || !maps.Equal(demand.HostTasks, t.demand.HostTasks) {
		t.dirty = true
	}
	t.demand = demand
}

// missing is how many executors there are too few.
func (t *table) missing() int { return max(0, t.demand.Total-t.live) }

// toAsk is how many containers should be asked for now: those that are missing,
// without those that are held back.
func (t *table) toAsk() int { return max(0, t.missing()-t.backoff.held) }

// choosy is how many executors the waiting tasks that prefer a host could use.
func (t *table) choosy(taskCPUs int) int {
	if t.demand.LocalityAware == 0 {
		return t.toAsk()
	}
	slots := max(1, t.profile.Cores/taskCPUs)
	return (t.demand.LocalityAware + slots - 1) / slots
}

// add counts an executor that has come.
func (t *table) add(e *executor) {
	t.live++
	t.starting[e] = struct{}{}
	t.placed[e.host()]++
	t.inRack[e.rack]++
}

// remove takes an executor out of the counts that is there no more, or will
// not be for long.
func (t *table) remove(e *executor) {
	t.live--
	delete(t.starting, e)
	t.dirty = true
	lower(t.placed, e.host())
	lower(t.inRack, e.rack)
}

// surplus are the executors that are more than wanted and have not been
// started, the youngest first.
func (t *table) surplus() []*executor {
	more := min(t.live-t.demand.Total, len(t.starting))
	if more <= 0 {
		return nil
	}
	return slices.SortedFunc(maps.Keys(t.starting), youngestFirst)[:more]
}

func lower(counts map[string]int, name string) {
	if counts[name] > 1 {
		counts[name]--
	} else {
		delete(counts, name)
	}
}

// requests writes asks as they are sent.
func (t *table) requests(asks []ask) []yarn.ResourceRequest {
	requests := make([]yarn.ResourceRequest, len(asks))
	for i, ask := range asks {
		requests[i] = yarn.ResourceRequest{
			Priority:      priorityOf(t.profile),
			Name:          ask.name,
			Resource:      t.size,
			Containers:    int32(ask.count),
			RelaxLocality: true,
		}
		if t.profile.Opportunistic {
			requests[i].ExecutionType = yarn.Opportunistic
		}
		// Other rows may not bear one (SchedulerUtils.validateResourceRequest).
		if ask.name == anywhere {
			requests[i].NodeLabel = t.profile.NodeLabel
		}
	}
	return requests
}
