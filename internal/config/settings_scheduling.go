package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// How jobs share the executors.
var (
	SchedulerMode = oneOf("scheduler.mode", "FIFO", "How jobs that run at the same time share the executors: `FIFO`, the earlier job takes what "+
		"it can use, or `FAIR`, by the pools that they are in.", "FIFO", "FAIR")
	AllocationFile = text("scheduler.allocation.file", "", "A file that describes pools, in the format of Spark's `fairscheduler.xml`; pools may "+
		"stand inside pools. It is read where the application is submitted, and only with `scheduler.mode=FAIR`. A job in a pool that no file describes is in one of weight 1.")
	BarrierPatience = duration("scheduler.barrier.patience", "30s", "How long other jobs may take the cores that a barrier job waits for, before cores "+
		"that become free are kept until all of its tasks can start.")
	BarrierTimeout = duration("scheduler.barrier.timeout", "10m", "How long a barrier job waits for executors that can run all of its tasks at once "+
		"before it fails.")
	taskResource = checkedPrefix("task.resource.", "How much of a resource of its executor each task takes: `task.resource.gpu.amount=1`, or a part of "+
		"one that several tasks use, `0.5`.", checkTaskAmount)
)

// Executors and nodes where tasks fail.
var (
	ExcludeTasks = boolean("excludeOnFailure.enabled", "false", "Whether executors and nodes on which tasks fail again and again get no more of them. "+
		"Without it a failed task goes to another node where there is one.")
	TaskAttemptsPerExecutor = number("excludeOnFailure.task.maxTaskAttemptsPerExecutor", "1", "How often one task may fail on an executor before it is "+
		"not tried there again.", 1)
	TaskAttemptsPerNode = number("excludeOnFailure.task.maxTaskAttemptsPerNode", "2", "How often one task may fail on a node before it is not tried "+
		"there again; less than `task.maxFailures`.", 1)
	JobFailedTasksPerExecutor = number("excludeOnFailure.stage.maxFailedTasksPerExecutor", "2", "How many tasks of a job may fail on an executor before "+
		"the job leaves it alone.", 1)
	JobFailedExecutorsPerNode = number("excludeOnFailure.stage.maxFailedExecutorsPerNode", "2", "How many executors of a node a job may have to leave "+
		"alone before it leaves the node alone.", 1)
	ApplicationFailedTasksPerExecutor = number("excludeOnFailure.application.maxFailedTasksPerExecutor", "2", "How many tasks of jobs that succeed may "+
		"fail on an executor within `excludeOnFailure.timeout` before no job uses it for that time. A node is left alone with the executors that "+
		"`excludeOnFailure.application.maxFailedExecutorsPerNode` says.", 1)
	KillExcludedExecutors = boolean("excludeOnFailure.killExcludedExecutors", "false", "Whether executors that no job uses are ended, so that "+
		"others come in their place.")
	UnschedulableTimeout = duration("scheduler.excludeOnFailure.unschedulableTaskSetTimeout", "120s", "How long a job whose task may run on none of "+
		"the executors that there are waits for another before it fails.")
)

// Tasks that take too long.
var (
	Speculation = boolean("speculation", "false", "Whether tasks that take much longer than others of their job are run once more on another executor; "+
		"the first that succeeds counts, and the other is killed.")
	SpeculationInterval   = interval("speculation.interval", "100ms", "Between two looks for such tasks.")
	SpeculationMultiplier = fraction("speculation.multiplier", "3", "How many times the median of the tasks' times a task may take.", 1, math.MaxInt32)
	SpeculationQuantile   = fraction("speculation.quantile", "0.9", "The part of a job's tasks that must be done before others are run once more.", 0, 1)
	SpeculationMinRuntime = duration("speculation.minTaskRuntime", "100ms", "How long any task may take.")
	// SpeculationThreshold is nil where it is not set.
	SpeculationThreshold = optionalDuration("speculation.task.duration.threshold", "How long a task may take in a job with no more tasks than one "+
		"executor runs at once, of which a median tells little. Where not set, such a job is looked at as others.")
)

var _ = rule(func(c *Config) error {
	if perNode, most := TaskAttemptsPerNode.In(c), TaskMaxFailures.In(c); ExcludeTasks.In(c) && perNode >= most {
		return fmt.Errorf("%s=%d (from %s) must be less than %s=%d (from %s): one bad node could fail a job before it is excluded",
			TaskAttemptsPerNode.Name(), perNode, c.Source(TaskAttemptsPerNode.Name()), TaskMaxFailures.Name(), most, c.Source(TaskMaxFailures.Name()))
	}
	return nil
})

// TaskResources is how much each task takes of the resources of its executor, by
// their names; nil for none.
func TaskResources(c *Config) map[string]float64 {
	var amounts map[string]float64
	for name, value := range taskResource.In(c) {
		amount, err := strconv.ParseFloat(value, 64)
		if err != nil || amount == 0 {
			continue // it has passed its check
		}
		if amounts == nil {
			amounts = map[string]float64{}
		}
		amounts[strings.TrimSuffix(name, amountSuffix)] = amount
	}
	return amounts
}

// checkTaskAmount checks a key below task.resource.
func checkTaskAmount(name, value string) error {
	resource, ok := strings.CutSuffix(name, amountSuffix)
	if !ok || resource == "" || strings.Contains(resource, ".") {
		return fmt.Errorf("want task.resource.NAME%s", amountSuffix)
	}
	amount, err := strconv.ParseFloat(value, 64)
	if err != nil || !(amount >= 0) || amount > math.MaxInt32 || amount > 1 && amount != math.Trunc(amount) {
		return fmt.Errorf("want a whole number, or a part of 1 such as 0.5")
	}
	return nil
}

// fraction defines a number that need not be whole.
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
