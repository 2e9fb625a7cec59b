package executorbackend

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// coordination has a task's open requests to the driver: to commit its output, and to
// pass a barrier. The engine's lock guards it.
type coordination struct {
	commits []chan bool // receive the replies to pending CanCommit calls, in order
	barrier chan string // receives the reply to the pending Barrier call, "" or an error; nil if there is none
	passed  uint32      // number of barriers that the task has passed
	broken  error       // why no barrier can be passed any more, or nil
	peers   []*wire.BarrierPeer
}

var (
	errNoBarrier   = errors.New("the task is not one of a barrier set: run its function with bobbin.Barrier()")
	errTwoBarriers = errors.New("a task waits at one barrier at a time, and another goroutine of it does already")
	errStopping    = errors.New("the executor is stopping")
)

// CanCommit asks the driver whether this attempt may commit its output, and waits
// for the reply. It fails if ctx or the attempt ends first.
func (t *task) CanCommit(ctx context.Context) (bool, error) {
	e := t.engine
	reply := make(chan bool, 1)
	e.mu.Lock()
	if e.tasks[t.attempt] != t {
		e.mu.Unlock()
		return false, t.endCause()
	}
	t.commits = append(t.commits, reply)
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

// endCause returns why an attempt that the engine has removed ended.
func (t *task) endCause() error {
	if err := context.Cause(t.ctx); err != nil {
		return err
	}
	return errStopping
}

// Barrier waits until all tasks of the barrier set have called it as often as this
// task has. It fails if ctx or the attempt ends first, if another task ended
// without calling it, or if the task belongs to no barrier set.
func (t *task) Barrier(ctx context.Context) error {
	e := t.engine
	reply := make(chan string, 1)
	e.mu.Lock()
	var refused error
	switch {
	case t.peers == nil:
		refused = errNoBarrier
	case t.broken != nil:
		refused = t.broken
	case t.barrier != nil:
		refused = errTwoBarriers
	case e.tasks[t.attempt] != t:
		refused = t.endCause()
	}
	if refused != nil {
		e.mu.Unlock()
		return refused
	}
	t.barrier = reply
	arrival := &wire.BarrierArrival{Attempt: t.attempt, Passed: t.passed}
	e.mu.Unlock()
	e.out.arrive(arrival)

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
	t.barrier = nil
	if err != nil {
		// It is not known whether the other tasks have passed the barrier.
		t.broken = fmt.Errorf("the task's barrier was left before all had come: %w", err)
		return err
	}
	t.passed++
	return nil
}

// Peers returns where each task of the barrier set runs, by index; nil without a set.
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

// deliverReplies passes the driver's replies to waiting tasks. The caller holds the lock.
func (e *engine) deliverReplies(message *wire.DriverMessage) {
	for _, reply := range message.GetCommitReplies() {
		if t := e.tasks[reply.GetAttempt()]; t != nil && len(t.commits) > 0 {
			t.commits[0] <- reply.GetAllowed()
			t.commits = slices.Delete(t.commits, 0, 1)
		}
	}
	for _, release := range message.GetBarrierReleases() {
		if t := e.tasks[release.GetAttempt()]; t != nil && t.barrier != nil {
			select {
			case t.barrier <- release.GetError():
			default: // a reply is there already
			}
		}
	}
}
