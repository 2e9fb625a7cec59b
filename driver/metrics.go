package driver

import "github.com/bobbin-yarn/bobbin/internal/wire"

// Metrics are sums over attempts: those whose results count, and of a job that
// runs those that run, as far as they have told at their executors' heartbeats.
type Metrics struct {
	QueueNanos  uint64 `json:"queueNanos"`  // between the launch's arrival at its executor and a free core there
	DecodeNanos uint64 `json:"decodeNanos"` // of inputs
	RunNanos    uint64 `json:"runNanos"`    // of the functions
	EncodeNanos uint64 `json:"encodeNanos"` // of results
	ResultBytes uint64 `json:"resultBytes"` // encoded
	// BytesRead and BytesWritten are of files that tasks opened and created with
	// their own context, as they are stored.
	BytesRead    uint64 `json:"bytesRead"`
	BytesWritten uint64 `json:"bytesWritten"`
	// PeakMemoryBytes is the largest heap that an executor had when it was looked
	// at, which is at heartbeats and at the end of attempts that took 10 ms or
	// more. Go cannot tell the tasks of an executor apart.
	PeakMemoryBytes uint64 `json:"peakMemoryBytes"`
}

func (m *Metrics) add(told *wire.Metrics) {
	m.QueueNanos += told.GetQueueNanos()
	m.DecodeNanos += told.GetDecodeNanos()
	m.RunNanos += told.GetRunNanos()
	m.EncodeNanos += told.GetEncodeNanos()
	m.ResultBytes += told.GetResultBytes()
	m.BytesRead += told.GetBytesRead()
	m.BytesWritten += told.GetBytesWritten()
	m.PeakMemoryBytes = max(m.PeakMemoryBytes, told.GetPeakMemoryBytes())
}

// runningMetrics are the metrics of each job that runs, its attempts that run
// included.
func (l *loop) runningMetrics() map[*runningSet]*Metrics {
	all := make(map[*runningSet]*Metrics, len(l.runs))
	for _, r := range l.runs {
		sum := r.metrics
		all[r] = &sum
		for _, a := range r.reporting {
			if metrics := a.progress.GetMetrics(); metrics != nil {
				sum.add(metrics)
			}
		}
	}
	return all
}
