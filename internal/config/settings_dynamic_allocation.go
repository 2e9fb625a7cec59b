package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Dynamic allocation: the number of executors follows the number of tasks.
var (
	DynamicAllocation = boolean("dynamicAllocation.enabled", "false", "Whether executors are asked for while tasks are pending, and "+
		"removed when they are idle. The limits below hold for each resource profile.")
	MinExecutors     = number("dynamicAllocation.minExecutors", "0", "The least number of executors to keep.", 0)
	maxExecutors     = number("dynamicAllocation.maxExecutors", "", "The largest number of executors to ask for. No limit if it is not set.", 1)
	initialExecutors = number("dynamicAllocation.initialExecutors", "", "How many executors to begin with, until the first job. If it is not set, "+
		"`dynamicAllocation.minExecutors`, or `executor.instances` if that is set and larger.", 0)
	IdleTimeout       = duration("dynamicAllocation.executorIdleTimeout", "60s", "How long an executor is idle before it is removed.")
	CachedIdleTimeout = optionalDuration("dynamicAllocation.cachedExecutorIdleTimeout", "How long an executor that holds data for later tasks (`Task.Hold`) is "+
		"idle before it is removed. If it is not set, it stays until the data is released.")
	BacklogTimeout = duration("dynamicAllocation.schedulerBacklogTimeout", "1s", "How long tasks are pending before the first additional "+
		"executor is asked for.")
	SustainedBacklogTimeout = optionalDuration("dynamicAllocation.sustainedSchedulerBacklogTimeout", "How long tasks stay pending before 2, then 4, "+
		"8, … additional executors are asked for. If it is not set, `dynamicAllocation.schedulerBacklogTimeout`.")
	AllocationRatio = define("dynamicAllocation.executorAllocationRatio", "1.0", "number", "The largest number of executors to ask for, as a part of the number "+
		"on which all tasks would run at once. Less than 1 avoids executors that arrive when short tasks have finished.",
		func(s string) (float64, error) {
			ratio, err := strconv.ParseFloat(s, 64)
			if err != nil || !(ratio > 0 && ratio <= 1) {
				return 0, errors.New("want a number above 0 and at most 1")
			}
			return ratio, nil
		})
)

// MaxExecutors returns the maximum number of executors of one resource profile. With dynamic
// allocation, it is the setting "dynamicAllocation.maxExecutors", or math.MaxInt32 if this is
// not set. Otherwise it is the setting "executor.instances".
func MaxExecutors(c *Config) int {
	if !DynamicAllocation.In(c) {
		return ExecutorInstances.In(c)
	}
	if most := maxExecutors.In(c); most > 0 {
		return most
	}
	return math.MaxInt32
}

// InitialExecutors returns the number of executors of a profile that are requested at the
// start.
func InitialExecutors(c *Config) int {
	if !DynamicAllocation.In(c) {
		return ExecutorInstances.In(c)
	}
	initial := MinExecutors.In(c)
	if c.IsSet(initialExecutors.Name()) {
		initial = initialExecutors.In(c)
	}
	if c.IsSet(ExecutorInstances.Name()) {
		initial = max(initial, ExecutorInstances.In(c))
	}
	return initial
}

var _ = addRule(func(c *Config) error {
	if !DynamicAllocation.In(c) {
		if ExecutorInstances.In(c) < 1 {
			return fmt.Errorf("%s: no task would ever run: want 1 or more, or %s=true", describe(c, ExecutorInstances), DynamicAllocation.Name())
		}
		return nil
	}
	least, most, initial := MinExecutors.In(c), MaxExecutors(c), InitialExecutors(c)
	switch {
	case least > most:
		return fmt.Errorf("%s is more than %s: lower one or raise the other", describe(c, MinExecutors), describe(c, maxExecutors))
	case c.IsSet(initialExecutors.Name()) && (initialExecutors.In(c) < least || initialExecutors.In(c) > most):
		return fmt.Errorf("%s is not between %s and %s", describe(c, initialExecutors), describe(c, MinExecutors), atMost(c))
	case initial > most:
		return fmt.Errorf("%s, with which dynamic allocation begins, is more than %s: lower one or raise the other",
			describe(c, ExecutorInstances), describe(c, maxExecutors))
	}
	return nil
})

// atMost describes the maximum number of executors, for error messages.
func atMost(c *Config) string {
	if MaxExecutors(c) == math.MaxInt32 {
		return maxExecutors.Name() + " (no bound)"
	}
	return describe(c, maxExecutors)
}
