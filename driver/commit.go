package driver

import (
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// mayCommit answers an attempt that asks whether it may commit its output. One
// that has been told to end may not, and neither may one that is not known any
// more.
func (l *loop) mayCommit(e *executor, attempt uint64) {
	allowed := false
	if a := l.attemptAt(e, attempt); a != nil && !a.killed && !a.run.ended {
		a.asked = true
		allowed = l.commits.MayCommit(a.run.id, a.index, uint64(a.id))
		if !allowed {
			l.logger.Info("another attempt of the task commits its output", "job", a.run.id, "task", a.index, "try", a.try, "executor", e.id)
		}
	}
	l.outgoing(e).CommitReplies = append(l.outgoing(e).CommitReplies, &wire.CommitReply{Attempt: attempt, Allowed: allowed})
}

// settleCommit notes the end of an attempt that may have committed its output.
func (l *loop) settleCommit(a *attempt, succeeded bool) {
	if a.asked && !a.run.ended {
		l.commits.AttemptEnded(a.run.id, a.index, uint64(a.id), succeeded)
	}
}
