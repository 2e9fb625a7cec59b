package config

import "fmt"

// What is submitted, where it runs, and how yarn-submit monitors it.
var (
	Master = text("master", "", "Where the program runs: `yarn`, `local`, `local[N]` (N task slots), `local[N,F]` (a task may fail F-1 times), "+
		"`local[*]` (a slot for each core), `local-cluster[E,C,M]` (a standalone cluster on this machine, of E workers with C cores and M MiB each, "+
		"that stops with the program), or `bobbin://host:port[,host:port]` (the masters of a standalone cluster). If it is not set, a program that "+
		"is started by hand runs on `local[*]`, and `yarn-submit` submits to `yarn`.")
	DeployMode = oneOf("submit.deployMode", DeployCluster, "Where the driver runs: in the cluster (`cluster`), on YARN in the ApplicationMaster, or in "+
		"the process that submits the application (`client`). In client mode the driver prints to that process's terminal, and the application "+
		"stops with it.", DeployCluster, DeployClient)
	AppName = text("app.name", "", "The application's name in the ResourceManager's lists. If it is not set, the name of the program's file.")
	Queue   = text("yarn.queue", "default", "The queue to submit to.")

	Priority = number("yarn.priority", "", "The application's priority within its queue.", 0)
	Tags     = list("yarn.tags", "", "Tags by which the application can be listed.")
	AppType  = define("yarn.applicationType", DefaultAppType, "text", "The application's type in the ResourceManager's lists: at most 20 characters. "+
		"`yarn-submit list` shows applications of this type and of `"+DefaultAppType+"`.", parseAppType)
	Platform = oneOf("yarn.platform", "linux/amd64", "The operating system and processor of the cluster's nodes. A program built for "+
		"another platform is refused before anything is uploaded. If it is not set, the platform that the cluster's daemons report, or the default if "+
		"they report none.", "linux/amd64", "linux/arm64")
	Program = text("yarn.program", "", "The build to run on the cluster's nodes of a program that submits itself: `yarn-submit` for `run`, your "+
		"program in client mode. If it is not set: the program itself, or, if it was built for another platform than the nodes', the file "+
		"beside it with the platform added to its name, such as `yarn-submit-linux-amd64`.")
	MaxAttempts = number("yarn.maxAppAttempts", "", "How often the ApplicationMaster is started at most. If it is not set, "+
		"as often as the cluster allows (`yarn.resourcemanager.am.max-attempts`). A driver function that returns an error is not retried.", 1)
	AttemptValidity = duration("yarn.am.attemptFailuresValidityInterval", "0", "Failures of the ApplicationMaster that are older than this do not "+
		"count towards `yarn.maxAppAttempts`. With 0 all count.")

	WaitAppCompletion = boolean("yarn.submit.waitAppCompletion", "true", "Whether `yarn-submit submit` follows the application to its end. In client mode "+
		"it always does.")
	ReportInterval = interval("yarn.report.interval", "1s", "How often `yarn-submit` asks for the state of the application that it follows.")
	SubmitTimeout  = duration("yarn.submit.timeout", "0s", "How long an application may run before it is killed, measured from its submission, or from "+
		"the start of `yarn-submit wait`. If `yarn-submit` does not wait, the ResourceManager kills it. 0 is no limit.")
	IdempotencyKey = text("yarn.submit.idempotencyKey", "", "Submissions of one user with the same key are one application. If it is running, "+
		"`yarn-submit` follows it; if it has succeeded, `yarn-submit` reports that, as long as the ResourceManager or the standalone master knows it. "+
		"In both cases nothing is started. An application that failed or was killed does not count. Cluster mode only.")
	Supervise = boolean("driver.supervise", "false", "Whether a standalone cluster restarts a driver that was submitted to it and has failed, or whose worker was "+
		"lost. A driver that ends without an error, or is killed, is not restarted.")

	// Hadoop is the family of keys that override Hadoop properties.
	Hadoop = prefix("hadoop.", "A key of Hadoop's configuration. It overrides the files in HADOOP_CONF_DIR: `hadoop.dfs.replication=2`.")
)

// Values of submit.deployMode.
const (
	DeployCluster = "cluster"
	DeployClient  = "client"
)

// ClientMode reports whether the driver runs in the process that submits the application.
func ClientMode(c *Config) bool { return DeployMode.In(c) == DeployClient }

// DefaultAppType is the default YARN application type.
const DefaultAppType = "BOBBIN"

// maxAppType is the maximum length of a YARN application type in bytes (APPLICATION_TYPE_LENGTH
// in YarnConfiguration.java of Hadoop 3). The ResourceManager truncates longer types
// (ClientRMService.java).
const maxAppType = 20

func parseAppType(s string) (string, error) {
	if s == "" || len(s) > maxAppType {
		return "", fmt.Errorf("want 1 to %d characters", maxAppType)
	}
	return s, nil
}
