package driver

import (
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// ClusterManager starts and kills executors for a driver. It reports their ends by
// calling Driver.ExecutorLost and Driver.Decommission. The driver's event loop
// calls its methods, which must not block and must not call the driver.
type ClusterManager interface {
	// RequestExecutors replaces the driver's previous request for executors.
	RequestExecutors(Request)
	// KillExecutors kills executors. The manager starts other executors if fewer
	// than in the latest request are left.
	KillExecutors(ids []string)
	// ExecutorRegistered reports that an executor has registered.
	ExecutorRegistered(id string)
}

// Request says which executors a driver wants.
type Request struct {
	// Demands has an element for each resource profile that the driver knows, ordered by
	// profile id. Its Total is 0 if no executors of the profile are wanted.
	Demands []Demand
	// ExcludedNodes are the hosts, sorted, on which no executor may be started.
	ExcludedNodes []string
}

// Demand is how many executors of a profile are wanted, and which hosts tasks prefer.
type Demand struct {
	Profile profile.Profile
	// Total is how many executors are wanted, including those already running.
	Total int
	// HostTasks has, for each host, the number of waiting tasks that prefer the
	// host. A task that prefers several hosts counts for each of them.
	HostTasks map[string]int
	// LocalityAwareTasks is how many waiting tasks have a preferred host or executor.
	LocalityAwareTasks int
}

func (d Demand) equal(other Demand) bool {
	return d.Profile.ID == other.Profile.ID && d.Total == other.Total && d.LocalityAwareTasks == other.LocalityAwareTasks &&
		maps.Equal(d.HostTasks, other.HostTasks)
}

// Total returns how many executors of all profiles are wanted.
func (r Request) Total() int {
	total := 0
	for _, demand := range r.Demands {
		total += demand.Total
	}
	return total
}

// Loss says why an executor was lost.
type Loss struct {
	Reason string
	// CountsAsFailure is set if tasks on the executor may have caused the loss. The loss
	// then counts as a failure of each task that was running there. It is not set if the
	// cluster took the executor away.
	CountsAsFailure bool
}

// DecommissionNotice says why and when executors will be taken away.
type DecommissionNotice struct {
	// Reason is text for people, such as "its node is being decommissioned".
	Reason string
	// Deadline is when the executors are taken away; the zero time means unknown.
	Deadline time.Time
	// NodeLeaves is set if the executors' node leaves the cluster, with all that it stores.
	NodeLeaves bool
}

// requestInterval is the minimum time between two requests to the cluster manager.
const requestInterval = 100 * time.Millisecond

// executorRequester sends requests to the cluster manager, and decides when. Without a
// manager, it does nothing.
type executorRequester struct {
	manager        ClusterManager // nil if there is none
	mayHaveChanged bool           // set if the wanted executors may differ from the last request
	requested      bool
	lastRequest    Request
	requestedAt    time.Time // when the last request was sent
}

// setManager sets the manager. The next request is sent to it at once.
func (c *executorRequester) setManager(manager ClusterManager) {
	*c = executorRequester{manager: manager, mayHaveChanged: true}
}

// nextRequest reports whether a request is due. If not, next is when one will be
// due; the zero time means never, because nothing has changed.
func (c *executorRequester) nextRequest(now time.Time) (due bool, next time.Time) {
	if c.manager == nil || !c.mayHaveChanged {
		return false, time.Time{}
	}
	if next = c.requestedAt.Add(requestInterval); c.requested && now.Before(next) {
		return false, next
	}
	return true, time.Time{}
}

// request sends a request if it differs from the last request sent.
func (c *executorRequester) request(request Request, now time.Time) {
	c.mayHaveChanged = false
	if c.manager == nil || c.requested && slices.EqualFunc(request.Demands, c.lastRequest.Demands, Demand.equal) &&
		slices.Equal(request.ExcludedNodes, c.lastRequest.ExcludedNodes) {
		return
	}
	c.requested, c.lastRequest, c.requestedAt = true, request, now
	c.manager.RequestExecutors(request)
}

func (c *executorRequester) kill(ids []string) {
	if c.manager != nil && len(ids) > 0 {
		c.manager.KillExecutors(ids)
	}
}

func (c *executorRequester) executorRegistered(id string) {
	if c.manager != nil {
		c.manager.ExecutorRegistered(id)
	}
}

// updateRequest sends a request if one is due. Otherwise, it returns when a request will be
// due; the zero time means never.
func (l *loop) updateRequest() (next time.Time) {
	due, next := l.requester.nextRequest(l.now)
	if due {
		l.requestExecutors()
	}
	return next
}

func (l *loop) requestExecutors() {
	request := Request{ExcludedNodes: l.scheduler.ExcludedNodes()}
	for _, p := range l.profiles.list {
		request.Demands = append(request.Demands, Demand{
			Profile:            p.Profile,
			Total:              p.total(),
			HostTasks:          l.scheduler.PreferredHostsOf(p.ID),
			LocalityAwareTasks: l.scheduler.DemandOf(p.ID).TasksWithPreferences,
		})
	}
	l.record.requested(request, l.now)
	l.requester.request(request, l.now)
}

// isLocal reports whether only executors in this process run tasks.
func (l *loop) isLocal() bool { return l.d.options.Identity == nil && l.requester.manager == nil }
