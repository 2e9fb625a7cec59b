package config

import (
	"fmt"
	"strings"
)

// Number and size of the executors.
var (
	ExecutorInstances = number("executor.instances", "2", "How many executors to ask for, for each resource profile in use. With "+
		"`dynamicAllocation.enabled` it is, if set, the least number to begin with.", 0)
	ExecutorCores  = number("executor.cores", "1", "Virtual cores of an executor: how many tasks of one CPU it runs at once.", 1)
	ExecutorMemory = size("executor.memory", "1g", "Memory of an executor. Go's memory limit (GOMEMLIMIT) is nine "+
		"tenths of it. A Go process has no heap apart from its other memory, so this is all of it.")
	ExecutorOverhead = overhead("executor", ExecutorMemory, "Memory that an executor's container gets on top of `executor.memory`, for what "+
		"runs beside the Go program: child processes, files on `tmpfs`, C libraries. If it is not set, `executor.memory` times "+
		"`executor.memoryOverheadFactor`.")
	ExecutorEnv = checkedPrefix("executorEnv.", "An environment variable of the executors: `executorEnv.TZ=UTC`. The node replaces "+
		"`{{NAME}}` by its own variable of that name, `<LOG_DIR>` by the container's log directory and `<CPS>` by `:`. All else "+
		"arrives as written. GOMAXPROCS and GOMEMLIMIT follow from the container's size unless they are set here.", checkVariable)
)

// Where executors run, and addresses at which the driver and other executors reach them.
var (
	ExecutorLabel = text("yarn.executor.nodeLabelExpression", "", "The node label expression of the executors: they run only on nodes with that "+
		"label. If it is not set, the queue's own.")
	// ExecutorExecutionType is either ExecutionGuaranteed or ExecutionOpportunistic.
	ExecutorExecutionType = oneOf("yarn.executor.executionType", ExecutionGuaranteed, "The execution type of the executors' containers: "+
		"`guaranteed`, on resources reserved for them, or `opportunistic`: a node may queue them, and stops them first if other containers "+
		"need the resources (the cluster needs `yarn.resourcemanager.opportunistic-container-allocation.enabled`).",
		ExecutionGuaranteed, ExecutionOpportunistic)
	LaunchTimeout = duration("yarn.executor.launchTimeout", "5m", "How long an executor whose container is running may take to register with the driver, "+
		"including the localization of its files. A slower one is replaced and counts as failed. 0 is no limit; opportunistic executors have none, "+
		"as their node may queue them.")
	ExecutorHeartbeat = interval("executor.heartbeatInterval", "10s", "The time between two heartbeats of an executor to the driver.")
	NetworkTimeout    = interval("network.timeout", "120s", "An executor that sends the driver nothing for this long is lost. "+
		"Fetching data from another executor or from a NodeManager's shuffle service fails if nothing arrives for this long. "+
		"At least twice `executor.heartbeatInterval`, better several times that.")
	HandoverTimeout = interval("executor.handoverTimeout", "10m", "How long other executors may take to take over what a decommissioned executor stores for data sets. "+
		"What they do not have by then is computed again when it is needed. The deadline of a node that goes or of a preemption may be earlier.")
	BlockManagerPort = number("blockManager.port", "0", "The port on which an executor, and the driver for broadcast values, serves blocks to the application's other processes. 0 takes a "+
		"free one. If the port is in use, for example by another executor on the machine, the next ports are tried (`port.maxRetries`).", 0)
	PortMaxRetries = number("port.maxRetries", "16", "How many ports after `blockManager.port` are tried before the executor fails.", 0)
)

// Execution types of containers in YARN.
const (
	ExecutionGuaranteed    = "guaranteed"
	ExecutionOpportunistic = "opportunistic"
)

// The heartbeat interval must be at most half of the timeout, so that one late heartbeat causes
// no timeout. Spark requires only that it is less than the timeout
// (SparkConf.validateSettings).
var _ = addRule(func(c *Config) error {
	if ExecutorHeartbeat.In(c) > NetworkTimeout.In(c)/2 {
		return fmt.Errorf("%s must be at most half of %s: the driver would give up executors between two of their heartbeats",
			describe(c, ExecutorHeartbeat), describe(c, NetworkTimeout))
	}
	return nil
})

// Overhead is the pair of settings for a container's memory outside of its Go program:
// memoryOverhead and memoryOverheadFactor.
type Overhead struct {
	amount Key[*Size]
	factor Key[float64]
	memory Key[Size]
}

// overhead defines the settings memoryOverhead and memoryOverheadFactor of a process, such as
// "executor".
func overhead(of string, memory Key[Size], meaning string) Overhead {
	return Overhead{
		amount: optionalSize(of+".memoryOverhead", meaning),
		factor: factor(of+".memoryOverheadFactor", "0", "The part of `"+of+".memory` that is added to it if `"+of+".memoryOverhead` is not set. "+
			"It is 0 because `"+of+".memory` is all that a Go program uses: there is no memory outside of a heap, as in a JVM. "+
			"There is no minimum either."),
		memory: memory,
	}
}

// Name returns the key of memoryOverhead, such as "executor.memoryOverhead".
func (o Overhead) Name() string { return o.amount.Name() }

// In returns the overhead for the amount of memory that is set in c.
func (o Overhead) In(c *Config) Size { return o.Of(c, o.memory.In(c)) }

// Of returns the overhead for an amount of memory: memoryOverhead if it is set, otherwise
// memory times memoryOverheadFactor.
func (o Overhead) Of(c *Config, memory Size) Size {
	if amount := o.amount.In(c); amount != nil {
		return *amount
	}
	const most = 1 << 50 // more than any node has, and small enough not to overflow
	return Size(min(float64(memory)*o.factor.In(c), most))
}

// checkVariable checks the name of a container's environment variable. It must be a valid name
// in a shell, because NodeManagers write it unquoted into the container's launch script, and must
// not begin with LaunchPrefix.
func checkVariable(name, _ string) error {
	if !isVariable(name) {
		return fmt.Errorf("%q is no name of an environment variable: want letters, digits and _, a digit not first", name)
	}
	if strings.HasPrefix(name, LaunchPrefix) {
		return fmt.Errorf("names that begin with %s are bobbin's own", LaunchPrefix)
	}
	return nil
}

// isVariable reports whether name is a valid name of a shell variable.
func isVariable(name string) bool {
	for i, b := range []byte(name) {
		letter := b == '_' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
		if !letter && (i == 0 || b < '0' || b > '9') {
			return false
		}
	}
	return name != ""
}
