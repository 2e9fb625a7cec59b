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
func (d *Driver) Run(ctx context.Context, job TaskSet) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		if ctx.Err() != nil {
			yield(Result{}, context.Cause(ctx))
			return
		}
		results := newResults()
		submission, err := d.Submit(job, results)
		if err != nil {
			yield(Result{}, err)
			return
		}
		defer submission.Cancel(errAbandoned) // where the loop is left early
		defer submission.cancelWith(ctx)()
		for range results.ready {
			list, ended, err := results.take()
			for i := range list {
				result := list[i]
				list[i] = Result{} // whoever gets it may let go of it
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
