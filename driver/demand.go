package driver

import (
	"maps"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// demandInterval is the least time between two requests to the cluster
// manager. Each replaces the one before, so what changes in between is
// told together.
const demandInterval = 100 * time.Millisecond

// demand is what the driver wants of its cluster manager. It asks when what it
// wants has changed: when jobs come and go and when executors do, never for
// single tasks.
type demand struct {
	manager ClusterManager
	profile profile.Profile
	total   int
	changed bool // what is wanted may differ from the last request
	asked   bool
	last    Demand
	at      time.Time // of the last request
}

func newDemand(c *config.Config, manager ClusterManager) demand {
	return demand{manager: manager, profile: profile.Default(c), total: config.ExecutorCount.In(c), changed: true}
}

func (d *demand) setManager(manager ClusterManager) {
	d.manager, d.changed, d.asked = manager, true, false
}

// update asks if there is something new, and otherwise says when it may.
func (d *demand) update(now time.Time, waiting func() (hostTasks map[string]int, localityAware int)) (next time.Time) {
	if d.manager == nil || !d.changed {
		return time.Time{}
	}
	if due := d.at.Add(demandInterval); d.asked && now.Before(due) {
		return due
	}
	d.changed = false
	demand := Demand{Profile: d.profile, Total: d.total}
	demand.HostTasks, demand.LocalityAware = waiting()
	if d.asked && demand.Total == d.last.Total && demand.LocalityAware == d.last.LocalityAware &&
		maps.Equal(demand.HostTasks, d.last.HostTasks) {
		return time.Time{}
	}
	d.asked, d.last, d.at = true, demand, now
	d.manager.RequestExecutors(Request{Demands: []Demand{demand}})
	return time.Time{}
}

// waitingForHosts is what waiting tasks prefer.
func (l *loop) waitingForHosts() (hostTasks map[string]int, localityAware int) {
	for _, r := range l.runs {
		localityAware += r.choosy
	}
	return l.scheduler.PreferredHosts(), localityAware
}
