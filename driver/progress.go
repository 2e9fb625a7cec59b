package driver

import "math"

// Progress is how much of the work that is known is done, 0 to 1, as of the
// event loop's latest turn. It costs next to nothing.
func (d *Driver) Progress() float32 { return math.Float32frombits(d.progress.Load()) }

func (l *loop) noteProgress() {
	demand := l.scheduler.Demand()
	totals := Totals{Done: l.history.totals.Done, Running: demand.RunningTasks, Waiting: demand.WaitingTasks}
	l.d.progress.Store(math.Float32bits(totals.Progress()))
}
