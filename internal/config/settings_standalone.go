package config

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CoresMax is a setting of applications. A master ignores it in its own configuration.
var CoresMax = number("cores.max", "", "The largest number of cores that the executors of an application use together on a standalone cluster. If it is not set, "+
	"`deploy.defaultCores` of the master.", 1)

// How a standalone master schedules applications, when it considers workers lost, and how long
// it keeps submitted files and lists ended applications, ended drivers and lost workers.
var (
	DefaultCores = number("deploy.defaultCores", "", "The largest number of cores of an application that does not set `cores.max`. No limit if it is not set.", 1)

	SpreadOutApps = boolean("deploy.spreadOutApps", "true", "Whether a standalone master spreads each application's executors over as many workers as possible, or packs them "+
		"onto as few as possible.")
	MaxExecutorRetries = define("deploy.maxExecutorRetries", "10", "number", "How many executors of an application may fail in a row, while none "+
		"is registered with the driver, before a standalone master removes the application. An executor that fails after it has registered does not count. -1 is no limit.", parseRetries)
	WorkerTimeout = define("worker.timeout", "60s", "time", "A standalone master considers a worker dead from which it has received nothing for this long: 1s or more. Workers send "+
		"four heartbeats in that time.", parseExpiry)
	ReconnectTimeout = define("deploy.reconnectTimeout", "10s", "time", "How long a standalone master waits for a worker, or an application, whose connection broke, "+
		"before it considers it gone: 1s or more. Until then it starts nothing new there.", parseExpiry)
	RecoveryTimeout = define("deploy.recoveryTimeout", "", "time", "How long a standalone master that was restarted, or has become the leader, waits for the workers and "+
		"applications in its store before it continues without those that are missing: 1s or more. If it is not set, `worker.timeout`.", parseOptionalExpiry)
	FileRetention = duration("deploy.fileRetention", "168h", "How long a standalone master keeps a program, or another submitted file, after it was last "+
		"fetched. It keeps the files of what runs or waits.")
	RetainedApplications  = number("deploy.retainedApplications", "200", "How many finished applications a standalone master still shows.", 0)
	RetainedDrivers       = number("deploy.retainedDrivers", "200", "How many finished drivers a standalone master still shows, and finds by their idempotency keys.", 0)
	DeadWorkerPersistence = number("dead.worker.persistence", "15", "For how many times `worker.timeout` a standalone master still shows a dead worker.", 0)
)

// Resources that a standalone worker offers to applications, and directories in which it stores
// files.
var (
	WorkerCores  = number("worker.cores", "", "How many cores a standalone worker gives to executors and drivers. If it is not set, all of its machine.", 1)
	WorkerMemory = optionalSize("worker.memory", "How much memory a standalone worker gives to executors and drivers. If it is not set, its machine's less 1g, at least 1g.")

	workerResource = checkedPrefix("worker.resource.", "How much of another resource a standalone worker has: `worker.resource.gpu.amount=2`, with the addresses `0` and `1`, or those that "+
		"the command `worker.resource.gpu.discoveryScript` prints as `{\"name\": \"gpu\", \"addresses\": [\"0\", \"1\"]}` when the worker starts. Each executor gets "+
		"addresses that no other has (`executor.resource.gpu.amount`).", checkExecutorResource)

	WorkerHost = text("worker.host", "", "The name by which masters, drivers and HDFS know a standalone worker's machine, and on which it serves its page. If it is not set, "+
		"the machine's name if that resolves to the address by which the machine reaches the master, or else that address.")
	WorkerPort = number("worker.port", "0", "A number that distinguishes a standalone worker from others on its host: a worker that registers with the host and port of a worker that the master "+
		"knows replaces that one. 0 uses the page's port. Nothing listens on it: a worker connects to its master, not the other way round.", 0)
	WorkerUIPort = number("worker.ui.port", "8081", "The port of a standalone worker's page, which also serves the log files of its executors and drivers. If it is in use, the next free one of "+
		"the 16 that follow. 0 takes any free one.", 0)
	WorkerDir = text("worker.dir", "", "The directory in which a standalone worker keeps a directory for each executor and driver, with their logs, and its cache of programs and "+
		"files. If it is not set, `~/.bobbin/worker`, or `~/.bobbin/worker-2` and so on if other workers of this machine use that. "+
		"A local cluster (`local-cluster[E,C,M]`) keeps nothing if it is not set; if it is, it leaves its logs in a directory below it.")
	WorkerCleanup = boolean("worker.cleanup.enabled", "true", "Whether a standalone worker removes directories of applications and drivers that have ended, and unused contents of its cache, "+
		"after `worker.cleanup.appDataTtl`. All files of an executor except its logs are removed with its application in any case.")
	WorkerCleanupInterval = interval("worker.cleanup.interval", "30m", "The time between two such clean-ups.")
	WorkerCleanupTTL      = duration("worker.cleanup.appDataTtl", "7d", "How long after their latest change such directories are kept.")
	WorkerKillGrace       = duration("worker.killGrace", "10s", "How long executors and drivers may take to stop after a standalone worker's SIGTERM, before it kills their whole session (SIGKILL).")

	WorkerDecommissionTimeout = duration("worker.decommissionTimeout", "0", "How long a standalone worker that is decommissioned, by SIGPWR or by request, waits for what it runs before it stops it. "+
		"0 is no limit.")
)

// RecoveringTimeout returns how long a master that recovers its stored state waits at most
// until the workers and applications in this state have registered again.
func RecoveringTimeout(c *Config) time.Duration {
	if own := RecoveryTimeout.In(c); own != nil {
		return *own
	}
	return WorkerTimeout.In(c)
}

// parseExpiry parses the time without heartbeats after which a master considers a worker or an
// application lost. It must be at least 1s, because a master checks only four times a second.
func parseExpiry(s string) (time.Duration, error) {
	d, err := ParseDuration(s)
	if err == nil && d < time.Second {
		err = errors.New("want 1s or more")
	}
	return d, err
}

func parseOptionalExpiry(s string) (*time.Duration, error) {
	if s == "" {
		return nil, nil
	}
	d, err := parseExpiry(s)
	return &d, err
}

func parseRetries(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < -1 {
		return 0, errors.New("want a whole number, or -1 for no limit")
	}
	return n, nil
}

// WorkerResource describes one resource type of a worker, such as GPUs.
type WorkerResource struct {
	Amount int64  // 0 if the amount is not set
	Script string // command that prints the addresses of the resources; "" if it is not set
}

// WorkerResources returns a worker's resources besides cores and memory, by resource name, such
// as "gpu"; nil if there are none.
func WorkerResources(c *Config) map[string]WorkerResource {
	var resources map[string]WorkerResource
	values := workerResource.In(c)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if resources == nil {
			resources = map[string]WorkerResource{}
		}
		if typ, ok := strings.CutSuffix(name, scriptSuffix); ok {
			resource := resources[typ]
			resource.Script = values[name]
			resources[typ] = resource
			continue
		}
		typ := strings.TrimSuffix(name, amountSuffix)
		resource := resources[typ]
		resource.Amount, _ = parseAmount(values[name]) // cannot fail, because Load has checked the amount
		resources[typ] = resource
	}
	return resources
}
