package bobbin

import "github.com/bobbin-yarn/bobbin/internal/function"

// Counter is a sum to which tasks add and which the driver reads while they run.
// The additions of an attempt count once it succeeds, and once for each task:
// those of attempts that fail, are killed or lost, or are overtaken by a
// speculative copy are taken back.
type Counter struct{ name string }

// NewCounter makes a counter with a name that no other counter or gauge has. Call
// it in a package variable's initializer; [Main] reports invalid names.
func NewCounter(name string) *Counter {
	function.RegisterValue("counter", name)
	return &Counter{name: name}
}

// Add adds n, which may be negative, to the counter. It is safe for concurrent use
// until the task's function returns.
func (c *Counter) Add(task *Task, n int64) { task.call.Values.Add(c.name, n) }

// Counter returns the sum over all jobs so far: of finished tasks, and of running
// attempts as of the last heartbeat of their executor (executor.heartbeatInterval).
// It is exact when no job runs.
func (s *Session) Counter(c *Counter) int64 { return s.app.Driver.Values().Counters[c.name] }

// Gauge is a number that each task attempt sets as it changes, such as the bytes it
// has buffered, and that the driver reads while the attempts run.
type Gauge struct{ name string }

// NewGauge makes a gauge, as [NewCounter] makes a counter.
func NewGauge(name string) *Gauge {
	function.RegisterValue("gauge", name)
	return &Gauge{name: name}
}

// Set sets the attempt's value. It is safe for concurrent use until the task's
// function returns.
func (g *Gauge) Set(task *Task, value int64) { task.call.Values.Set(g.name, value) }

// GaugeValue is a gauge over all running attempts.
type GaugeValue struct {
	// Attempts is how many running attempts have set the gauge. Sum, Min and Max are
	// over their values at their last heartbeats, 0 if there are none.
	Attempts      int
	Sum, Min, Max int64
	// Peak is the largest value that any attempt has reported so far, in a heartbeat
	// or when it succeeded.
	Peak int64
}

// Gauge returns a gauge's values over all jobs.
func (s *Session) Gauge(g *Gauge) GaugeValue {
	return GaugeValue(s.app.Driver.Values().Gauges[g.name])
}
