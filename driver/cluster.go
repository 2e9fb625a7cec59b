package driver

import (
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// ClusterManager starts and kills executors for a driver. It calls Driver.ExecutorLost when an
// executor has ended, and Driver.Decommission when executors will end. The driver's event loop
// calls the methods of a ClusterManager. So they must not block and must not call the driver.
type ClusterManager interface {
	// RequestExecutors requests executors. A request replaces the driver's previous request.
	RequestExecutors(Request)
	// KillExecutors kills executors. The manager starts replacements for them if fewer executors
	// are left than the latest request demands.
	KillExecutors(ids []string)
	// ExecutorRegistered is called when an executor has registered with the driver.
	ExecutorRegistered(id string)
}

// Request describes which executors a driver requests.
type Request struct {
	// Demands has an element for each resource profile, ordered by profile id. If no executors
	// of a profile are requested, the Total of its element is 0.
	Demands []Demand
	// ExcludedNodes are the hosts, sorted, on which no executor may be started.
	ExcludedNodes []string
}

// Demand is how many executors of a profile are requested, and which hosts tasks prefer.
type Demand struct {
	Profile profile.Profile
	// Total is the number of requested executors, including those that are already running.
	Total int
	// HostTasks has, for each host, the number of waiting tasks that prefer the
	// host. A task that prefers several hosts counts for each of them.
	HostTasks map[string]int
	// LocalityAwareTasks is the number of waiting tasks that prefer a host or an executor.
	LocalityAwareTasks int
}

func (d Demand) equal(other Demand) bool {
	return d.Profile.ID == other.Profile.ID && d.Total == other.Total && d.LocalityAwareTasks == other.LocalityAwareTasks &&
		maps.Equal(d.HostTasks, other.HostTasks)
}

// Total returns the number of requested executors of all profiles.
func (r Request) Total() int {
	total := 0
	for _, demand := range r.Demands {
		total += demand.Total
	}
	return total
}

// Loss describes why an executor was lost.
type Loss struct {
	Reason string
	// CountsAsFailure is set if tasks on the executor may have caused the loss. The loss then
	// counts as a failure of each task that was running on the executor. It is not set if the
	// cluster ended the executor, for example by preemption.
	CountsAsFailure bool
}

// DecommissionNotice announces that the cluster will end executors.
type DecommissionNotice struct {
	// Reason is text for people, such as "its node is being decommissioned".
	Reason string
	// Deadline is when the cluster ends the executors; the zero time means unknown.
	Deadline time.Time
	// NodeLeaves is set if the executors' node leaves the cluster, so that the data on its disks
	// is lost.
	NodeLeaves bool
}

// requestInterval is the minimum time between two requests to the cluster manager.
const requestInterval = 100 * time.Millisecond

// executorRequester sends requests to the cluster manager, at most one per requestInterval.
// Without a manager, it does nothing.
type executorRequester struct {
	manager        ClusterManager // nil if there is none
	mayHaveChanged bool           // set if the next request may differ from the last one
	requested      bool           // whether a request was sent; then the following fields are set
	lastRequest    Request
	requestedAt    time.Time // when the last request was sent
}

// setManager sets the manager and makes a request due at once.
func (c *executorRequester) setManager(manager ClusterManager) {
	*c = executorRequester{manager: manager, mayHaveChanged: true}
}

// nextRequest reports whether a request is due. If none is due, next is the time at which one
// will be due; the zero time means never, because nothing has changed.
func (c *executorRequester) nextRequest(now time.Time) (due bool, next time.Time) {
	if c.manager == nil || !c.mayHaveChanged {
		return false, time.Time{}
	}
	if next = c.requestedAt.Add(requestInterval); c.requested && now.Before(next) {
		return false, next
	}
	return true, time.Time{}
}

// request sends a request unless it is equal to the last request.
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

// updateRequest sends a request if one is due. Otherwise, it returns the time at which a request
// will be due; the zero time means never.
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

// isLocal reports whether all executors run in this process.
func (l *loop) isLocal() bool { return l.d.options.Identity == nil && l.requester.manager == nil }
