package bobbin

import "github.com/bobbin-yarn/bobbin/internal/function"

// Counter is a sum to which task functions add, and which the driver reads while
// they run. What an attempt added counts once it succeeds, and once for each
// task: what was added by attempts that fail, are killed or lost, or were beaten
// by a copy, is taken back.
type Counter struct{ name string }

// NewCounter makes a counter with a name that no other counter or gauge has. It
// belongs in a package variable. What is wrong with it is told by [Main].
func NewCounter(name string) *Counter {
	function.RegisterValue("counter", name)
	return &Counter{name: name}
}

// Add adds to the counter; n may be negative. It may be called by several
// goroutines of the task, until the task's function returns.
func (c *Counter) Add(task *Task, n int64) { task.call.Values.Add(c.name, n) }

// Counter is the sum over all runs so far: of tasks that are done, and of
// attempts that run what they had added at the latest heartbeat of their
// executor (executor.heartbeatInterval). Once a run has ended it is exact.
func (s *Session) Counter(c *Counter) int64 { return s.app.Driver.Values().Counters[c.name] }

// Gauge is a number that each attempt of a task sets as it changes, such as how
// much it has buffered, and that the driver reads while the attempts run.
type Gauge struct{ name string }

// NewGauge makes a gauge, as [NewCounter] makes a counter.
func NewGauge(name string) *Gauge {
	function.RegisterValue("gauge", name)
	return &Gauge{name: name}
}

// Set sets the attempt's value, as [Counter.Add] adds.
func (g *Gauge) Set(task *Task, value int64) { task.call.Values.Set(g.name, value) }

// GaugeValue is a gauge over the attempts that run.
type GaugeValue struct {
	// Attempts is how many run and have set it; Sum, Min and Max are of their
	// values at the latest heartbeats, 0 where there are none.
	Attempts      int
	Sum, Min, Max int64
	// Peak is the largest value that was told by any attempt, at a heartbeat or
	// at the end of one that succeeded.
	Peak int64
}

// Gauge reads a gauge over all runs.
func (s *Session) Gauge(g *Gauge) GaugeValue { return GaugeValue(s.app.Driver.Values().Gauges[g.name]) }
