package master

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

// A failed write is retried after writeRetry. Each attempt takes at most writeTimeout.
const (
	writeTimeout = 30 * time.Second
	writeRetry   = time.Second
)

// entry has the changes that a batch of messages to the event loop has caused, and the actions
// to perform when the changes are stored.
type entry struct {
	changes []recovery.Record
	// After the changes are stored, the functions in deliver are called, and the channels in
	// waiting are closed.
	deliver []func()
	waiting []chan struct{}
}

func (e *entry) empty() bool { return len(e.changes)+len(e.deliver)+len(e.waiting) == 0 }

// journal writes changes to the store, and then delivers the orders that depend on the
// changes. Entries are processed in order. The event loop only adds entries, and never waits
// for the store. Entries that are added during a write are combined in the next write.
type journal struct {
	lease   recovery.Term
	logger  *slog.Logger
	ready   chan struct{}
	lost    chan struct{} // closed if a write failed because this master no longer leads
	stopped chan struct{} // closed when run has returned

	mu     sync.Mutex
	queue  []entry
	closed bool

	end context.CancelFunc // cancels ctx, the context of all writes
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

// close makes run return. Entries that are not stored yet are dropped: the calls that wait for
// them fail, and the next leader repeats the decisions.
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

// write writes changes to the store, and retries until they are stored. It returns false if
// this master no longer leads.
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
