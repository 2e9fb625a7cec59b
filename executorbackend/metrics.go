package executorbackend

import (
	"runtime/metrics"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// measuredFrom is how long an attempt runs before its memory is worth a look,
// which costs as much as some tasks do.
const measuredFrom = 10 * time.Millisecond

// metrics are those of an attempt that has run so long.
func (t *task) metrics(took time.Duration, resultBytes int) *wire.Metrics {
	decode, encode := t.usage.Decode, t.usage.Encode
	m := t.progressMetrics(took - decode - encode)
	m.ResultBytes, m.DecodeNanos, m.EncodeNanos = uint64(resultBytes), uint64(decode), uint64(encode)
	if took >= measuredFrom {
		t.peak.raise(heapBytes())
	}
	m.PeakMemoryBytes = t.peak.bytes.Load()
	return m
}

// progressMetrics are those that are known while an attempt runs.
func (t *task) progressMetrics(ran time.Duration) *wire.Metrics {
	read, written := t.usage.Bytes()
	return &wire.Metrics{
		RunNanos: uint64(max(ran, 0)), QueueNanos: uint64(t.began.Sub(t.received)), BytesRead: uint64(read), BytesWritten: uint64(written),
	}
}

// heapBytes is what this process's heap holds now, garbage included that was not
// collected yet. Go cannot tell which goroutine took it: tasks that run at the
// same time share the figure.
func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
