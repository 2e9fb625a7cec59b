package master

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

// writeTimeout is for one try of a write, and writeRetry between two.
const (
	writeTimeout = 30 * time.Second
	writeRetry   = time.Second
)

// entry is what came of some messages.
type entry struct {
	changes []recovery.Record
	// deliver is called, and waiting closed, once the changes are in the store.
	deliver []func()
	waiting []chan struct{}
}

func (e *entry) empty() bool { return len(e.changes)+len(e.deliver)+len(e.waiting) == 0 }

// journal writes changes to the store, and lets orders out once what they rest
// on is there, in their order. The loop never waits for a disk: all that comes
// while one write is under way goes into the next.
type journal struct {
	lease   recovery.Term
	logger  *slog.Logger
	ready   chan struct{}
	lost    chan struct{} // closed when a write told that this master leads no more
	stopped chan struct{} // closed when run has returned

	mu     sync.Mutex
	queue  []entry
	closed bool

	end context.CancelFunc // of writes
	ctx context.Context
}

func newJournal(lease recovery.Term, logger *slog.Logger) *journal {
	ctx, end := context.WithCancel(context.Background())
	return &journal{
		lease: lease, logger: logger, ready: make(chan struct{}, 1),
		lost: make(chan struct{}), stopped: make(chan struct{}), ctx: ctx, end: end,
	}
}

func (j *journal) add(e entry) {
	j.mu.Lock()
	j.queue = append(j.queue, e)
	j.mu.Unlock()
	j.wake()
}

func (j *journal) wake() {
	select {
	case j.ready <- struct{}{}:
	default:
	}
}

// close has run return. Nobody is told of what is not in the store by then: it is
// the next leader's to decide.
func (j *journal) close() {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.end()
	j.wake()
}

func (j *journal) take() (entries []entry, closed bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	entries, j.queue = j.queue, nil
	return entries, j.closed
}

func (j *journal) run() {
	defer close(j.stopped)
	for range j.ready {
		entries, closed := j.take()
		if closed {
			return
		}
		var changes []recovery.Record
		for _, e := range entries {
			changes = append(changes, e.changes...)
		}
		if len(changes) > 0 && !j.write(changes) {
			return
		}
		for _, e := range entries {
			for _, deliver := range e.deliver {
				deliver()
			}
			for _, waiting := range e.waiting {
				close(waiting)
			}
		}
	}
}

// write tries until the changes are in the store, and reports whether they are:
// they are not where this master leads no more.
func (j *journal) write(changes []recovery.Record) bool {
	for {
		ctx, cancel := context.WithTimeout(j.ctx, writeTimeout)
		err := j.lease.Write(ctx, changes...)
		cancel()
		switch {
		case err == nil:
			return true
		case errors.Is(err, recovery.ErrLost), errors.Is(err, recovery.ErrClosed), j.ctx.Err() != nil:
			close(j.lost)
			return false
		}
		j.logger.Error("cannot write the master's state; nothing is launched until it can be", "error", err, "records", len(changes))
		select {
		case <-j.ctx.Done():
		case <-time.After(writeRetry):
		}
	}
}
