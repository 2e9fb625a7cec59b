package executorbackend

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// driverRequests contains a task's pending requests to the driver: to commit its output, and to
// pass a barrier. The engine's lock guards it.
type driverRequests struct {
	commitReplies  []chan bool // channels that receive the replies to pending CanCommit calls, in order
	barrierReply   chan string // receives the reply to the pending Barrier call: "", or why it fails; nil if no call is pending
	barriersPassed uint32      // number of barriers that the task has passed
	barrierErr     error       // why no barrier can be passed any more; nil if barriers can be passed
	peers          []*wire.BarrierPeer
}

var (
	errNoBarrier   = errors.New("the task is not one of a barrier set: run its function with bobbin.Barrier()")
	errTwoBarriers = errors.New("a task waits at one barrier at a time, and another goroutine of it does already")
	errStopping    = errors.New("the executor is stopping")
)

// CanCommit requests the driver's permission for this attempt to commit its output. It waits for
// the reply, and fails if ctx or the attempt ends before the reply arrives.
func (t *task) CanCommit(ctx context.Context) (bool, error) {
	e := t.engine
	reply := make(chan bool, 1)
	e.mu.Lock()
	if e.tasks[t.attempt] != t {
		e.mu.Unlock()
		return false, t.endCause()
	}
	t.commitReplies = append(t.commitReplies, reply)
	e.mu.Unlock()
	e.out.requestCommit(t.attempt)
	select {
	case allowed := <-reply:
		return allowed, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-t.ctx.Done():
		return false, context.Cause(t.ctx)
	}
}

// endCause returns why the attempt has ended. The attempt must have been removed from
// engine.tasks.
func (t *task) endCause() error {
	if err := context.Cause(t.ctx); err != nil {
		return err
	}
	return errStopping
}

// Barrier waits until all tasks of the barrier set have called Barrier as often as this task. It
// fails if ctx or the attempt ends first, if another task ended without calling Barrier, or if
// the task belongs to no barrier set.
func (t *task) Barrier(ctx context.Context) error {
	e := t.engine
	reply := make(chan string, 1)
	e.mu.Lock()
	var refused error
	switch {
	case t.peers == nil:
		refused = errNoBarrier
	case t.barrierErr != nil:
		refused = t.barrierErr
	case t.barrierReply != nil:
		refused = errTwoBarriers
	case e.tasks[t.attempt] != t:
		refused = t.endCause()
	}
	if refused != nil {
		e.mu.Unlock()
		return refused
	}
	t.barrierReply = reply
	arrival := &wire.BarrierArrival{Attempt: t.attempt, Passed: t.barriersPassed}
	e.mu.Unlock()
	e.out.reportBarrierArrival(arrival)

	var err error
	select {
	case problem := <-reply:
		if problem != "" {
			err = errors.New(problem)
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-t.ctx.Done():
		err = context.Cause(t.ctx)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	t.barrierReply = nil
	if err != nil {
		// It is unknown whether the other tasks passed this barrier. So this task must pass no
		// later barrier.
		t.barrierErr = fmt.Errorf("the task's barrier was left before all had come: %w", err)
		return err
	}
	t.barriersPassed++
	return nil
}

// Peers returns the executor and host of each task of the barrier set, by task index; nil if the
// task belongs to no barrier set.
func (t *task) Peers() []function.Peer {
	if t.peers == nil {
		return nil
	}
	peers := make([]function.Peer, len(t.peers))
	for i, peer := range t.peers {
		peers[i] = function.Peer{ExecutorID: peer.GetExecutorId(), Host: peer.GetHost()}
	}
	return peers
}

// deliverReplies passes the driver's replies to the waiting tasks. The caller holds the engine's
// lock.
func (e *engine) deliverReplies(message *wire.DriverMessage) {
	for _, reply := range message.GetCommitReplies() {
		if t := e.tasks[reply.GetAttempt()]; t != nil && len(t.commitReplies) > 0 {
			t.commitReplies[0] <- reply.GetAllowed()
			t.commitReplies = slices.Delete(t.commitReplies, 0, 1)
		}
	}
	for _, release := range message.GetBarrierReleases() {
		if t := e.tasks[release.GetAttempt()]; t != nil && t.barrierReply != nil {
			select {
			case t.barrierReply <- release.GetError():
			default: // the channel already contains a reply
			}
		}
	}
}
