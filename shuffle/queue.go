package shuffle

import (
	"context"
	"sync"
)

// queue has the blocks that were received and not yet consumed. Their number is not
// limited: the bytes in flight are.
type queue struct {
	changed chan struct{} // has an element if blocks were added or the queue was closed

	mu      sync.Mutex
	waiting []fetched
	closed  bool
}

func newQueue() *queue { return &queue{changed: make(chan struct{}, 1)} }

// push adds a block.
func (q *queue) push(got fetched) {
	q.mu.Lock()
	q.waiting = append(q.waiting, got)
	q.mu.Unlock()
	q.wake()
}

// close ends the queue after the blocks that it has.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake()
}

func (q *queue) wake() {
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// take removes and returns all blocks of the queue. It waits until there are some. It
// returns none if the queue is closed and empty, or ctx ends. It is for one goroutine.
// The caller passes what it got last, which take uses again.
func (q *queue) take(ctx context.Context, last []fetched) []fetched {
	clear(last)
	for {
		q.mu.Lock()
		taken, closed := q.waiting, q.closed
		if len(taken) > 0 {
			q.waiting = last[:0]
		}
		q.mu.Unlock()
		if len(taken) > 0 || closed {
			return taken
		}
		select {
		case <-q.changed:
		case <-ctx.Done():
			return nil
		}
	}
}
