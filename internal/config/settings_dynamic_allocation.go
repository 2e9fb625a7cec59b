package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Executors that come and go with the work.
var (
	DynamicAllocation = boolean("dynamicAllocation.enabled", "false", "Whether executors are asked for as tasks wait for them, and given "+
		"back when they have been idle. The bounds below hold for each resource profile.")
	MinExecutors     = number("dynamicAllocation.minExecutors", "0", "How many executors are kept at the least.", 0)
	maxExecutors     = number("dynamicAllocation.maxExecutors", "", "How many executors are asked for at the most; no bound where not set.", 1)
	initialExecutors = number("dynamicAllocation.initialExecutors", "", "How many executors to begin with, until the first job; "+
		"`dynamicAllocation.minExecutors` where not set, or `executor.instances` where that is set and larger.", 0)
	IdleTimeout       = duration("dynamicAllocation.executorIdleTimeout", "60s", "How long an executor is idle before it is removed.")
	CachedIdleTimeout = optionalDuration("dynamicAllocation.cachedExecutorIdleTimeout", "How long an executor is idle before it is removed that "+
		"holds data which somebody may still fetch (`Task.Hold`); where not set, it stays until the data is released.")
	BacklogTimeout = duration("dynamicAllocation.schedulerBacklogTimeout", "1s", "How long tasks wait for cores before the first further "+
		"executor is asked for.")
	SustainedBacklogTimeout = optionalDuration("dynamicAllocation.sustainedSchedulerBacklogTimeout", "How long tasks go on waiting before 2, then 4, "+
		"8, … further executors are asked for; `dynamicAllocation.schedulerBacklogTimeout` where not set.")
	AllocationRatio = define("dynamicAllocation.executorAllocationRatio", "1.0", "number", "How many executors are asked for at the most, as a part of those "+
		"on which all tasks would run at once: less than 1 where tasks are so short that executors come too late for them.",
		func(s string) (float64, error) {
			ratio, err := strconv.ParseFloat(s, 64)
			if err != nil || !(ratio > 0 && ratio <= 1) {
				return 0, errors.New("want a number above 0 and at most 1")
			}
			return ratio, nil
		})
)

// MaxExecutors is how many executors of one resource profile there are at the
// most: executor.instances, or dynamicAllocation.maxExecutors with dynamic
// allocation, and then math.MaxInt32 where that is not set.
func MaxExecutors(c *Config) int {
	if !DynamicAllocation.In(c) {
		return ExecutorCount.In(c)
	}
	if most := maxExecutors.In(c); most > 0 {
		return most
	}
	return math.MaxInt32
}

// InitialExecutors is how many executors of one resource profile there are to
// be at first.
func InitialExecutors(c *Config) int {
	if !DynamicAllocation.In(c) {
		return ExecutorCount.In(c)
	}
	initial := MinExecutors.In(c)
	if c.IsSet(initialExecutors.Name()) {
		initial = initialExecutors.In(c)
	}
	if c.IsSet(ExecutorCount.Name()) {
		initial = max(initial, ExecutorCount.In(c))
	}
	return initial
}

var _ = rule(func(c *Config) error {
	if !DynamicAllocation.In(c) {
		if ExecutorCount.In(c) < 1 {
			return fmt.Errorf("%s: no task would ever run: want 1 or more, or %s=true", said(c, ExecutorCount), DynamicAllocation.Name())
		}
		return nil
	}
	least, most, initial := MinExecutors.In(c), MaxExecutors(c), InitialExecutors(c)
	switch {
	case least > most:
		return fmt.Errorf("%s is more than %s: lower one or raise the other", said(c, MinExecutors), said(c, maxExecutors))
	case c.IsSet(initialExecutors.Name()) && (initialExecutors.In(c) < least || initialExecutors.In(c) > most):
		return fmt.Errorf("%s is not between %s and %s", said(c, initialExecutors), said(c, MinExecutors), atMost(c))
	case initial > most:
		return fmt.Errorf("%s, with which dynamic allocation begins, is more than %s: lower one or raise the other",
			said(c, ExecutorCount), said(c, maxExecutors))
	}
	return nil
})

// atMost names the upper bound for an error.
func atMost(c *Config) string {
	if MaxExecutors(c) == math.MaxInt32 {
		return maxExecutors.Name() + " (no bound)"
	}
	return said(c, maxExecutors)
}

// said is a setting's value as an error names it, with its source.
func said[T any](c *Config, key Key[T]) string {
	return fmt.Sprintf("%s=%s (from %s)", key.Name(), c.value(key.setting), c.Source(key.Name()))
}
