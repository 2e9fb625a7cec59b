package config

import (
	"maps"
	"slices"
	"strings"
)

// What a standalone worker has, and where it keeps it.
var (
	WorkerCores = number("worker.cores", "", "How many cores a standalone worker gives to executors and drivers; all of its machine where not set.", 1)
	WorkerMem   = optionalSize("worker.memory", "How much memory a standalone worker gives to executors and drivers; that of its machine less 1g, but at least 1g, where not set.")
	WorkerHost  = text("worker.host", "", "The name by which a standalone worker's machine is known to masters, drivers and HDFS, and at which the worker's page is served. Where not set: "+
		"the machine's name, where that leads to the address by which the machine reaches the master, or else that address.")
	WorkerPort = number("worker.port", "0", "A number that tells a standalone worker from others on its host: one that registers with the host and port of a worker that the master "+
		"knows takes that worker's place. 0 takes the page's port. Nothing listens on it: a worker connects to its master, not the other way round.", 0)
	WorkerUIPort = number("worker.ui.port", "8081", "The port of a standalone worker's page, which also serves the log files of its executors and drivers. Where it is taken, the next free one of "+
		"the 16 that follow; 0 takes any free one.", 0)
	WorkerDir = text("worker.dir", "", "The directory in which a standalone worker has a directory for each executor and driver, with their logs, and its cache of programs and "+
		"files. Where not set: `~/.bobbin/worker`, or `~/.bobbin/worker-2` and so on where other workers of this machine have that. "+
		"A local cluster (`local-cluster[E,C,M]`) keeps nothing where it is not set, and leaves its logs in a directory below it where it is.")

	workerResource = checkedPrefix("worker.resource.", "What a standalone worker has of a further resource: `worker.resource.gpu.amount=2`, whose addresses are `0` and `1`, or those that "+
		"the command `worker.resource.gpu.discoveryScript` prints as `{\"name\": \"gpu\", \"addresses\": [\"0\", \"1\"]}` when the worker starts. Executors get "+
		"addresses of their own (`executor.resource.gpu.amount`).", checkExecutorResource)
)

// How a standalone worker keeps and ends what it runs.
var (
	LogMaxSize = size("executor.logs.rolling.maxSize", "64m", "How large the file may grow to which a standalone worker writes the stdout or stderr of an executor or driver. It then "+
		"becomes `stdout.1`, what was `stdout.1` becomes `stdout.2`, and a new one is begun. 0 lets it grow.")
	LogMaxFiles = number("executor.logs.rolling.maxRetainedFiles", "4", "How many such older files are kept of each.", 0)

	WorkerCleanup = boolean("worker.cleanup.enabled", "true", "Whether a standalone worker removes directories of applications and drivers that have ended, and contents of its cache that "+
		"nobody has used, after `worker.cleanup.appDataTtl`. What an executor left besides logs is removed with its application in any case.")
	WorkerCleanupInterval = interval("worker.cleanup.interval", "30m", "Between two looks for what is old enough.")
	WorkerCleanupTTL      = duration("worker.cleanup.appDataTtl", "7d", "How long after the latest change in them such directories are kept.")

	WorkerKillGrace = duration("worker.killGrace", "10s", "How long executors and drivers that a standalone worker has told to end (SIGTERM) may take until their whole session is killed (SIGKILL).")

	WorkerDecommissionTimeout = duration("worker.decommissionTimeout", "0", "How long a standalone worker that is decommissioned, by SIGPWR or by request, waits for what it runs to end before it ends it. "+
		"0 waits as long as it takes.")
)

// WorkerResource is what a worker has of a further resource.
type WorkerResource struct {
	Amount int64  // as set; 0 where it is not
	Script string // prints the addresses; "" for none
}

// WorkerResources are what a worker has beside cores and memory, by the name by
// which tasks ask for it; nil for nothing.
func WorkerResources(c *Config) map[string]WorkerResource {
	var resources map[string]WorkerResource
	values := workerResource.In(c)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if resources == nil {
			resources = map[string]WorkerResource{}
		}
		if kind, ok := strings.CutSuffix(name, scriptSuffix); ok {
			resource := resources[kind]
			resource.Script = values[name]
			resources[kind] = resource
			continue
		}
		kind := strings.TrimSuffix(name, amountSuffix)
		resource := resources[kind]
		resource.Amount, _ = parseAmount(values[name]) // a Config has passed the check
		resources[kind] = resource
	}
	return resources
}
