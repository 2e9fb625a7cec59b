package yarntest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// View provides the state of a cluster. It is valid until the function that receives it
// returns.
type View struct{ cluster *Cluster }

// watcher contains a function that is called after every change of the state.
type watcher struct{ notify func(View) }

// changed calls the watchers. The caller must have locked c.mu.
func (c *Cluster) changed() {
	for w := range c.watchers {
		w.notify(View{c})
	}
}

// Inspect calls f with the current state. f must not call methods of the Cluster.
func (c *Cluster) Inspect(f func(View)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(View{c})
}

// Watch calls f with the current state, and after every change until end is called. f must be
// fast, and must not call methods of the Cluster, because c.mu is locked.
func (c *Cluster) Watch(f func(View)) (end func()) {
	w := &watcher{f}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchers[w] = struct{}{}
	f(View{c})
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watchers, w)
	}
}

// errClosed is the error of Await if the cluster is closed before the condition is true.
var errClosed = errors.New("the cluster was closed")

// Await waits until condition returns true. It calls condition with the current state, and again
// after every change. Await fails if ctx ends or the cluster is closed first.
func (c *Cluster) Await(ctx context.Context, condition func(View) bool) error {
	met := make(chan struct{}, 1)
	end := c.Watch(func(v View) {
		if condition(v) {
			select {
			case met <- struct{}{}:
			default:
			}
		}
	})
	defer end()
	select {
	case <-met:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the awaited condition was not met: %w", ctx.Err())
	case <-c.ctx.Done():
		return errClosed
	}
}

// Containers returns an application's containers, sorted by id, except the containers of its
// ApplicationMasters.
func (v View) Containers(id yarn.ApplicationID) []Container {
	own := map[yarn.ContainerID]*container{}
	for containerID, k := range v.cluster.containers {
		if containerID.Attempt.Application == id && !k.master {
			own[containerID] = k
		}
	}
	var containers []Container
	for _, k := range sorted(own) {
		containers = append(containers, k.snapshot())
	}
	return containers
}

// Live returns the containers that an application's ApplicationMaster has received and that
// have not ended, in the order of their allocation. It does not return the ApplicationMaster's
// own container.
func (v View) Live(id yarn.ApplicationID) []Container {
	var containers []Container
	if app := v.cluster.byID[id]; app != nil {
		for _, k := range app.current().held {
			if !k.master && k.stage != allocated {
				containers = append(containers, k.snapshot())
			}
		}
	}
	return containers
}

// LiveCount returns the number of containers that Live returns. It is fast enough for Watch.
func (v View) LiveCount(id yarn.ApplicationID) int {
	return v.count(id, func(k *container) bool { return k.stage != allocated })
}

// Running returns the number of an application's containers that run on their nodes, without
// the ApplicationMaster's container.
func (v View) Running(id yarn.ApplicationID) int {
	return v.count(id, func(k *container) bool { return k.process == running })
}

func (v View) count(id yarn.ApplicationID, which func(*container) bool) int {
	app := v.cluster.byID[id]
	if app == nil {
		return 0
	}
	n := 0
	for _, k := range app.current().held {
		if !k.master && which(k) {
			n++
		}
	}
	return n
}

// Processes returns the number of an application's containers that use resources of nodes, even
// if the ResourceManager considers them ended. It does not count the ApplicationMaster's
// container.
func (v View) Processes(id yarn.ApplicationID) int {
	n := 0
	for _, node := range v.cluster.nodes {
		for _, k := range node.local {
			if k.attempt.app.id == id && !k.master && k.onNode() {
				n++
			}
		}
	}
	return n
}

// Asked returns the number of containers that an application has requested and that have not
// been allocated.
func (v View) Asked(id yarn.ApplicationID) int {
	if app := v.cluster.byID[id]; app != nil {
		return app.current().table.outstanding()
	}
	return 0
}

// Heartbeats returns the number of heartbeats of the current attempt that were answered. A
// repeated heartbeat counts once.
func (v View) Heartbeats(id yarn.ApplicationID) int {
	if app := v.cluster.byID[id]; app != nil {
		return app.current().heartbeats
	}
	return 0
}

// Rows returns the outstanding ResourceRequests of an application's current attempt.
func (v View) Rows(id yarn.ApplicationID) []yarn.ResourceRequest {
	app := v.cluster.byID[id]
	if app == nil {
		return nil
	}
	var list []yarn.ResourceRequest
	for _, r := range app.current().table.keys {
		names := make([]string, 0, len(r.rows))
		for name := range r.rows {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			row := r.rows[name]
			list = append(list, yarn.ResourceRequest{
				Priority: r.key.priority, Name: name, Resource: row.resource, Containers: row.count, RelaxLocality: row.relax,
				NodeLabel: row.label, ExecutionType: r.key.executionType, AllocationRequestID: r.key.allocationID,
			})
		}
	}
	return list
}

// Blacklist returns the blacklist of an application's current attempt, sorted.
func (v View) Blacklist(id yarn.ApplicationID) []string {
	app := v.cluster.byID[id]
	if app == nil {
		return nil
	}
	var names []string
	for name := range app.current().blacklist {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// ApplicationStatus is the state of an application.
type ApplicationStatus struct {
	State       yarn.ApplicationState
	Final       yarn.FinalStatus
	Diagnostics string
	Progress    float32
	TrackingURL string
	Attempts    int
	// Launched is true when the current attempt's ApplicationMaster has been started, and
	// Registered when it has registered.
	Launched, Registered bool
}

// Application returns the state of an application.
func (v View) Application(id yarn.ApplicationID) ApplicationStatus {
	app := v.cluster.byID[id]
	if app == nil {
		return ApplicationStatus{}
	}
	a := app.current()
	return ApplicationStatus{
		State: app.state, Final: app.final, Diagnostics: app.diagnostics, Progress: app.progress, TrackingURL: app.trackingURL,
		Attempts: len(app.attempts), Launched: a.launched, Registered: a.registered,
	}
}

// NodeState returns the state of a node at the ResourceManager.
func (v View) NodeState(host string) yarn.NodeState {
	if n := v.cluster.hosts[host]; n != nil {
		return n.state
	}
	return 0
}

// Capacity returns the total resources of a node.
func (v View) Capacity(host string) yarn.Resource {
	if n := v.cluster.hosts[host]; n != nil {
		return n.spec.Resource
	}
	return yarn.Resource{}
}

// Free returns the unused resources of a node.
func (v View) Free(host string) yarn.Resource {
	if n := v.cluster.hosts[host]; n != nil {
		return n.free()
	}
	return yarn.Resource{}
}

// Serving reports whether a ResourceManager is active.
func (v View) Serving() bool { return v.cluster.active() != nil }

// Violations describes errors of ApplicationMasters: starts of containers on nodes that were on
// the blacklist before the allocation.
func (v View) Violations() []string { return slices.Clone(v.cluster.violations) }
