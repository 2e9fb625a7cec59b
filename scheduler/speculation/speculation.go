// Package speculation decides how long an attempt may run before a speculative copy of it is
// launched.
package speculation

import (
	"cmp"
	"container/heap"
	"math"
	"time"
)

// Rules determine when a speculative copy of a slow attempt is launched on another executor. The
// first of both attempts to succeed provides the task's result, and the other is killed.
type Rules struct {
	Enabled bool
	// Quantile is the fraction of a set's tasks that must be done before copies are
	// launched; 0 means 0.9.
	Quantile float64
	// Multiplier limits the run time of an attempt to this many times the median run time of the
	// set's successful attempts; 0 means 3.
	Multiplier float64
	// MinTaskRuntime is the lower bound of the limit that Multiplier determines; 0 means 100 ms.
	MinTaskRuntime time.Duration
	// DurationThreshold is the limit while fewer tasks are done than Quantile requires, if the
	// largest executor can run all tasks of the set at once. Such a small set may never have a
	// useful median. 0 means no limit.
	DurationThreshold time.Duration
}

// WithDefaults returns the rules with zero values replaced by their defaults.
func (r Rules) WithDefaults() Rules {
	r.Quantile = cmp.Or(r.Quantile, 0.9)
	r.Multiplier = cmp.Or(r.Multiplier, 3)
	r.MinTaskRuntime = cmp.Or(r.MinTaskRuntime, 100*time.Millisecond)
	return r
}

// Limit returns how long an attempt of a task set may run before a speculative copy is launched,
// or false if there is no limit yet. slots is how many tasks of the set the largest executor can
// run at once. durations contains the run times of the set's successful attempts.
func (r *Rules) Limit(tasks, done, slots int, durations *RunningMedian) (time.Duration, bool) {
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

// RunningMedian computes the median of the durations that are added to it.
type RunningMedian struct {
	// low is a heap of the negated values of the lower half of the durations; high is a heap of
	// the upper half. low has as many elements as high, or one more.
	low, high minHeap
}

func (m *RunningMedian) Add(d time.Duration) {
	if len(m.low) > 0 && d > -m.low[0] {
		heap.Push(&m.high, d)
	} else {
		heap.Push(&m.low, -d)
	}
	switch {
	case len(m.low) > len(m.high)+1:
		heap.Push(&m.high, -heap.Pop(&m.low).(time.Duration))
	case len(m.high) > len(m.low):
		heap.Push(&m.low, -heap.Pop(&m.high).(time.Duration))
	}
}

// Value returns the median; 0 if no duration was added. The median of an even number of
// durations is the mean of the middle two.
func (m *RunningMedian) Value() time.Duration {
	switch {
	case len(m.low) == 0:
		return 0
	case len(m.low) > len(m.high):
		return -m.low[0]
	default:
		return (m.high[0] - m.low[0]) / 2
	}
}

// minHeap implements heap.Interface, with the smallest element first.
type minHeap []time.Duration

func (h minHeap) Len() int           { return len(h) }
func (h minHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h minHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *minHeap) Push(d any)        { *h = append(*h, d.(time.Duration)) }
func (h *minHeap) Pop() any {
	last := len(*h) - 1
	d := (*h)[last]
	*h = (*h)[:last]
	return d
}
