package driver

import (
	"maps"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
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
	total   int
	changed bool // what is wanted may differ from the last request
	asked   bool
	last    Request
	at      time.Time // of the last request
}

func newDemand(c *config.Config, manager ClusterManager) demand {
	return demand{manager: manager, total: config.ExecutorCount.In(c), changed: true}
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
	request := Request{Total: d.total}
	request.HostTasks, request.LocalityAware = waiting()
	if d.asked && request.Total == d.last.Total && request.LocalityAware == d.last.LocalityAware &&
		maps.Equal(request.HostTasks, d.last.HostTasks) {
		return time.Time{}
	}
	d.asked, d.last, d.at = true, request, now
	d.manager.RequestExecutors(request)
	return time.Time{}
}

// waitingForHosts is what waiting tasks prefer.
func (l *loop) waitingForHosts() (hostTasks map[string]int, localityAware int) {
	for _, r := range l.runs {
		localityAware += r.choosy
	}
	return l.scheduler.PreferredHosts(), localityAware
}
