// Package speculation decides how long an attempt may run before a copy of its
// task is launched.
package speculation

import (
	"cmp"
	"container/heap"
	"math"
	"time"
)

// Rules configure when a slow task is run a second time, on another executor. The
// first attempt to succeed provides the result; the other is killed.
type Rules struct {
	Enabled bool
	// Quantile is the part of a set's tasks that must be done first; 0.9 if it is 0.
	Quantile float64
	// Multiplier times the median duration of the successful attempts is how
	// long an attempt may run; 3 if it is 0.
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

// Median keeps the median of the durations that are added to it.
type Median struct {
	// low is a heap of the lower half, negated; high is a heap of the upper half. low
	// has as many values as high or one more.
	low, high minHeap
}

func (m *Median) Add(d time.Duration) {
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

// Value returns the median, halfway between two middle values; 0 if there are no
// values.
func (m *Median) Value() time.Duration {
	switch {
	case len(m.low) == 0:
		return 0
	case len(m.low) > len(m.high):
		return -m.low[0]
	default:
		return (m.high[0] - m.low[0]) / 2
	}
}

// minHeap implements heap.Interface, with the least duration first.
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
