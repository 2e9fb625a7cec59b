package driver

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
)

var (
	// ErrCancelled is the error of a job that CancelJob or CancelGroup has cancelled.
	ErrCancelled = errors.New("was cancelled")

	// errAbandoned is the error of a task set whose caller ends the loop over Run early.
	errAbandoned = errors.New("the job's caller left it")
)

// Submission represents a submitted task set.
type Submission struct {
	driver *Driver
	set    *runningSet
}

// Submit submits a task set and passes its results to the listener. It fails if the set is
// invalid or too large to be sent. It fails with ErrStopped if the driver has stopped. If Submit
// fails, the listener is not called; all other errors are passed to Listener.Ended.
func (d *Driver) Submit(spec TaskSet, listener Listener) (*Submission, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	set := &runningSet{id: d.lastID.Add(1), spec: spec, listener: listener}
	if _, ok := ask(d, func(l *loop) struct{} { l.submit(set); return struct{}{} }); !ok {
		return nil, ErrStopped
	}
	return &Submission{driver: d, set: set}, nil
}

// ID returns the set's id, which Status contains and CancelJob accepts.
func (s *Submission) ID() uint64 { return s.set.id }

// Cancel ends the set with the error cause and kills its tasks. It does nothing if the set has
// ended.
func (s *Submission) Cancel(cause error) {
	s.driver.do(func(l *loop) {
		if !s.set.ended {
			l.endSet(s.set, cause)
		}
	})
}

// flowControl counts the bytes of results that the listener has not released. While the number
// exceeds a limit (see Submission.Release), the driver fetches no more results of the set.
type flowControl struct {
	unreleased   atomic.Int64 // bytes of results that the listener has received and not released
	fetchPending atomic.Bool  // set if stored results are to be fetched after the next Release
}

// Release reports that the listener does not use results of this total size in bytes any more.
// The driver fetches results that executors store only while the unreleased results of the set
// take at most 64 MiB, or driver.maxResultSize if that is less.
func (s *Submission) Release(bytes int) {
	set := s.set
	set.unreleased.Add(-int64(bytes))
	if set.fetchPending.Load() && set.fetchPending.CompareAndSwap(true, false) {
		s.driver.do(func(l *loop) { l.fetch(set) })
	}
}

// cancelWith cancels the set if ctx ends before stop is called. If ctx has ended, stop waits
// until Cancel has returned.
func (s *Submission) cancelWith(ctx context.Context) (stop func()) {
	cancelled := make(chan struct{})
	stopCancel := context.AfterFunc(ctx, func() {
		defer close(cancelled)
		s.Cancel(context.Cause(ctx))
	})
	return func() {
		if !stopCancel() {
			<-cancelled
		}
	}
}

// CancelJob kills the tasks of a job, and ends the job with ErrCancelled and the reason. It
// reports whether the job was running. It does not wait until the tasks have ended.
func (d *Driver) CancelJob(id uint64, reason string) bool {
	return d.cancel(reason, func(set *runningSet) bool { return set.id == id }) > 0
}

// CancelGroup cancels all jobs of a group as CancelJob does, and returns how many were running.
func (d *Driver) CancelGroup(group, reason string) int {
	return d.cancel(reason, func(set *runningSet) bool { return set.spec.Group == group })
}

func (d *Driver) cancel(reason string, selected func(*runningSet) bool) int {
	cancelled, _ := ask(d, func(l *loop) (count int) {
		for _, set := range l.sets {
			if selected(set) {
				l.endSet(set, fmt.Errorf("job %q %w: %s", set.spec.Name, ErrCancelled, reason))
				count++
			}
		}
		return count
	})
	return cancelled
}

// Run submits a task set when the loop over the returned sequence begins. The sequence yields
// each task's result when it arrives. If the set fails, the last element is an error:
// *TaskError, *ResultSizeError, ErrUnschedulable, ErrCancelled, ErrStopped or the cause of ctx's
// end. If the loop ends early, the remaining tasks are killed. A slow loop body delays only its
// own task set: the driver stores a limited amount of the set's results in memory (see
// Submission.Release), and executors store the other results.
func (d *Driver) Run(ctx context.Context, spec TaskSet) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		if ctx.Err() != nil {
			yield(Result{}, context.Cause(ctx))
			return
		}
		results := newResultQueue()
		submission, err := d.Submit(spec, results)
		if err != nil {
			yield(Result{}, err)
			return
		}
		defer submission.Cancel(errAbandoned) // does nothing if the set has ended
		defer submission.cancelWith(ctx)()
		for range results.ready {
			list, ended, err := results.take()
			for i := range list {
				result := list[i]
				list[i] = Result{} // frees the result, if the caller does not use it any more, before the loop ends
				if !yield(result, nil) {
					return
				}
				submission.Release(len(result.Value))
			}
			if ended {
				if err != nil {
					yield(Result{}, err)
				}
				return
			}
		}
	}
}

// resultQueue is the listener of Run. The event loop appends results without blocking.
type resultQueue struct {
	ready chan struct{} // has an element if results were added or the set has ended

	mu    sync.Mutex
	list  []Result
	ended bool
	err   error
}

func newResultQueue() *resultQueue { return &resultQueue{ready: make(chan struct{}, 1)} }

// TaskDone implements Listener.
func (r *resultQueue) TaskDone(result Result) {
	r.mu.Lock()
	r.list = append(r.list, result)
	first := len(r.list) == 1
	r.mu.Unlock()
	if first { // otherwise ready has an element, or the reader is about to call take
		r.signal()
	}
}

// TaskFailed implements Listener.
func (r *resultQueue) TaskFailed(TaskFailure) {}

// Ended implements Listener.
func (r *resultQueue) Ended(err error) {
	r.mu.Lock()
	r.ended, r.err = true, err
	r.mu.Unlock()
	r.signal()
}

func (r *resultQueue) signal() {
	select {
	case r.ready <- struct{}{}:
	default:
	}
}

// take returns the results that were added since the last call, and whether and how the set
// ended.
func (r *resultQueue) take() (list []Result, ended bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, r.list = r.list, nil
	return list, r.ended, r.err
}
