package bobbin

import "github.com/bobbin-yarn/bobbin/internal/function"

// Counter is a sum to which tasks add, and which the driver can read while tasks run. Only one
// attempt of each task is counted. The driver subtracts an attempt's additions if the attempt
// fails, is killed or is lost, or if another attempt of the task succeeds first.
type Counter struct{ name string }

// NewCounter registers a counter. Its name must be unique among the counters and gauges of the
// program. Call NewCounter in a package variable's initializer, so that executors register the
// counter too. [Main] reports invalid names.
func NewCounter(name string) *Counter {
	function.RegisterValue("counter", name)
	return &Counter{name: name}
}

// Add adds n, which may be negative, to the counter. It is safe for concurrent use
// until the task's function returns.
func (c *Counter) Add(task *Task, n int64) { task.call.Values.Add(c.name, n) }

// AddToCounter adds n to the counter with this name, without a registration by [NewCounter]. Use
// AddToCounter for names that depend on the data. The name must be UTF-8 and should have at most
// 100 bytes. Create few such counters, because each heartbeat contains all of them. See
// [Counter.Add].
func (t *Task) AddToCounter(name string, n int64) { t.call.Values.Add(name, n) }

// Counters returns the sums of all counters over all jobs of the application, by name. See
// [Session.Counter].
func (s *Session) Counters() map[string]int64 { return s.app.Driver.Values().Counters }

// Counter returns the counter's sum over all jobs. The sum includes the additions of finished
// tasks, and those that running attempts had made at their executors' last heartbeats
// (executor.heartbeatInterval). If no job is running, the sum is exact.
func (s *Session) Counter(c *Counter) int64 { return s.app.Driver.Values().Counters[c.name] }

// Gauge is a number that each task attempt can set, such as the bytes it has
// buffered, and that the driver can read while the attempts run.
type Gauge struct{ name string }

// NewGauge registers a gauge. See [NewCounter] for the name and for where to call NewGauge.
func NewGauge(name string) *Gauge {
	function.RegisterValue("gauge", name)
	return &Gauge{name: name}
}

// Set sets the gauge's value for this attempt. It is safe for concurrent use until the
// task's function returns.
func (g *Gauge) Set(task *Task, value int64) { task.call.Values.Set(g.name, value) }

// GaugeValue combines the values of a gauge from all task attempts.
type GaugeValue struct {
	// Attempts is the number of running attempts that have set the gauge. Sum, Min and Max combine
	// the values in the last heartbeats of these attempts. If Attempts is 0, Sum, Min and Max are
	// 0.
	Attempts      int
	Sum, Min, Max int64
	// Peak is the largest value that any attempt, running or ended, has reported in a heartbeat or
	// with its successful result.
	Peak int64
}

// Gauge returns the values of the gauge, combined over the task attempts of all jobs.
func (s *Session) Gauge(g *Gauge) GaugeValue {
	return GaugeValue(s.app.Driver.Values().Gauges[g.name])
}
