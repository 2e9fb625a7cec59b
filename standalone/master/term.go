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
	// maxBatch bounds the messages handled before Cluster.Schedule is called.
	maxBatch = 1024
	// tickInterval bounds how late a timeout may be detected.
	tickInterval = 250 * time.Millisecond
	// If a tick is late by more than longPause, the process is taken to have been suspended.
	longPause = 2 * time.Second
)

// term is the time during which this master leads. Its state belongs to the event
// loop in run, to which other goroutines send messages.
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

// recover loads an earlier master's state. It logs unreadable records, which stay in the store.
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
			// The channel's time may be from before the process was suspended.
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

// handleBatch handles a message and those queued behind it, and returns their done channels.
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
	// The last message that was received is not handled yet.
	next.do(now)
	if next.done != nil {
		waiting = append(waiting, next.done)
	}
	return waiting
}

// flush launches executors and drivers (Cluster.Schedule), and passes the effects of
// all handled messages to the journal, which closes waiting once they are stored.
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

// addOrders adds orders to an entry. A stream's first order gets a welcome.
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

// addEnds makes an entry end the streams of ids with err, after it has delivered their
// orders.
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

// endStreams ends all streams with an error that names the known leader.
func (t *term) endStreams() {
	for _, out := range t.workers {
		out.end(t.master.notLeading())
	}
	for _, out := range t.applications {
		out.end(t.master.notLeading())
	}
}

// post makes the event loop call do, unless the loop has ended. It does not wait.
func (t *term) post(do func(now time.Time)) {
	select {
	case t.inbox <- message{do: do}:
	case <-t.over:
	}
}

// commit makes the event loop call do, and waits until the effects are stored. It
// fails with ctx's error or notLeading; even then do may have been called.
func (t *term) commit(ctx context.Context, do func(now time.Time)) error {
	done := make(chan struct{})
	return t.await(ctx, message{do: do, done: done}, done)
}

// query waits for the event loop to call do, which must not change anything.
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
