package dataset

import (
	"context"
	"iter"
	"sync"

	"github.com/bobbin-yarn/bobbin/role"
)

// Stream yields the elements as tasks finish. The order of the partitions is undefined, but
// the elements of a partition are in order. If the caller's loop is slow, results remain at
// executors, so the elements together may be larger than the driver's memory. If the job
// fails, Stream yields the error and ends. If the caller leaves the loop early, the job is
// cancelled.
func (s *Of[T]) Stream(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		results := newResultQueue()
		j := &job{kind: collectElements, onResult: results.add}
		var failure error
		var running sync.WaitGroup
		running.Go(func() {
			_, failure = runJob(ctx, s, j)
			results.close()
		})
		defer running.Wait()
		defer cancel()
		for output := range results.all {
			role.FromContext(s.session.Context()).HideProgress()
			for element, err := range decodeElements[T](output.Elements) {
				if !yield(element, err) || err != nil {
					return
				}
			}
		}
		running.Wait()
		if failure != nil {
			var none T
			yield(none, failure)
		}
	}
}

// resultQueue passes results from the loop of an engine to one consumer. It is not bounded.
type resultQueue struct {
	mu     sync.Mutex
	list   []queuedResult
	closed bool
	ready  chan struct{} // has an element if a result was added or the queue was closed
}

type queuedResult struct {
	output  taskOutput
	release func()
}

func newResultQueue() *resultQueue { return &resultQueue{ready: make(chan struct{}, 1)} }

func (q *resultQueue) add(output taskOutput, release func()) {
	q.mu.Lock()
	q.list = append(q.list, queuedResult{output, release})
	q.mu.Unlock()
	q.signal()
}

func (q *resultQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
}

func (q *resultQueue) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// all yields the results until the queue is closed and empty. It releases each result after
// the consumer's loop body has returned.
func (q *resultQueue) all(yield func(taskOutput) bool) {
	for range q.ready {
		q.mu.Lock()
		list, closed := q.list, q.closed
		q.list = nil
		q.mu.Unlock()
		for i := range list {
			goOn := yield(list[i].output)
			list[i].output = taskOutput{}
			list[i].release()
			if !goOn {
				return
			}
		}
		if closed {
			return
		}
	}
}
