package executorbackend

import (
	"runtime/metrics"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// minMeasuredRunTime is the shortest run time of an attempt at whose end the heap is measured.
// The measurement takes as long as a short task, so it is skipped after shorter attempts.
const minMeasuredRunTime = 10 * time.Millisecond

// measure sets the metrics of an attempt that ended after the duration took.
func (t *task) measure(m *wire.Metrics, took time.Duration, resultBytes int) {
	decode, encode := t.usage.Decode, t.usage.Encode
	t.measureProgress(m, took-decode-encode)
	m.ResultBytes, m.DecodeNanos, m.EncodeNanos = uint64(resultBytes), uint64(decode), uint64(encode)
	if took >= minMeasuredRunTime {
		t.raisePeak(heapBytes())
	}
	m.PeakMemoryBytes = t.peakMemory.Load()
}

// measureProgress sets the metrics that are also reported while an attempt runs.
func (t *task) measureProgress(m *wire.Metrics, ran time.Duration) {
	read, written := t.usage.Bytes()
	m.RunNanos, m.QueueNanos = uint64(max(ran, 0)), uint64(t.startedAt.Sub(t.launchReceivedAt))
	m.BytesRead, m.BytesWritten = uint64(read), uint64(written)
}

// raisePeak sets the attempt's peak memory to bytes if the peak is lower.
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

// heapBytes returns the size of this process's heap in bytes, including garbage. Go does not
// measure the heap by goroutine, so attempts that run at the same time report the same number.
func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
