package executorbackend

import (
	"cmp"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// told are an attempt's counters and gauges as they stand; nil for none.
func (t *task) told() *wire.TaskValues {
	counters, gauges := t.values.Read()
	if counters == nil && gauges == nil {
		return nil
	}
	return &wire.TaskValues{Counters: counters, Gauges: gauges}
}

// progress is what attempts that run have to tell, for the heartbeat.
func (e *engine) progress() []*wire.TaskProgress {
	heap := heapBytes()
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []*wire.TaskProgress
	for attempt, t := range e.tasks {
		if t.started {
			t.peak.raise(heap)
			metrics := &wire.Metrics{PeakMemoryBytes: heap}
			t.measureProgress(metrics, time.Since(t.began))
			all = append(all, &wire.TaskProgress{Attempt: attempt, Values: t.told(), Metrics: metrics})
		}
	}
	slices.SortFunc(all, func(a, b *wire.TaskProgress) int { return cmp.Compare(a.GetAttempt(), b.GetAttempt()) })
	return all
}
