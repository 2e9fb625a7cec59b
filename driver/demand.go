package driver

import (
	"maps"
	"slices"
	"time"
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
	changed bool // what is wanted may differ from the last request
	asked   bool
	last    Request
	at      time.Time // of the last request
}

func (d *demand) setManager(manager ClusterManager) {
	d.manager, d.changed, d.asked = manager, true, false
}

// updateDemand asks if there is something new, and otherwise says when it may.
func (l *loop) updateDemand() (next time.Time) {
	d := &l.demand
	if d.manager == nil || !d.changed {
		return time.Time{}
	}
	if due := d.at.Add(demandInterval); d.asked && l.now.Before(due) {
		return due
	}
	l.ask()
	return time.Time{}
}

// ask tells the cluster manager what is wanted, unless it knows.
func (l *loop) ask() {
	d := &l.demand
	request := l.request()
	d.changed = false
	if d.asked && slices.EqualFunc(request.Demands, d.last.Demands, sameDemand) &&
		slices.Equal(request.ExcludedNodes, d.last.ExcludedNodes) {
		return
	}
	d.asked, d.last, d.at = true, request, l.now
	d.manager.RequestExecutors(request)
}

// request is what is wanted now.
func (l *loop) request() Request {
	request := Request{ExcludedNodes: l.scheduler.ExcludedNodes()}
	for _, k := range l.kinds {
		request.Demands = append(request.Demands, Demand{
			Profile:       k.profile,
			Total:         k.total(),
			HostTasks:     l.scheduler.PreferredHostsOf(k.profile.ID),
			LocalityAware: l.scheduler.DemandOf(k.profile.ID).TasksWithPreferences,
		})
	}
	return request
}

func sameDemand(a, b Demand) bool {
	return a.Profile.ID == b.Profile.ID && a.Total == b.Total && a.LocalityAware == b.LocalityAware && maps.Equal(a.HostTasks, b.HostTasks)
}
