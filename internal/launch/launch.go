// Package launch defines what a process of bobbin passes to a process that it starts,
// directly or through YARN: role, application, secrets and command line.
package launch

// Role is the role of a process that bobbin or YARN has started.
type Role string

// Roles. A process that a person starts has no role.
const (
	RoleAM       Role = "am"
	RoleLauncher Role = "launcher" // the ApplicationMaster in client mode, which launches executors for a driver elsewhere
	RoleExecutor Role = "executor"
	RoleMaster   Role = "master" // of a local cluster
	RoleWorker   Role = "worker" // of a local cluster
	RoleGuard    Role = "guard"  // kills the processes that a standalone worker has started, if the worker is killed
)

// Environment variables for processes that bobbin or YARN starts.
const (
	EnvRole       = "BOBBIN_LAUNCH_ROLE"
	EnvDriver     = "BOBBIN_LAUNCH_DRIVER"      // host:port of the driver
	EnvExecutorID = "BOBBIN_LAUNCH_EXECUTOR_ID" // the executor's id
	EnvHost       = "BOBBIN_LAUNCH_HOST"        // the name of the node's host in the cluster
	EnvCores      = "BOBBIN_LAUNCH_CORES"       // the executor's number of cores
	EnvProfile    = "BOBBIN_LAUNCH_PROFILE"     // id of the executor's resource profile
	EnvLogURL     = "BOBBIN_LAUNCH_LOG_URL"     // URL of the container's logs on its NodeManager
	EnvMemory     = "BOBBIN_LAUNCH_MEMORY"      // size of the container in bytes, if the cluster enforces it

	// EnvShuffleService is set, to the value of shuffle.service, if executors may use the
	// shuffle service of their node. On YARN, that is the service in the NodeManager, which was
	// told about the application.
	EnvShuffleService = "BOBBIN_LAUNCH_SHUFFLE_SERVICE"
	// EnvApplication is the id of a standalone executor's application.
	EnvApplication = "BOBBIN_LAUNCH_APPLICATION"
	// EnvShuffleAddress is the host:port of the shuffle service of a standalone executor's
	// worker. It is not set if the worker has none.
	EnvShuffleAddress = "BOBBIN_LAUNCH_SHUFFLE_ADDRESS"
	// EnvShuffleDirectory is the application's directory that the worker's shuffle service
	// serves.
	EnvShuffleDirectory = "BOBBIN_LAUNCH_SHUFFLE_DIRECTORY"
	// EnvDriverID is the id of a driver that runs on a standalone cluster.
	EnvDriverID = "BOBBIN_LAUNCH_DRIVER_ID"
	// EnvContainer is the id that a standalone worker has given to the process. Child
	// processes inherit it, so that the worker can find them too.
	EnvContainer = "BOBBIN_LAUNCH_CONTAINER"
	// EnvResources are the addresses of assigned resources, in JSON: {"gpu": ["0", "1"]}.
	EnvResources = "BOBBIN_LAUNCH_RESOURCES"

	// EnvProperties are the settings for a driver that yarn-submit (by exec) or a
	// standalone worker starts: a JSON object of values by key.
	EnvProperties = "BOBBIN_LAUNCH_PROPERTIES"
	// EnvOrigins says where the settings in EnvProperties were set: a JSON object of texts by
	// key.
	EnvOrigins = "BOBBIN_LAUNCH_ORIGINS"
	// EnvReport is "json" if the program that yarn-submit runs must print the report on stdout.
	EnvReport = "BOBBIN_LAUNCH_REPORT"
	// EnvReportFile is the path of a file to which the driver writes the application's
	// pages at its end (ui.Report).
	EnvReportFile = "BOBBIN_LAUNCH_REPORT_FILE"
)

// HeapProfile is the name of an executor's heap profile among its logs. The executor keeps
// it when its memory comes near the container's limit.
const HeapProfile = "heap.pb.gz"

// Names of bobbin's secrets in a container's credentials.
const (
	SecretSpec   = "bobbin.spec"   // the ApplicationMaster's Spec
	SecretDriver = "bobbin.driver" // authenticates the process when it connects to the driver
)
