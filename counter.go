package bobbin

import "github.com/bobbin-yarn/bobbin/internal/function"

// Counter is a sum that tasks add to, and that the driver can read while they run.
// Each task counts once: an attempt's additions are subtracted again if the attempt
// fails, is killed or lost, or if another attempt of the task succeeds first.
type Counter struct{ name string }

// NewCounter registers a counter. Its name must be unique among the counters and
// gauges of the program. Call NewCounter in a package variable's initializer;
// [Main] reports invalid names.
func NewCounter(name string) *Counter {
	function.RegisterValue("counter", name)
	return &Counter{name: name}
}

// Add adds n, which may be negative, to the counter. It is safe for concurrent use
// until the task's function returns.
func (c *Counter) Add(task *Task, n int64) { task.call.Values.Add(c.name, n) }

// AddToCounter adds n to a counter that need not be registered. It is for names that are not
// known in advance, because they come from the data. The name should have at most 100 bytes,
// and must be UTF-8. There should be few of these counters, because each heartbeat sends all
// of them. See [Counter.Add].
func (t *Task) AddToCounter(name string, n int64) { t.call.Values.Add(name, n) }

// Counters returns the sums of all counters over all jobs, by name; see
// [Session.Counter].
func (s *Session) Counters() map[string]int64 { return s.app.Driver.Values().Counters }

// Counter returns the counter's sum over all jobs: the additions of finished
// tasks, and those of running attempts up to the last heartbeat of their
// executors (executor.heartbeatInterval). So the sum is exact when no job runs.
func (s *Session) Counter(c *Counter) int64 { return s.app.Driver.Values().Counters[c.name] }

// Gauge is a number that each task attempt can set, such as the bytes it has
// buffered, and that the driver can read while the attempts run.
type Gauge struct{ name string }

// NewGauge registers a gauge by the same rules as [NewCounter].
func NewGauge(name string) *Gauge {
	function.RegisterValue("gauge", name)
	return &Gauge{name: name}
}

// Set sets the gauge's value for this attempt. It is safe for concurrent use until the
// task's function returns.
func (g *Gauge) Set(task *Task, value int64) { task.call.Values.Set(g.name, value) }

// GaugeValue is a gauge over all running attempts.
type GaugeValue struct {
	// Attempts is the number of running attempts that have set the gauge. Sum, Min
	// and Max are computed from the values in these attempts' last heartbeats. If
	// there are no such attempts, all four are 0.
	Attempts      int
	Sum, Min, Max int64
	// Peak is the largest value that any attempt, running or ended, has reported
	// in a heartbeat or when it succeeded.
	Peak int64
}

// Gauge returns the gauge's value over all jobs.
func (s *Session) Gauge(g *Gauge) GaugeValue {
	return GaugeValue(s.app.Driver.Values().Gauges[g.name])
}
