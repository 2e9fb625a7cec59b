package launch

// The roles of a program in a standalone cluster, beside RoleExecutor.
const (
	RoleMaster Role = "master" // of a local cluster
	RoleWorker Role = "worker" // of a local cluster
	// RoleGuard is of the process beside a worker that ends what is left when the
	// worker is gone.
	RoleGuard Role = "guard"
)

// Environment variables of the processes that a standalone worker starts.
const (
	// EnvContainer names the process for its worker. What the process starts
	// inherits it, by which the worker finds it.
	EnvContainer = "BOBBIN_LAUNCH_CONTAINER"
	// EnvResources are the addresses that are the process's own of each further
	// resource of the worker, as a JSON object of lists: {"gpu": ["0", "1"]}.
	EnvResources = "BOBBIN_LAUNCH_RESOURCES"
)
