package driver

import (
	"maps"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// Values are counters and gauges at one moment, by name.
type Values struct {
	Counters map[string]int64
	Gauges   map[string]GaugeStatus
}

// Values reads the counters and gauges of all jobs: of tasks that are done, of
// ended jobs too, and of attempts that run as far as they have told. What an
// attempt counted that then did not succeed is not in it any more. A stopped
// driver has none.
func (d *Driver) Values() Values {
	answer := make(chan Values, 1)
	if !d.do(func(l *loop) {
		all := &values{}
		all.join(&l.values)
		for _, v := range l.runningValues() {
			all.join(v)
		}
		counters, gauges := all.status()
		answer <- Values{Counters: counters, Gauges: gauges}
	}) {
		return Values{}
	}
	select {
	case values := <-answer:
		return values
	case <-d.ended:
		return Values{}
	}
}

// values are sums of attempts' counters, and their gauges. The zero value has
// none.
type values struct {
	counters map[string]int64
	gauges   map[string]GaugeStatus
}

// add adds the counters of a task that is done. Its gauges have ended with it,
// but for their peaks.
func (v *values) add(told *wire.TaskValues) {
	if told == nil {
		return
	}
	v.count(told.GetCounters())
	for name, value := range told.GetGauges() {
		v.gauge(name, GaugeStatus{Peak: value})
	}
}

// addRunning adds what an attempt that runs has told.
func (v *values) addRunning(told *wire.TaskValues) {
	v.count(told.GetCounters())
	for name, value := range told.GetGauges() {
		v.gauge(name, GaugeStatus{Attempts: 1, Sum: value, Min: value, Max: value, Peak: value})
	}
}

func (v *values) count(counters map[string]int64) {
	if v.counters == nil && len(counters) > 0 {
		v.counters = map[string]int64{}
	}
	for name, n := range counters {
		v.counters[name] += n
	}
}

func (v *values) gauge(name string, other GaugeStatus) {
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

// join adds all of others.
func (v *values) join(other *values) {
	v.count(other.counters)
	for name, gauge := range other.gauges {
		v.gauge(name, gauge)
	}
}

// status is a copy; nil for none.
func (v *values) status() (counters map[string]int64, gauges map[string]GaugeStatus) {
	return maps.Clone(v.counters), maps.Clone(v.gauges)
}

// progressed takes what an attempt that runs has told.
func (l *loop) progressed(e *executor, progress *wire.TaskProgress) {
	a := l.attemptAt(e, progress.GetAttempt())
	if a == nil || a.away != nil {
		return // it has ended, and told more then
	}
	a.run.progressed(a, progress)
	for name, value := range progress.GetValues().GetGauges() {
		a.run.values.gauge(name, GaugeStatus{Peak: value})
	}
}

// runningValues are the values of each job that runs, its attempts that run
// included.
func (l *loop) runningValues() map[*runningSet]*values {
	all := make(map[*runningSet]*values, len(l.runs))
	for _, r := range l.runs {
		all[r] = &values{}
		all[r].join(&r.values)
		for _, a := range r.reporting {
			if values := a.progress.GetValues(); values != nil {
				all[r].addRunning(values)
			}
		}
	}
	return all
}

// progressed notes what an attempt that runs has reported.
func (r *runningSet) progressed(a *attempt, progress *wire.TaskProgress) {
	a.progress = progress
	r.reporting[a.id] = a
}
