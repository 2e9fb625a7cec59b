package driver

import (
	"maps"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// Values are the counters and gauges of tasks, by name, at one time.
type Values struct {
	Counters map[string]int64       `json:"counters,omitempty"`
	Gauges   map[string]GaugeStatus `json:"gauges,omitempty"`
}

// Values returns the counters and gauges of all jobs: of done tasks, and of running attempts as
// of their latest heartbeats. It excludes failed attempts. After the driver has stopped, it
// returns empty Values.
func (d *Driver) Values() Values {
	all, _ := ask(d, func(l *loop) Values {
		sum := &values{}
		sum.merge(&l.values)
		for _, set := range l.sets {
			running, _ := set.currentValues()
			sum.merge(running)
		}
		counters, gauges := sum.clone()
		return Values{Counters: counters, Gauges: gauges}
	})
	return all
}

// AddCounters adds the given values to the counters with these names. Tasks can add to the same
// counters.
func (d *Driver) AddCounters(counters map[string]int64) {
	d.do(func(l *loop) { l.values.addCounters(counters) })
}

// values are counters and gauges, summed up over attempts. The zero value is empty.
type values struct {
	counters map[string]int64
	gauges   map[string]GaugeStatus
}

// add adds the counters of a done task and the peaks of its gauges.
func (v *values) add(reported *wire.TaskValues) {
	if reported == nil {
		return
	}
	v.addCounters(reported.GetCounters())
	for name, value := range reported.GetGauges() {
		v.addGauge(name, GaugeStatus{Peak: value})
	}
}

// addRunning adds the counters and gauges that a running attempt has reported.
func (v *values) addRunning(reported *wire.TaskValues) {
	v.addCounters(reported.GetCounters())
	for name, value := range reported.GetGauges() {
		v.addGauge(name, GaugeStatus{Attempts: 1, Sum: value, Min: value, Max: value, Peak: value})
	}
}

func (v *values) addCounters(counters map[string]int64) {
	if v.counters == nil && len(counters) > 0 {
		v.counters = map[string]int64{}
	}
	for name, n := range counters {
		v.counters[name] += n
	}
}

func (v *values) addGauge(name string, other GaugeStatus) {
	if v.gauges == nil {
		v.gauges = map[string]GaugeStatus{}
	}
	own, known := v.gauges[name]
	if !known {
		v.gauges[name] = other
		return
	}
	switch {
	case other.Attempts == 0:
	case own.Attempts == 0:
		own.Min, own.Max = other.Min, other.Max
	default:
		own.Min, own.Max = min(own.Min, other.Min), max(own.Max, other.Max)
	}
	own.Attempts += other.Attempts
	own.Sum += other.Sum
	own.Peak = max(own.Peak, other.Peak)
	v.gauges[name] = own
}

// merge adds the counters and gauges in other to v.
func (v *values) merge(other *values) {
	v.addCounters(other.counters)
	for name, gauge := range other.gauges {
		v.addGauge(name, gauge)
	}
}

// clone returns copies of the counters and gauges; nil if there are none.
func (v *values) clone() (counters map[string]int64, gauges map[string]GaugeStatus) {
	return maps.Clone(v.counters), maps.Clone(v.gauges)
}

// peaks returns copies of the counters and of the gauges' peaks; nil if there are none.
func (v *values) peaks() (counters, gauges map[string]int64) {
	for name, gauge := range v.gauges {
		if gauges == nil {
			gauges = map[string]int64{}
		}
		gauges[name] = gauge.Peak
	}
	return maps.Clone(v.counters), gauges
}

// Metrics are sums over successful attempts. In the JobStatus of a running job, they also
// include running attempts, as of their latest heartbeats.
type Metrics struct {
	QueueNanos  uint64 `json:"queueNanos"`  // from the receipt of the launch by the executor until the attempt had its cores
	DecodeNanos uint64 `json:"decodeNanos"` // time to decode inputs
	RunNanos    uint64 `json:"runNanos"`    // time in the tasks' functions
	EncodeNanos uint64 `json:"encodeNanos"` // time to encode results
	ResultBytes uint64 `json:"resultBytes"` // size of encoded results
	// BytesRead and BytesWritten are the numbers of stored bytes (before decompression and after
	// compression) that tasks read from and wrote to files opened or created with the task's
	// context.
	BytesRead    uint64 `json:"bytesRead"`
	BytesWritten uint64 `json:"bytesWritten"`
	// PeakMemoryBytes is not a sum. It is the largest heap of an executor's process, measured at
	// heartbeats and at the end of attempts that took 10 ms or more. Go does not measure the
	// heap by goroutine, so it includes all tasks of the process.
	PeakMemoryBytes uint64 `json:"peakMemoryBytes"`
}

func (m *Metrics) add(reported *wire.Metrics) {
	m.QueueNanos += reported.GetQueueNanos()
	m.DecodeNanos += reported.GetDecodeNanos()
	m.RunNanos += reported.GetRunNanos()
	m.EncodeNanos += reported.GetEncodeNanos()
	m.ResultBytes += reported.GetResultBytes()
	m.BytesRead += reported.GetBytesRead()
	m.BytesWritten += reported.GetBytesWritten()
	m.PeakMemoryBytes = max(m.PeakMemoryBytes, reported.GetPeakMemoryBytes())
}

// merge adds the metrics of other task sets.
func (m *Metrics) merge(other *Metrics) {
	m.QueueNanos += other.QueueNanos
	m.DecodeNanos += other.DecodeNanos
	m.RunNanos += other.RunNanos
	m.EncodeNanos += other.EncodeNanos
	m.ResultBytes += other.ResultBytes
	m.BytesRead += other.BytesRead
	m.BytesWritten += other.BytesWritten
	m.PeakMemoryBytes = max(m.PeakMemoryBytes, other.PeakMemoryBytes)
}

// addProgress records an attempt's latest counters, gauges and metrics.
func (set *runningSet) addProgress(a *attempt, progress *wire.TaskProgress) {
	a.progress = progress
	set.attemptsWithProgress[a.id] = a
	for name, value := range progress.GetValues().GetGauges() {
		set.values.addGauge(name, GaugeStatus{Peak: value})
	}
}

// currentValues returns the values and metrics of a set's done tasks and running attempts.
func (set *runningSet) currentValues() (*values, Metrics) {
	all, metrics := &values{}, set.metrics
	all.merge(&set.values)
	for _, a := range set.attemptsWithProgress {
		if reported := a.progress.GetValues(); reported != nil {
			all.addRunning(reported)
		}
		if reported := a.progress.GetMetrics(); reported != nil {
			metrics.add(reported)
		}
	}
	return all, metrics
}
