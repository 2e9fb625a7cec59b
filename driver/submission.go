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
	// ErrCancelled ends a job that was cancelled by its id or its group.
	ErrCancelled = errors.New("was cancelled")

	// errAbandoned cancels a task set whose loop over Run was left early.
	errAbandoned = errors.New("the job's caller left it")
)

// Submission is a task set that was submitted.
type Submission struct {
	driver *Driver
	set    *runningSet
}

// Submit submits a task set, whose listener is told its results. It fails with
// ErrStopped, or if the set cannot be sent to executors; then the listener is not
// called. All other errors end the set.
func (d *Driver) Submit(spec TaskSet, listener Listener) (*Submission, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	set := &runningSet{id: d.lastSet.Add(1), spec: spec, listener: listener}
	if _, ok := ask(d, func(l *loop) struct{} { l.submit(set); return struct{}{} }); !ok {
		return nil, ErrStopped
	}
	return &Submission{driver: d, set: set}, nil
}

// ID is the set's id for Status and CancelJob.
func (s *Submission) ID() uint64 { return s.set.id }

// Cancel ends the set with an error and kills its tasks. It does nothing if the
// set has ended.
func (s *Submission) Cancel(cause error) {
	s.driver.do(func(l *loop) {
		if !s.set.ended {
			l.endSet(s.set, cause)
		}
	})
}

// flow limits how many results a set's listener has.
type flow struct {
	unreleased   atomic.Int64 // bytes of results that the listener has not released
	fetchPending atomic.Bool  // the event loop waits until some are released
}

// Release says that the listener has dropped so many bytes of results. Those that
// it has not released limit what is fetched from executors: to some 64 MiB, or
// driver.maxResultSize if that is less. Further results stay at the executors.
func (s *Submission) Release(bytes int) {
	set := s.set
	set.unreleased.Add(-int64(bytes))
	if set.fetchPending.Load() && set.fetchPending.CompareAndSwap(true, false) {
		s.driver.do(func(l *loop) { l.fetch(set) })
	}
}

// cancelWith cancels the set when ctx ends. stop ends that, and waits for a call
// of Cancel in progress.
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

// CancelJob ends the job of an id with ErrCancelled and the reason, and kills its
// tasks. It reports whether such a job ran. The tasks may end a little later.
func (d *Driver) CancelJob(id uint64, reason string) bool {
	return d.cancel(reason, func(set *runningSet) bool { return set.id == id }) > 0
}

// CancelGroup cancels all jobs of a group as CancelJob does, and returns how many
// there were.
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

// Run submits a task set when the loop over it begins, and yields each task's
// result as it arrives. If the set fails, the last value is an error: *TaskError,
// *ResultSizeError, ErrUnschedulable, ErrCancelled, ErrStopped or the cause of
// ctx's end. Leaving the loop early kills the tasks that still run. A slow loop
// delays nothing but its own set: as many results as Submission.Release allows
// wait in memory, the others at their executors.
func (d *Driver) Run(ctx context.Context, spec TaskSet) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		if ctx.Err() != nil {
			yield(Result{}, context.Cause(ctx))
			return
		}
		results := newResults()
		submission, err := d.Submit(spec, results)
		if err != nil {
			yield(Result{}, err)
			return
		}
		defer submission.Cancel(errAbandoned) // nothing if the set has ended
		defer submission.cancelWith(ctx)()
		for range results.ready {
			list, ended, err := results.take()
			for i := range list {
				result := list[i]
				list[i] = Result{} // the caller may drop it before the loop is over
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

// results is the listener of Run: the event loop adds results without waiting.
type results struct {
	ready chan struct{} // holds a token if something was added

	mu    sync.Mutex
	list  []Result
	ended bool
	err   error
}

func newResults() *results { return &results{ready: make(chan struct{}, 1)} }

// TaskDone implements Listener.
func (r *results) TaskDone(result Result) {
	r.mu.Lock()
	r.list = append(r.list, result)
	first := len(r.list) == 1
	r.mu.Unlock()
	if first { // otherwise there is a token, or the reader is about to take the list
		r.signal()
	}
}

// TaskFailed implements Listener.
func (r *results) TaskFailed(TaskFailure) {}

// Ended implements Listener.
func (r *results) Ended(err error) {
	r.mu.Lock()
	r.ended, r.err = true, err
	r.mu.Unlock()
	r.signal()
}

func (r *results) signal() {
	select {
	case r.ready <- struct{}{}:
	default:
	}
}

// take returns what was added since the last call.
func (r *results) take() (list []Result, ended bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, r.list = r.list, nil
	return list, r.ended, r.err
}
