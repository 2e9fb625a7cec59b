package driver

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// ClusterManager is how a driver asks for executors. The ApplicationMaster and
// the standalone mode implement it, and nothing else crosses between them but
// what Driver.ExecutorLost and Driver.Decommission say. The driver's event loop
// calls it: its methods must not block, and must not call the driver back.
type ClusterManager interface {
	// RequestExecutors asks for so many executors in all; the newest request
	// replaces the one before.
	RequestExecutors(Request)
	// KillExecutors asks for the ends of executors that the driver has given up.
	// They are replaced as far as the newest request wants.
	KillExecutors(ids []string)
	// ExecutorRegistered tells that an executor has come up and serves.
	ExecutorRegistered(id string)
}

// Request is what a driver wants of its cluster manager.
type Request struct {
	// Demands are in the order of their profiles' ids. Of a profile that is not
	// among them no executor is wanted.
	Demands []Demand
	// ExcludedNodes are hosts, in order, on which the driver wants no further
	// executor.
	ExcludedNodes []string
}

// Demand is what is wanted of one kind of executor.
type Demand struct {
	Profile profile.Profile
	// Total is how many executors there shall be, those that live included.
	Total int
	// HostTasks is how many waiting tasks prefer each host. A task that prefers
	// several counts for each.
	HostTasks map[string]int
	// LocalityAware is how many waiting tasks prefer any host.
	LocalityAware int
}

// Total is how many executors are wanted, of all kinds.
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
	// CountsAsFailure is set where the tasks that ran there may be to blame: each
	// has then failed once. It is false where the cluster took the executor away.
	CountsAsFailure bool
}

// Notice says that executors will be taken away.
type Notice struct {
	// Reason is for people: "its node is being decommissioned".
	Reason string
	// Deadline is when they are taken; the zero time where it is not known.
	Deadline time.Time
}
