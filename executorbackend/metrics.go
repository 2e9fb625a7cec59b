package executorbackend

import (
	"runtime/metrics"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// measuredFrom is how long an attempt runs before its memory is worth a look,
// which costs as much as some tasks do.
const measuredFrom = 10 * time.Millisecond

// measure sets the metrics of an attempt that has run so long.
func (t *task) measure(m *wire.Metrics, took time.Duration, resultBytes int) {
	decode, encode := t.usage.Decode, t.usage.Encode
	t.measureProgress(m, took-decode-encode)
	m.ResultBytes, m.DecodeNanos, m.EncodeNanos = uint64(resultBytes), uint64(decode), uint64(encode)
	if took >= measuredFrom {
		t.peak.raise(heapBytes())
	}
	m.PeakMemoryBytes = t.peak.bytes.Load()
}

// measureProgress sets those that are known while an attempt runs.
func (t *task) measureProgress(m *wire.Metrics, ran time.Duration) {
	read, written := t.usage.Bytes()
	m.RunNanos, m.QueueNanos = uint64(max(ran, 0)), uint64(t.began.Sub(t.received))
	m.BytesRead, m.BytesWritten = uint64(read), uint64(written)
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
