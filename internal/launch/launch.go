// Package launch defines what a process of bobbin passes to a process that it starts, directly
// or through YARN: role, application, secrets and command line.
package launch

// Role is the role of a process that bobbin or YARN has started: driver, executor, and so on.
type Role string

// Roles of processes. A process that a user starts has no role.
const (
	RoleAM       Role = "am"
	RoleLauncher Role = "launcher" // the ApplicationMaster in client mode, which launches executors for a driver outside the cluster
	RoleExecutor Role = "executor"
	RoleMaster   Role = "master" // the standalone master of a local cluster (master URL local-cluster)
	RoleWorker   Role = "worker" // a standalone worker of a local cluster
	RoleGuard    Role = "guard"  // kills the processes that a standalone worker has started, if the worker is killed
)

// Environment variables of processes that bobbin or YARN starts.
const (
	EnvRole       = "BOBBIN_LAUNCH_ROLE"
	EnvDriver     = "BOBBIN_LAUNCH_DRIVER"      // host:port of the driver
	EnvExecutorID = "BOBBIN_LAUNCH_EXECUTOR_ID" // the executor's id
	EnvHost       = "BOBBIN_LAUNCH_HOST"        // the node's host name, as the cluster manager names it
	EnvCores      = "BOBBIN_LAUNCH_CORES"       // the executor's number of cores
	EnvProfile    = "BOBBIN_LAUNCH_PROFILE"     // the id of the executor's resource profile
	EnvLogURL     = "BOBBIN_LAUNCH_LOG_URL"     // the URL of the container's logs on its NodeManager
	EnvMemory     = "BOBBIN_LAUNCH_MEMORY"      // the size of the container in bytes; not set if the cluster does not enforce it

	// EnvShuffleService is set, to the value of shuffle.service, if executors may use the
	// shuffle service of their node. On YARN, this service is an auxiliary service of the
	// NodeManager, with which the application has been initialized.
	EnvShuffleService = "BOBBIN_LAUNCH_SHUFFLE_SERVICE"
	// EnvApplication is the id of a standalone executor's application.
	EnvApplication = "BOBBIN_LAUNCH_APPLICATION"
	// EnvShuffleAddress is the host:port of the shuffle service in a standalone executor's
	// worker. It is not set if the worker runs no shuffle service.
	EnvShuffleAddress = "BOBBIN_LAUNCH_SHUFFLE_ADDRESS"
	// EnvShuffleDirectory is the application's directory from which the shuffle service of a
	// standalone worker serves map outputs.
	EnvShuffleDirectory = "BOBBIN_LAUNCH_SHUFFLE_DIRECTORY"
	// EnvDriverID is the id of a driver that runs on a standalone cluster.
	EnvDriverID = "BOBBIN_LAUNCH_DRIVER_ID"
	// EnvContainer is an id that a standalone worker assigns to the process. Child processes
	// inherit the variable, so that the worker can find and kill them too.
	EnvContainer = "BOBBIN_LAUNCH_CONTAINER"
	// EnvResources are the addresses of the assigned resources, in JSON: {"gpu": ["0", "1"]}.
	EnvResources = "BOBBIN_LAUNCH_RESOURCES"

	// EnvProperties are the settings of a driver that yarn-submit (by exec) or a standalone
	// worker starts: a JSON object with the values by key.
	EnvProperties = "BOBBIN_LAUNCH_PROPERTIES"
	// EnvOrigins is where each setting in EnvProperties was set, such as a file and line: a
	// JSON object with these texts by key.
	EnvOrigins = "BOBBIN_LAUNCH_ORIGINS"
	// EnvReport is "json" if a program started by yarn-submit must print its report on stdout.
	EnvReport = "BOBBIN_LAUNCH_REPORT"
	// EnvReportFile is the path of a file to which the driver writes the pages of the
	// application's web UI, as one HTML file, when the application ends (see ui.Report).
	EnvReportFile = "BOBBIN_LAUNCH_REPORT_FILE"
)

// HeapProfile is the name of the heap profile that an executor writes to its log directory when
// its memory comes near the container's limit.
const HeapProfile = "heap.pb.gz"

// Keys of bobbin's secrets in a container's credentials.
const (
	SecretSpec   = "bobbin.spec"   // the encoded Spec, for the ApplicationMaster
	SecretDriver = "bobbin.driver" // authenticates the process to the driver
)
