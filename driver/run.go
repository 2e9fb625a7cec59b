package driver

import (
	"context"
	"iter"
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
			for _, chunk := range ready {
				for i := range chunk {
					result := chunk[i]
					chunk[i] = Result{} // whoever gets it may let go of it
					if !yield(result, nil) {
						return
					}
					if size := len(result.Value); size > 0 && r.results.took(size) {
						d.do(func(l *loop) { l.fetch(r) })
					}
				}
				r.results.giveBack(chunk)
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
