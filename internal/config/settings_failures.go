package config

import (
	"fmt"
	"math"
	"strings"
)

// How many executors and tasks may fail before the application or the job fails.
var (
	TaskMaxFailures = number("task.maxFailures", "4", "How often one task may fail before its job fails.", 1)

	maxExecutorFailures = number("executor.maxNumFailures", "", "How many executors may fail before the application fails. "+
		"If it is not set: twice the number of executors, at least 3; no limit with dynamic allocation and no `dynamicAllocation.maxExecutors`. "+
		"Executors that fail one after the other are replaced after growing delays, up to 30 s.", 1)
	ExecutorFailureValidity = duration("executor.failuresValidityInterval", "0", "Failures of executors that are older than this do not count towards "+
		"`executor.maxNumFailures`. With 0 all count.")
	// TolerateWhenRunning is 0 if it is not set. Too many failed executors then end the
	// application, however many executors are registered.
	TolerateWhenRunning = number("executor.failures.tolerateWhenRunning", "", "If at least this many executors are registered, the application "+
		"continues although `executor.maxNumFailures` have failed. It fails once fewer are left. If it is not set, the application fails in any case.", 1)
)

// Nodes on which no executors are started.
var (
	ExcludeNodes = define("yarn.exclude.nodes", "", "list", "Hosts, by the names that YARN uses, on which no executor may run.", parseHosts)
	// The next three settings define which nodes the ApplicationMaster excludes because
	// executors have failed on them.
	ExcludeOnFailure = boolean("yarn.executor.launch.excludeOnFailure.enabled", "true", "Whether nodes on which executors fail repeatedly, or cannot "+
		"be launched, get no further executors. If that would leave no usable node, the oldest of these exclusions ends.")
	NodeMaxFailures = number("excludeOnFailure.application.maxFailedExecutorsPerNode", "2", "A node is excluded once this many executors have failed on it within "+
		"`excludeOnFailure.timeout`.", 1)
	ExcludeTimeout = duration("excludeOnFailure.timeout", "1h", "How long executors and nodes stay excluded.")
)

// Exclusion of executors and nodes on which tasks fail, from running further tasks.
var (
	ExcludeTasks = boolean("excludeOnFailure.enabled", "false", "Whether executors and nodes on which tasks fail repeatedly get no further tasks. "+
		"Without it a failed task is only retried on another node, if there is one.")
	TaskAttemptsPerExecutor = number("excludeOnFailure.task.maxTaskAttemptsPerExecutor", "1", "A task is not retried on an executor on which it has failed "+
		"this often.", 1)
	TaskAttemptsPerNode = number("excludeOnFailure.task.maxTaskAttemptsPerNode", "2", "A task is not retried on a node on which it has failed "+
		"this often: less than `task.maxFailures`.", 1)
	JobFailedTasksPerExecutor = number("excludeOnFailure.stage.maxFailedTasksPerExecutor", "2", "A job stops using an executor on which this many of its "+
		"tasks have failed.", 1)
	JobFailedExecutorsPerNode = number("excludeOnFailure.stage.maxFailedExecutorsPerNode", "2", "A job stops using a node once it has stopped using this many "+
		"of the node's executors.", 1)
	ApplicationFailedTasksPerExecutor = number("excludeOnFailure.application.maxFailedTasksPerExecutor", "2", "All jobs stop using an executor on which this many "+
		"tasks, of jobs that succeeded, have failed within `excludeOnFailure.timeout`. A node is excluded with its executors, once "+
		"`excludeOnFailure.application.maxFailedExecutorsPerNode` of them are.", 1)
	KillExcludedExecutors = boolean("excludeOnFailure.killExcludedExecutors", "false", "Whether executors that are excluded for all jobs are killed, so that "+
		"others replace them.")
	UnschedulableTimeout = duration("scheduler.excludeOnFailure.unschedulableTaskSetTimeout", "120s", "A job fails if one of its tasks has been excluded from all "+
		"executors for this long.")
)

var _ = addRule(func(c *Config) error {
	if ExcludeTasks.In(c) && TaskAttemptsPerNode.In(c) >= TaskMaxFailures.In(c) {
		return fmt.Errorf("%s must be less than %s: one bad node could fail a job before it is excluded",
			describe(c, TaskAttemptsPerNode), describe(c, TaskMaxFailures))
	}
	return nil
})

// MaxExecutorFailures returns how many executors may fail before the application fails. It is
// executor.maxNumFailures or, if this is not set, twice the maximum number of executors, but at
// least 3.
func MaxExecutorFailures(c *Config) int {
	if most := maxExecutorFailures.In(c); most > 0 {
		return most
	}
	most := MaxExecutors(c)
	if most > math.MaxInt32/2 {
		return math.MaxInt32
	}
	return max(3, 2*most)
}

func parseHosts(s string) ([]string, error) {
	var hosts []string
	for host := range strings.SplitSeq(s, ",") {
		host = strings.TrimSpace(host)
		if strings.ContainsAny(host, "*:/ ") {
			return nil, fmt.Errorf("%q is no host name: want names without a port, separated by commas", host)
		}
		if host != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts, nil
}
