package executorbackend

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// keep puts aside a result that is too large for its task's last update, which
// then only tells its size. It returns nil where there is none.
func (e *engine) keep(t *task, update *wire.TaskUpdate) *keptResult {
	most := e.maxDirect
	if t.launch.GetHoldResult() {
		most = 0
	}
	result := update.GetResult()
	if len(result) <= most || update.GetState() != wire.TaskState_TASK_STATE_FINISHED {
		return nil
	}
	update.State, update.HeldBytes, update.Result = wire.TaskState_TASK_STATE_HELD, uint64(len(result)), nil
	return e.results.keep(result)
}

// ran notes an attempt whose result is kept, and returns its update: HELD, or
// that it was killed in the meantime. It is called with the lock held.
func (e *engine) ran(t *task, result *keptResult, updates []*wire.TaskUpdate) []*wire.TaskUpdate {
	var killed *killedError
	switch {
	case t.givenUp || e.ended:
		result.drop()
	case errors.As(context.Cause(t.ctx), &killed):
		result.drop()
		return []*wire.TaskUpdate{killedUpdate(t.attempt, killed.reason)}
	default:
		e.kept[t.attempt] = result
	}
	return updates
}

// killRan drops the result of an attempt that ran, and returns the attempt's last
// update; nil where the driver has all of it, or got another last update. It is
// called with the lock held.
func (e *engine) killRan(kill *wire.KillTask) *wire.TaskUpdate {
	attempt := kill.GetAttempt()
	if result := e.kept[attempt]; result != nil {
		delete(e.kept, attempt)
		result.drop()
	} else if !e.out.giveUp(attempt) {
		return nil
	}
	return killedUpdate(attempt, kill.GetReason())
}

func killedUpdate(attempt uint64, reason string) *wire.TaskUpdate {
	return &wire.TaskUpdate{Attempt: attempt, State: wire.TaskState_TASK_STATE_KILLED, Failure: &wire.Failure{Message: reason}}
}

// fetch begins the transfer of results, and reports whether there are any. It is
// called with the lock held.
func (e *engine) fetch(attempts []uint64) bool {
	found := false
	for _, attempt := range attempts {
		if result := e.kept[attempt]; result != nil {
			delete(e.kept, attempt)
			e.out.transfer(&transfer{attempt: attempt, result: result})
			found = true
		}
	}
	return found
}

// transfer is a result on its way to the driver.
type transfer struct {
	attempt uint64
	result  *keptResult
	sent    int // bytes
}

// piece is a part of a result that is sent now.
type piece struct {
	*transfer // nil where there is none
	from, to  int
}

// nextPiece takes the next piece of the transfer whose turn it is.
func (o *outgoing) nextPiece() piece {
	if len(o.transfers) == 0 {
		return piece{}
	}
	t := o.transfers[0]
	next := piece{transfer: t, from: t.sent, to: min(t.sent+wire.MaxPart, t.result.size)}
	t.sent = next.to
	o.transfers = o.transfers[1:]
	if t.sent < t.result.size {
		o.transfers = append(o.transfers, t)
	}
	return next
}

// read makes the update that carries a piece. A result that cannot be read any
// more is computed again: the task is not to blame.
func (o *outgoing) read(p piece) *wire.TaskUpdate {
	content, err := p.result.read(p.from, p.to)
	if err != nil {
		o.giveUp(p.attempt)
		p.result.drop()
		return failed(p.attempt, &wire.Failure{Message: "the task's result is lost: " + err.Error(), Uncounted: true})
	}
	if p.to < p.result.size {
		return &wire.TaskUpdate{Attempt: p.attempt, State: wire.TaskState_TASK_STATE_PART, Result: content}
	}
	p.result.drop()
	return &wire.TaskUpdate{Attempt: p.attempt, State: wire.TaskState_TASK_STATE_FINISHED, Result: content}
}
