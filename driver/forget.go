package driver

import "time"

// forgetWait is how long the word that a task set has ended waits for a message
// with which it may go: a message of its own to each executor would cost more than
// a short set's tasks do.
const forgetWait = 10 * time.Second

// largeCommon is how large the common part of a task set is, in bytes, that an
// executor is not to have any longer: the next set's may be as large.
const largeCommon = 256 << 10

// forget has an executor hear soon that no further launch will name the task set of
// a run.
func (l *loop) forget(e *executor, r *run) {
	e.forget = append(e.forget, r.id)
	switch {
	case len(r.job.Common) > largeCommon:
		l.outgoing(e)
	case l.forgetting.IsZero():
		l.forgetting = l.now.Add(forgetWait)
	}
}

// tellOfEnded has executors that nothing else was sent to hear of the task sets
// that ended, and says when it will be time for that; the zero time where there is
// nothing to tell.
func (l *loop) tellOfEnded() time.Time {
	if l.forgetting.IsZero() || l.now.Before(l.forgetting) {
		return l.forgetting
	}
	l.forgetting = time.Time{}
	for _, e := range l.executors {
		if len(e.forget) > 0 {
			l.outgoing(e)
		}
	}
	return l.forgetting
}
