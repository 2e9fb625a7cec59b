package driver

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
)

// Run runs a job and yields each task's result as it finishes; it ends without
// an error when all have, and otherwise yields one error last: *TaskError,
// ErrStopped, or the cause of ctx's end. The job is submitted when the loop
// over Run begins; a loop that is left early kills what still runs. Runs may go
// on at the same time. A slow loop holds up nobody: results wait in memory as
// driver.maxResultSize allows, some 64 MiB at most, and else at their executors. A
// result that is larger than that setting is a *ResultSizeError.
func (d *Driver) Run(ctx context.Context, job Job) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		if err := job.check(); err != nil {
			yield(Result{}, err)
			return
		}
		if ctx.Err() != nil {
			yield(Result{}, context.Cause(ctx))
			return
		}
		r := &run{job: job, results: newResults()}
		if !d.do(func(l *loop) { l.submit(r) }) {
			yield(Result{}, ErrStopped)
			return
		}
		cancelled := make(chan struct{})
		uncancel := context.AfterFunc(ctx, func() {
			defer close(cancelled)
			cause := context.Cause(ctx)
			d.do(func(l *loop) { l.cancel(r, cause) })
		})
		over := false
		defer func() {
			if !uncancel() {
				<-cancelled
			}
			if !over {
				d.do(func(l *loop) { l.cancel(r, errAbandoned) })
			}
		}()
		for {
			ready, ended, err := r.results.take()
			for i := range ready {
				result := ready[i]
				ready[i].Value = nil // whoever gets it may let go of it
				if !yield(result, nil) {
					return
				}
				if size := len(result.Value); size > 0 && r.results.took(size) {
					d.do(func(l *loop) { l.fetch(r) })
				}
			}
			if ended {
				over = true
				if err != nil {
					yield(Result{}, err)
				}
				return
			}
			select {
			case <-r.results.ready:
			case <-d.ended:
				// The loop ended every run that it knew, with all its results.
				if r.results.isQuiet() {
					yield(Result{}, ErrStopped)
					return
				}
			}
		}
	}
}

// results are what a run has for its consumer. The event loop puts in without
// ever waiting.
type results struct {
	ready  chan struct{} // holds a token where something was put in
	bytes  atomic.Int64  // that were put in and not taken out, or are with the consumer
	wanted atomic.Bool   // the event loop waits for bytes to be less

	mu    sync.Mutex
	items []Result
	ended bool
	err   error
}

func newResults() *results { return &results{ready: make(chan struct{}, 1)} }

func (r *results) put(result Result) {
	if size := len(result.Value); size > 0 {
		r.bytes.Add(int64(size))
	}
	r.mu.Lock()
	r.items = append(r.items, result)
	r.mu.Unlock()
	r.signal()
}

// took notes that the consumer is done with so many bytes, and reports whether
// the event loop is to be told.
func (r *results) took(size int) bool {
	r.bytes.Add(-int64(size))
	return r.wanted.Load() && r.wanted.CompareAndSwap(true, false)
}

// end is the last that is put in.
func (r *results) end(err error) {
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

func (r *results) take() (items []Result, ended bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	items, r.items = r.items, nil
	return items, r.ended, r.err
}

// isQuiet reports whether there is nothing to take.
func (r *results) isQuiet() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.items) == 0 && !r.ended
}
