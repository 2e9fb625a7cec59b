package driver

import "time"

// alarm wakes the event loop at a time, by an empty event. Setting it again and
// again, as each turn does, costs next to nothing.
type alarm struct {
	timer *time.Timer
	due   time.Time // zero where it was never set
}

func newAlarm(inbox chan<- event) *alarm {
	timer := time.AfterFunc(0, func() {
		select {
		case inbox <- event{}:
		default: // the loop is awake in any case
		}
	})
	return &alarm{timer: timer}
}

// set has the loop wake at a time, or before: an alarm that comes too early is
// followed by a turn, which sets it anew. The zero time asks for nothing.
func (a *alarm) set(wake, now time.Time) {
	if wake.IsZero() || (a.due.After(now) && !wake.Before(a.due)) {
		return
	}
	a.due = wake
	a.timer.Reset(max(wake.Sub(now), time.Millisecond))
}

func (a *alarm) stop() { a.timer.Stop() }
