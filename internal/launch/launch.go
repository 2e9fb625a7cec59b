// Package launch has what a process of bobbin passes to another that it starts, or
// that YARN starts for it: the role, the application's description, the secrets and
// the command line.
package launch

// Role is the role of a process that bobbin or YARN has started.
type Role string

// The roles of processes. One that a person starts has none.
const (
	RoleAM       Role = "am"
	RoleLauncher Role = "launcher" // the ApplicationMaster in client mode: the driver is elsewhere
	RoleExecutor Role = "executor"
	RoleMaster   Role = "master" // of a local cluster
	RoleWorker   Role = "worker" // of a local cluster
	RoleGuard    Role = "guard"  // kills the processes of a standalone worker that was killed
)

// Environment variables of processes that bobbin starts.
const (
	EnvRole       = "BOBBIN_LAUNCH_ROLE"
	EnvDriver     = "BOBBIN_LAUNCH_DRIVER"      // host:port of the driver
	EnvExecutorID = "BOBBIN_LAUNCH_EXECUTOR_ID" // as the driver knows it
	EnvHost       = "BOBBIN_LAUNCH_HOST"        // the node, as the cluster names it
	EnvCores      = "BOBBIN_LAUNCH_CORES"       // of the executor
	EnvProfile    = "BOBBIN_LAUNCH_PROFILE"     // id of the executor's resource profile
	EnvLogURL     = "BOBBIN_LAUNCH_LOG_URL"     // the container's logs on its NodeManager

	// EnvDriverID is the id of a driver that a standalone cluster runs.
	EnvDriverID = "BOBBIN_LAUNCH_DRIVER_ID"
	// EnvContainer is a standalone worker's id for the process. Children inherit it,
	// so the worker finds them too.
	EnvContainer = "BOBBIN_LAUNCH_CONTAINER"
	// EnvResources are the addresses of each further resource that a standalone
	// worker has assigned to the process, in JSON: {"gpu": ["0", "1"]}.
	EnvResources = "BOBBIN_LAUNCH_RESOURCES"

	// EnvProperties are the settings by key, in JSON, of a program that yarn-submit
	// executes in its place.
	EnvProperties = "BOBBIN_LAUNCH_PROPERTIES"
	// EnvReport is "json" if that program prints its application's report on stdout.
	EnvReport = "BOBBIN_LAUNCH_REPORT"
)

// Aliases of bobbin's secrets in a container's credentials.
const (
	SecretSpec   = "bobbin.spec"   // the ApplicationMaster's Spec
	SecretDriver = "bobbin.driver" // authenticates the process to the driver
)
