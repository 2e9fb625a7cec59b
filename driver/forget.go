package driver

// mostForgotten is how much of the common parts of task sets that have ended an
// executor may still have, in bytes: the next sets' may be as large.
const mostForgotten = 256 << 10

// forget has an executor hear that no further launch will name the task set of a run:
// with the next message that it gets for any reason, as one of its own would cost more
// than a short set's tasks do. Each set that it has came with a message; so it keeps no
// more than those that ended since its latest one.
func (l *loop) forget(e *executor, r *runningSet) {
	e.forget = append(e.forget, r.id)
	e.forgotten += len(r.job.Common)
	if r.job.Barrier || e.forgotten > mostForgotten {
		l.outgoing(e)
	}
}
