package config

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Resources that a task uses, and the maximum size of its result.
var (
	TaskCPUs      = number("task.cpus", "1", "Cores that a task uses of its executor.", 1)
	TaskMaxResult = size("task.maxResultSize", "512m", "The largest encoded result of one task. A task with a larger one fails.")

	TaskMaxDirectResult = size("task.maxDirectResultSize", "1m", "Encoded results of up to this size are sent with the report that the task has "+
		"finished. Larger ones stay at the executor, on its disk beyond an eighth of its memory, until the driver has room for them. "+
		"More than `1m` counts as `1m`.")
	DriverMaxResult = size("driver.maxResultSize", "1g", "The size of a job's encoded results that the driver may have to keep at once. A job with more "+
		"fails. For `Run`, which returns all results together, it limits their sum; for `Stream` a single result: results that "+
		"the program has not yet received stay at the executors beyond 64 MiB, so a stream may be much longer. 0 is no limit.")
	TaskKillTimeout = duration("task.reaper.killTimeout", "60s", "How long a killed task may take to return before its executor gives it up. "+
		"Go cannot stop a function from outside: it must watch its context. A task that does not return keeps its core, so its executor gets no further tasks, "+
		"finishes the others and is replaced; on a local master, whose executor is this process, the core stays lost. 0 waits for ever.")
)

// Where tasks run, and how jobs share the executors.
var (
	localityWait = duration("locality.wait", "3s", "How long a task waits for a free core close to its data before it accepts one "+
		"at the next level of locality: its process, its node, its rack, any.")
	localityWaitProcess = optionalDuration("locality.wait.process", "As `locality.wait`, for a core in the process with the data. If it is not set, `locality.wait`.")
	localityWaitNode    = optionalDuration("locality.wait.node", "As `locality.wait`, for a core on a node with the data. If it is not set, `locality.wait`.")
	localityWaitRack    = optionalDuration("locality.wait.rack", "As `locality.wait`, for a core in a rack with the data. If it is not set, `locality.wait`.")
	RegisteredWait      = duration("scheduler.maxRegisteredResourcesWaitingTime", "30s", "For this long after the first executor has registered, tasks that prefer a "+
		"host without an executor wait for the executors that are missing, each task for at most `locality.wait.node`.")

	SchedulerMode = oneOf("scheduler.mode", "FIFO", "How jobs that run at the same time share the executors. `FIFO`: the earlier job takes all "+
		"it can use. `FAIR`: by their pools.", "FIFO", "FAIR")
	AllocationFile = text("scheduler.allocation.file", "", "A file that describes pools, in the format of Spark's `fairscheduler.xml`. Pools may "+
		"contain pools. It is read when the application is submitted, and only with `scheduler.mode=FAIR`. A pool that no file describes has weight 1.")
	BarrierReserveDelay = duration("scheduler.barrier.patience", "30s", "How long other jobs may take cores that a barrier job waits for. After that, "+
		"cores that become free are reserved until all of its tasks can start.")
	BarrierTimeout = duration("scheduler.barrier.timeout", "10m", "How long a barrier job waits for executors that can run all of its tasks at once "+
		"before it fails.")
)

// Speculation: second attempts of tasks that take too long.
var (
	Speculation = boolean("speculation", "false", "Whether a second attempt is started, on another executor, of tasks that take much longer than others of their job. "+
		"The first attempt that succeeds counts, and the other is killed.")
	SpeculationInterval   = interval("speculation.interval", "100ms", "How often slow tasks are looked for.")
	SpeculationMultiplier = fraction("speculation.multiplier", "3", "A task is slow if it runs longer than this many times the median of its job's finished tasks.", 1, math.MaxInt32)
	SpeculationQuantile   = fraction("speculation.quantile", "0.9", "The part of a job's tasks that must have finished before slow tasks are looked for.", 0, 1)
	SpeculationMinRuntime = duration("speculation.minTaskRuntime", "100ms", "A task that has run for less than this is not slow.")
	// SpeculationThreshold has the value nil if it is not set.
	SpeculationThreshold = optionalDuration("speculation.task.duration.threshold", "In a job with no more tasks than one "+
		"executor runs at once, for which a median says little, a task is slow after this time. If it is not set, such a job is treated as any other.")
)

// LocalityWaits returns how long a task waits for a free core at each locality level: in the
// process, on the node and in the rack that has its data. For a level whose setting is not set,
// it returns locality.wait.
func LocalityWaits(c *Config) (process, node, rack time.Duration) {
	or := func(k Key[*time.Duration]) time.Duration {
		if own := k.In(c); own != nil {
			return *own
		}
		return localityWait.In(c)
	}
	return or(localityWaitProcess), or(localityWaitNode), or(localityWaitRack)
}

// fraction defines a setting whose value is a decimal number from least to most.
func fraction(key, def, meaning string, least, most float64) Key[float64] {
	return define(key, def, "number", meaning, func(s string) (float64, error) {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil || !(n >= least) || n > most {
			if most == math.MaxInt32 {
				return 0, fmt.Errorf("want a number of %v or more", least)
			}
			return 0, fmt.Errorf("want a number from %v to %v", least, most)
		}
		return n, nil
	})
}
