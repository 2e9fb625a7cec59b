package driver

// ClusterManager is how a driver asks for executors. The ApplicationMaster and
// the standalone mode implement it, and nothing else crosses between them. The
// driver's event loop calls it: its methods must not block, and must not call
// the driver back.
type ClusterManager interface {
	// RequestExecutors asks for so many executors in all; the newest request
	// replaces the one before.
	RequestExecutors(Request)
	// KillExecutors asks for the ends of executors that the driver has given up.
	// They are replaced as far as the newest request wants.
	KillExecutors(ids []string)
}

// Request is what a driver wants of its cluster manager.
type Request struct {
	// Total is how many executors there shall be, those that live included.
	Total int
	// HostTasks is how many waiting tasks prefer each host. A task that prefers
	// several counts for each.
	HostTasks map[string]int
	// LocalityAware is how many waiting tasks prefer any host.
	LocalityAware int
}

// Loss is why an executor was lost.
type Loss struct {
	Text string
	// CountsAsFailure is set where the tasks that ran there may be to blame: each
	// has then failed once. It is false where the cluster took the executor away.
	CountsAsFailure bool
}
