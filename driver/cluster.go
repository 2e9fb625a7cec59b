package driver

import (
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// ClusterManager is how a driver asks for executors. It reports back by
// Driver.ExecutorLost and Driver.Decommission. The driver's event loop calls its
// methods, which must not block and must not call the driver.
type ClusterManager interface {
	// RequestExecutors replaces the previous request.
	RequestExecutors(Request)
	// KillExecutors ends executors that the driver has given up. They are replaced
	// if the newest request wants so many.
	KillExecutors(ids []string)
	// ExecutorRegistered reports that an executor has registered.
	ExecutorRegistered(id string)
}

// Request is which executors a driver wants.
type Request struct {
	// Demands are in the order of their profiles' ids. No executor is wanted of a
	// profile that is missing.
	Demands []Demand
	// ExcludedNodes are hosts, sorted, on which no further executor is wanted.
	ExcludedNodes []string
}

// Demand is which executors of one resource profile are wanted.
type Demand struct {
	Profile profile.Profile
	// Total is the number of executors, including those that run.
	Total int
	// HostTasks is how many waiting tasks prefer each host. A task that prefers
	// several hosts counts for each.
	HostTasks map[string]int
	// LocalityAware is how many waiting tasks prefer any host.
	LocalityAware int
}

func (d Demand) equal(other Demand) bool {
	return d.Profile.ID == other.Profile.ID && d.Total == other.Total && d.LocalityAware == other.LocalityAware &&
		maps.Equal(d.HostTasks, other.HostTasks)
}

// Total is how many executors are wanted, of all profiles.
func (r Request) Total() int {
	total := 0
	for _, demand := range r.Demands {
		total += demand.Total
	}
	return total
}

// Loss is why an executor was lost.
type Loss struct {
	Text string
	// CountsAsFailure is set if the tasks that ran there may have caused it: each
	// has failed once. It is false if the cluster took the executor away.
	CountsAsFailure bool
}

// Notice announces that executors will be taken away.
type Notice struct {
	// Reason is for people: "its node is being decommissioned".
	Reason string
	// Deadline is when they are taken away; the zero time if that is not known.
	Deadline time.Time
}

// requestInterval is the least time between two requests. Each replaces the one
// before, so changes in between are sent together.
const requestInterval = 100 * time.Millisecond

// cluster is the driver's side of its cluster manager. Without one, its methods
// do nothing.
type cluster struct {
	manager   ClusterManager // nil without one
	changed   bool           // the wanted executors may differ from the last request
	requested bool
	last      Request
	at        time.Time // of the last request
}

// set sets the manager. The next request is sent to it at once.
func (c *cluster) set(manager ClusterManager) { *c = cluster{manager: manager, changed: true} }

// nextRequest reports whether a request is due, and otherwise when it will be; the
// zero time if nothing has changed.
func (c *cluster) nextRequest(now time.Time) (due bool, next time.Time) {
	if c.manager == nil || !c.changed {
		return false, time.Time{}
	}
	if next = c.at.Add(requestInterval); c.requested && now.Before(next) {
		return false, next
	}
	return true, time.Time{}
}

// request sends a request if it differs from the last.
func (c *cluster) request(request Request, now time.Time) {
	c.changed = false
	if c.manager == nil || c.requested && slices.EqualFunc(request.Demands, c.last.Demands, Demand.equal) &&
		slices.Equal(request.ExcludedNodes, c.last.ExcludedNodes) {
		return
	}
	c.requested, c.last, c.at = true, request, now
	c.manager.RequestExecutors(request)
}

func (c *cluster) kill(ids []string) {
	if c.manager != nil && len(ids) > 0 {
		c.manager.KillExecutors(ids)
	}
}

func (c *cluster) executorRegistered(id string) {
	if c.manager != nil {
		c.manager.ExecutorRegistered(id)
	}
}

// updateRequest requests executors if the request has changed. It returns when it
// may, if that is not yet.
func (l *loop) updateRequest() (next time.Time) {
	due, next := l.cluster.nextRequest(l.now)
	if due {
		l.requestExecutors()
	}
	return next
}

func (l *loop) requestExecutors() {
	request := Request{ExcludedNodes: l.scheduler.ExcludedNodes()}
	for _, p := range l.profiles.list {
		request.Demands = append(request.Demands, Demand{
			Profile:       p.Profile,
			Total:         p.total(),
			HostTasks:     l.scheduler.PreferredHostsOf(p.ID),
			LocalityAware: l.scheduler.DemandOf(p.ID).TasksWithPreferences,
		})
	}
	l.cluster.request(request, l.now)
}

// killSurplus kills executors that are not wanted any more. The request with the
// lower numbers goes first, so that they are not replaced.
func (l *loop) killSurplus(ids []string) {
	if len(ids) > 0 {
		l.requestExecutors()
		l.cluster.kill(ids)
	}
}

// isLocal reports whether all executors are of this process, and no others can be
// requested.
func (l *loop) isLocal() bool { return l.d.options.Identity == nil && l.cluster.manager == nil }
