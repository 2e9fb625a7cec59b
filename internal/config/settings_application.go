package config

import (
	"fmt"
	"time"
)

// The application as a whole.
var (
	Master = text("master", "", "Where the program runs: `yarn`, `local`, `local[N]` (N task slots), `local[N,F]` "+
		"(each task may fail F-1 times), `local[*]` (a slot for every core), `local-cluster[E,C,M]` (a standalone cluster on this machine, "+
		"of E workers with C cores and M megabytes each, that ends with the program), or `bobbin://host:port[,host:port]` (the masters of "+
		"a standalone cluster). Where it is not set, a program that "+
		"is started by hand runs on `local[*]`, and `yarn-submit` submits to `yarn`.")
	DeployMode = oneOf("submit.deployMode", DeployCluster, "Where the driver runs: in the ApplicationMaster (`cluster`), or in the process "+
		"that submits the application (`client`): then its output is that process's own, and the application ends with it.",
		DeployCluster, DeployClient)
	AppName  = text("app.name", "", "The application's name in the ResourceManager's lists; the program's file name where not set.")
	LogLevel = oneOf("log.level", "info", "The least level of what the AM, the driver, the executors, and the masters and workers of a standalone cluster log to their stderr.",
		"debug", "info", "warn", "error")
)

// The driver and the executors.
var (
	DriverMemory = size("driver.memory", "1g", "Memory of the container in which the ApplicationMaster and the driver run. In client mode the driver has "+
		"what its machine gives it, see `yarn.am.memory`. "+
		"Go's memory limit (GOMEMLIMIT) is set to nine tenths of it.")
	DriverCores   = number("driver.cores", "1", "Virtual cores of that container, and its GOMAXPROCS.", 1)
	DriverPort    = number("driver.port", "0", "Port on which the driver listens for executors; 0 takes a free one.", 0)
	ExecutorCount = number("executor.instances", "2", "How many executors are asked for, of each resource profile in use. With "+
		"`dynamicAllocation.enabled` it is, where set, the least number to begin with.", 0)
	ExecutorCores = number("executor.cores", "1", "Virtual cores of an executor: how many tasks of one CPU it runs at once.", 1)
	ExecutorMem   = size("executor.memory", "1g", "Memory of an executor. Go's memory limit (GOMEMLIMIT) is set to nine "+
		"tenths of it: a Go process's memory is one whole, so nothing is set apart from a heap.")
	ExecutorHeartbeat = interval("executor.heartbeatInterval", "10s", "Between two heartbeats of an executor to the driver.")
	NetworkTimeout    = interval("network.timeout", "120s", "How long the driver waits for an executor that says nothing before it "+
		"counts as lost; more than `executor.heartbeatInterval`, and better several times that.")
	MaxExecutorFailures = number("executor.maxNumFailures", "", "How many executors may fail before the application does. "+
		"Where not set: twice the number of executors, at least 3; no bound with dynamic allocation and no `dynamicAllocation.maxExecutors`. "+
		"Executors that fail one after the other are replaced ever more slowly, after up to 30 s.", 1)
	ExecutorEnv = checkedPrefix("executorEnv.", "An environment variable of the executors: `executorEnv.TZ=UTC`. The node replaces "+
		"`{{NAME}}` by its own variable of that name, `<LOG_DIR>` by the container's log directory and `<CPS>` by `:`; all else "+
		"arrives as it is written. GOMAXPROCS and GOMEMLIMIT are set from the container's size where they are not set here.", checkVariable)
)

// One heartbeat may be lost or late. Spark wants the interval only to be less
// than the timeout (SparkConf.validateSettings).
var _ = rule(func(c *Config) error {
	if ExecutorHeartbeat.In(c) > NetworkTimeout.In(c)/2 {
		return fmt.Errorf("%s must be at most half of %s: the driver would give up executors between two of their heartbeats",
			said(c, ExecutorHeartbeat), said(c, NetworkTimeout))
	}
	return nil
})

// Tasks and where they go.
var (
	TaskMaxFailures = number("task.maxFailures", "4", "How often one task may fail before its job does.", 1)
	TaskCPUs        = number("task.cpus", "1", "Cores that a task takes of its executor.", 1)
	TaskMaxResult   = size("task.maxResultSize", "512m", "The largest encoded result of one task; a larger one fails the task.")
	localityWait    = duration("locality.wait", "3s", "How long a task waits for a free core closer to its data before it takes one "+
		"at the next level of locality: its process, its node, its rack, any.")
	RegisteredWait = duration("scheduler.maxRegisteredResourcesWaitingTime", "30s", "How long after the first executor has registered those "+
		"that are missing are waited for, by tasks that prefer a host without an executor, each for no longer than `locality.wait.node`.")
	localityWaitProcess = optionalDuration("locality.wait.process", "As `locality.wait`, for a place in the process; `locality.wait` where not set.")
	localityWaitNode    = optionalDuration("locality.wait.node", "As `locality.wait`, for a place on the node; `locality.wait` where not set.")
	localityWaitRack    = optionalDuration("locality.wait.rack", "As `locality.wait`, for a place in the rack; `locality.wait` where not set.")
)

// LocalityWaits are the waits for a place in the process, on the node and in
// the rack, each as set or else as locality.wait says.
func LocalityWaits(c *Config) (process, node, rack time.Duration) {
	or := func(k Key[*time.Duration]) time.Duration {
		if own := k.In(c); own != nil {
			return *own
		}
		return localityWait.In(c)
	}
	return or(localityWaitProcess), or(localityWaitNode), or(localityWaitRack)
}

// Hadoop overrides keys of the cluster's own configuration.
var Hadoop = prefix("hadoop.", "A key of Hadoop's configuration, over what HADOOP_CONF_DIR says: `hadoop.dfs.replication=2`.")
