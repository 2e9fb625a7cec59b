package executorbackend

import (
	"runtime/metrics"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// minMeasured is the shortest run after which the heap is read, which takes as
// long as some tasks.
const minMeasured = 10 * time.Millisecond

// measure sets the metrics of an attempt that ran for took.
func (t *task) measure(m *wire.Metrics, took time.Duration, resultBytes int) {
	decode, encode := t.usage.Decode, t.usage.Encode
	t.measureProgress(m, took-decode-encode)
	m.ResultBytes, m.DecodeNanos, m.EncodeNanos = uint64(resultBytes), uint64(decode), uint64(encode)
	if took >= minMeasured {
		t.raisePeak(heapBytes())
	}
	m.PeakMemoryBytes = t.peakMemory.Load()
}

// measureProgress sets the metrics that are known while an attempt runs.
func (t *task) measureProgress(m *wire.Metrics, ran time.Duration) {
	read, written := t.usage.Bytes()
	m.RunNanos, m.QueueNanos = uint64(max(ran, 0)), uint64(t.began.Sub(t.received))
	m.BytesRead, m.BytesWritten = uint64(read), uint64(written)
}

// raisePeak sets the attempt's peak memory to the maximum of it and bytes.
func (t *task) raisePeak(bytes uint64) {
	for {
		peak := t.peakMemory.Load()
		if bytes <= peak || t.peakMemory.CompareAndSwap(peak, bytes) {
			return
		}
	}
}

// currentValues returns the attempt's counters and gauges; nil if it has none.
func (t *task) currentValues() *wire.TaskValues {
	counters, gauges := t.values.Read()
	if counters == nil && gauges == nil {
		return nil
	}
	return &wire.TaskValues{Counters: counters, Gauges: gauges}
}

// heapBytes returns the size of this process's heap, uncollected garbage included.
// Go cannot attribute it to goroutines: concurrent tasks share the number.
func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
