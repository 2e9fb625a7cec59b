package driver

import (
	"context"
	"sync/atomic"
)

// Submission is a task set that was submitted.
type Submission struct {
	driver *Driver
	run    *runningSet
}

// Submit begins a task set and has its listener told what becomes of it. The
// error says what no executor could be sent, or is ErrStopped; the listener is
// not called then. All else that is wrong ends the set.
func (d *Driver) Submit(job TaskSet, listener Listener) (*Submission, error) {
	if err := job.check(); err != nil {
		return nil, err
	}
	r := &runningSet{id: d.lastRun.Add(1), job: job, listener: listener}
	begun := make(chan struct{})
	if !d.do(func(l *loop) { close(begun); l.submit(r) }) {
		return nil, ErrStopped
	}
	select {
	case <-begun:
	case <-d.ended:
		select {
		case <-begun:
		default:
			return nil, ErrStopped
		}
	}
	return &Submission{driver: d, run: r}, nil
}

// ID is the set's, as Status and CancelJob have it.
func (s *Submission) ID() uint64 { return s.run.id }

// Cancel ends the set with an error and kills its tasks. A set that has ended is
// left as it is.
func (s *Submission) Cancel(cause error) {
	s.driver.do(func(l *loop) {
		if !s.run.ended {
			l.endRun(s.run, cause)
		}
	})
}

// Release says that the listener needs so many bytes of results no more. Those
// that it has not released count against what is fetched from executors: some 64
// MiB, within driver.maxResultSize; what is beyond waits there.
func (s *Submission) Release(bytes int) {
	r := s.run
	r.unreleased.Add(-int64(bytes))
	if r.fetchWaits.Load() && r.fetchWaits.CompareAndSwap(true, false) {
		s.driver.do(func(l *loop) { l.fetch(r) })
	}
}

// delivery is what a set's listener has of its results.
type delivery struct {
	unreleased atomic.Int64 // bytes
	fetchWaits atomic.Bool  // the event loop waits for some to be released
}

// cancelWith cancels the set when ctx ends. The function that it returns ends
// that, and waits if it is on its way.
func (s *Submission) cancelWith(ctx context.Context) (stop func()) {
	cancelled := make(chan struct{})
	uncancel := context.AfterFunc(ctx, func() {
		defer close(cancelled)
		s.Cancel(context.Cause(ctx))
	})
	return func() {
		if !uncancel() {
			<-cancelled
		}
	}
}
