package master

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

const (
	inboxSize = 1024
	// maxBatch is the largest number of messages that are handled before Cluster.Schedule is
	// called.
	maxBatch = 1024
	// tickInterval is the interval at which timeouts are checked.
	tickInterval = 250 * time.Millisecond
	// If a tick is late by more than longPause, the process is considered to have been
	// suspended.
	longPause = 2 * time.Second
)

// term is the time during which this master leads. Only the event loop (run) accesses the
// term's state. Other goroutines send messages to the event loop.
type term struct {
	master  *Master
	lease   recovery.Term
	cluster *cluster.Cluster
	logger  *slog.Logger
	inbox   chan message
	journal *journal

	workers      streams[*protocol.WorkerOrder]
	applications streams[*protocol.ApplicationOrder]

	over chan struct{} // closed when the event loop has ended
}

// message is a function that the event loop calls.
type message struct {
	do func(now time.Time)
	// done is closed when the effects are stored and the orders queued; it may be nil.
	done chan struct{}
}

func (m *Master) newTerm(lease recovery.Term) *term {
	return &term{
		master:       m,
		lease:        lease,
		cluster:      cluster.New(m.clusterOptions()),
		logger:       m.logger.With("term", lease.Number()),
		inbox:        make(chan message, inboxSize),
		journal:      newJournal(lease, m.logger),
		workers:      streams[*protocol.WorkerOrder]{},
		applications: streams[*protocol.ApplicationOrder]{},
		over:         make(chan struct{}),
	}
}

// recover loads the state that an earlier master has stored. It logs records that cannot be
// decoded; they remain in the store.
func (t *term) recover(ctx context.Context) error {
	records, err := t.lease.Load(ctx)
	var damaged *recovery.DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return err
	}
	if err := errors.Join(err, t.cluster.Recover(time.Now(), records)); err != nil {
		t.logger.Error("part of the stored state cannot be read: the applications and drivers "+
			"of these records are unknown to this master", "error", err)
	}
	return nil
}

func (t *term) run(ctx context.Context) {
	var writing sync.WaitGroup
	writing.Go(t.journal.run)
	defer writing.Wait()
	defer t.journal.close()
	defer t.endStreams()
	defer close(t.over)
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	t.flush(nil)
	ticked := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.lease.Lost():
			return
		case <-t.journal.lost:
			return
		case <-ticker.C:
			// The time from the channel may be from before the process was suspended.
			now := time.Now()
			if pause := now.Sub(ticked) - tickInterval; pause > longPause {
				t.cluster.ExtendTimeouts(pause)
			}
			ticked = now
			t.cluster.Tick(now)
			t.flush(nil)
		case first := <-t.inbox:
			t.flush(t.handleBatch(first))
		}
	}
}

// handleBatch handles a message and the messages that are queued after it. It returns their
// done channels.
func (t *term) handleBatch(next message) (waiting []chan struct{}) {
	now := time.Now()
	for range maxBatch {
		next.do(now)
		if next.done != nil {
			waiting = append(waiting, next.done)
		}
		select {
		case next = <-t.inbox:
		default:
			return waiting
		}
	}
	// The batch is full, but the message that was received last is not handled yet.
	next.do(now)
	if next.done != nil {
		waiting = append(waiting, next.done)
	}
	return waiting
}

// flush calls Cluster.Schedule, which launches executors and drivers. It passes the effects of
// all handled messages to the journal, which closes the channels in waiting when the effects
// are stored.
func (t *term) flush(waiting []chan struct{}) {
	t.cluster.Schedule(time.Now())
	effects := t.cluster.Take()
	t.log(effects.Notes)
	e := entry{changes: effects.Changes, waiting: waiting}
	addOrders(&e, t.workers, effects.Workers, func(_ string, order *protocol.WorkerOrder) {
		order.Welcome = t.master.workerWelcome(t.lease.Number())
	})
	addOrders(&e, t.applications, effects.Applications, func(id string, order *protocol.ApplicationOrder) {
		order.Welcome = t.master.applicationWelcome(id, t.lease.Number())
	})
	addEnds(&e, t.workers, effects.LostWorkers, status.Error(codes.Aborted, "the master has taken the worker for dead"))
	addEnds(&e, t.applications, effects.EndedApplications, nil)
	if !e.empty() {
		t.journal.add(e)
	}
}

// addOrders adds the delivery of orders to an entry. For the first order of a stream it calls
// welcome, which adds the welcome (a reply to the peer's hello) to the order.
func addOrders[Order proto.Message](e *entry, attached streams[Order], orders map[string]Order, welcome func(id string, order Order)) {
	for id, order := range orders {
		if out := attached[id]; out != nil {
			if !out.welcomed {
				out.welcomed = true
				welcome(id, order)
			}
			e.deliver = append(e.deliver, func() { out.push(order) })
		}
	}
}

// addEnds makes an entry end the streams with the given ids after the entry's orders were
// delivered. err is the error with which the streams end.
func addEnds[Order proto.Message](e *entry, attached streams[Order], ids []string, err error) {
	for _, id := range ids {
		if out := attached[id]; out != nil {
			delete(attached, id)
			e.deliver = append(e.deliver, func() { out.end(err) })
		}
	}
}

func (t *term) log(notes []cluster.Note) {
	for _, note := range notes {
		level := slog.LevelInfo
		if note.Warning {
			level = slog.LevelWarn
		}
		t.logger.Log(context.Background(), level, note.Text, note.Fields...)
	}
}

// endStreams ends all streams with an error that names the leader, if it is known.
func (t *term) endStreams() {
	for _, out := range t.workers {
		out.end(t.master.notLeading())
	}
	for _, out := range t.applications {
		out.end(t.master.notLeading())
	}
}

// post makes the event loop call do, unless the loop has ended. It does not wait until do has
// returned.
func (t *term) post(do func(now time.Time)) {
	select {
	case t.inbox <- message{do: do}:
	case <-t.over:
	}
}

// commit makes the event loop call do, and waits until do's effects are stored. It fails with
// ctx's error or that of notLeading; in these cases do may have been called nevertheless.
func (t *term) commit(ctx context.Context, do func(now time.Time)) error {
	done := make(chan struct{})
	return t.await(ctx, message{do: do, done: done}, done)
}

// query makes the event loop call do, and waits until do has returned. do must not change the
// state.
func (t *term) query(ctx context.Context, do func(now time.Time)) error {
	done := make(chan struct{})
	return t.await(ctx, message{do: func(now time.Time) { do(now); close(done) }}, done)
}

func (t *term) await(ctx context.Context, m message, done <-chan struct{}) error {
	select {
	case t.inbox <- m:
	case <-t.over:
		return t.master.notLeading()
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	select {
	case <-done:
		return nil
	case <-t.journal.stopped:
		select {
		case <-done:
			return nil
		default:
			return t.master.notLeading()
		}
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}
