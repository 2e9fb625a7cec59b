// Package speculation decides how long an attempt may run before a copy of its
// task is launched.
package speculation

import (
	"cmp"
	"math"
	"time"
)

// Rules is when a slow task is run a second time, on another executor. The first
// attempt to succeed provides the result; the other is killed.
type Rules struct {
	Enabled bool
	// Quantile is the part of a set's tasks that must be done first; 0.9 if it is 0.
	Quantile float64
	// Multiplier is how many times the median duration of the successful attempts
	// an attempt may run; 3 if it is 0.
	Multiplier float64
	// MinTaskRuntime is how long any attempt may run; 100 ms if it is 0.
	MinTaskRuntime time.Duration
	// DurationThreshold is how long an attempt may run in a set that has no more
	// tasks than one executor runs at once, too few for a median. No limit if it is
	// 0.
	DurationThreshold time.Duration
}

// WithDefaults returns the rules with zero values replaced.
func (r Rules) WithDefaults() Rules {
	r.Quantile = cmp.Or(r.Quantile, 0.9)
	r.Multiplier = cmp.Or(r.Multiplier, 3)
	r.MinTaskRuntime = cmp.Or(r.MinTaskRuntime, 100*time.Millisecond)
	return r
}

// Limit returns how long an attempt of a task set may run, and false if there is
// no limit yet. slots is how many of its tasks the largest executor runs at once,
// durations how long its successful attempts ran.
func (r *Rules) Limit(tasks, done, slots int, durations *Median) (time.Duration, bool) {
	switch {
	case tasks > 1 && done >= max(int(math.Floor(r.Quantile*float64(tasks))), 1):
		limit := time.Duration(r.Multiplier * float64(durations.Value()))
		return max(limit, r.MinTaskRuntime), true
	case r.DurationThreshold > 0 && tasks <= slots:
		return r.DurationThreshold, true
	default:
		return 0, false
	}
}
