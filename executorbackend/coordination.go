package executorbackend

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// A task talks to the driver through its engine: it asks whether it may commit
// its output, and meets the other tasks of its barrier set.

// coordination is what a task has asked of the driver. The engine's lock guards
// it.
type coordination struct {
	commits []chan bool // those who wait for replies, in the order in which they asked
	barrier chan string // who waits for the others of the set; nil where nobody does
	passed  uint32      // barriers
	broken  error       // why no barrier can be passed any more
	gang    []*wire.BarrierPeer
}

var (
	errNoBarrier   = errors.New("the task is not one of a barrier set: run its function with bobbin.Barrier()")
	errTwoBarriers = errors.New("a task waits at one barrier at a time, and another goroutine of it does already")
	errGone        = errors.New("the executor leaves")
)

// CanCommit asks the driver whether this attempt may commit its output.
func (t *task) CanCommit(ctx context.Context) (bool, error) {
	e := t.engine
	reply := make(chan bool, 1)
	e.mu.Lock()
	if e.tasks[t.attempt] != t {
		e.mu.Unlock()
		return false, t.over()
	}
	t.commits = append(t.commits, reply)
	e.mu.Unlock()
	e.out.askToCommit(t.attempt)
	select {
	case allowed := <-reply:
		return allowed, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-t.ctx.Done():
		return false, context.Cause(t.ctx)
	}
}

// over is why an attempt cannot ask for anything.
func (t *task) over() error {
	if err := context.Cause(t.ctx); err != nil {
		return err
	}
	return errGone
}

// Barrier waits until all tasks of the set have called it as often as this one.
func (t *task) Barrier(ctx context.Context) error {
	e := t.engine
	reply := make(chan string, 1)
	e.mu.Lock()
	var refused error
	switch {
	case t.gang == nil:
		refused = errNoBarrier
	case t.broken != nil:
		refused = t.broken
	case t.barrier != nil:
		refused = errTwoBarriers
	case e.tasks[t.attempt] != t:
		refused = t.over()
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
		// The others may have passed, or may yet: this one can't tell any more
		// where they are.
		t.broken = fmt.Errorf("the task's barrier was left before all had come: %w", err)
		return err
	}
	t.passed++
	return nil
}

// Peers are where the tasks of the barrier set run, in the order of their indexes;
// nil for others.
func (t *task) Peers() []function.Peer {
	if t.gang == nil {
		return nil
	}
	peers := make([]function.Peer, len(t.gang))
	for i, member := range t.gang {
		peers[i] = function.Peer{ExecutorID: member.GetExecutorId(), Host: member.GetHost()}
	}
	return peers
}

// answer hands the driver's replies to those who wait for them. It is called with
// the lock held.
func (e *engine) answer(message *wire.DriverMessage) {
	for _, reply := range message.GetCommitReplies() {
		if t := e.tasks[reply.GetAttempt()]; t != nil && len(t.commits) > 0 {
			t.commits[0] <- reply.GetAllowed()
			t.commits = slices.Delete(t.commits, 0, 1)
		}
	}
	for _, pass := range message.GetBarrierReleases() {
		if t := e.tasks[pass.GetAttempt()]; t != nil && t.barrier != nil {
			select {
			case t.barrier <- pass.GetError():
			default: // it has one
			}
		}
	}
}
