package master

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

const (
	inboxSize = 1024
	// burst is how many messages are taken in before anything is scheduled.
	burst = 1024
	// tickInterval is how late a timeout may be noticed.
	tickInterval = 250 * time.Millisecond
	// longPause is how late a tick is that tells of a pause of the whole process.
	longPause = 2 * time.Second
)

// term is the time during which this master leads. Its state belongs to the
// goroutine of run, which all others send messages to.
type term struct {
	master  *Master
	lease   recovery.Term
	cluster *cluster.Cluster
	logger  *slog.Logger
	inbox   chan message
	journal *journal

	// Of the attached streams, by id.
	workers      map[string]*outbox[*protocol.WorkerOrder]
	applications map[string]*outbox[*protocol.ApplicationOrder]
	// Streams whose next order is to have a welcome.
	newWorkers      map[string]bool
	newApplications map[string]bool

	over chan struct{} // closed once nothing is taken from the inbox any more
}

// message is something that happened, to be told to the cluster.
type message struct {
	do func(now time.Time)
	// done is closed once its consequences are in the store and on their way; nil
	// where nobody waits.
	done chan struct{}
}

func (m *Master) newTerm(lease recovery.Term) *term {
	return &term{
		master:          m,
		lease:           lease,
		cluster:         cluster.New(m.clusterOptions()),
		logger:          m.logger.With("term", lease.Number()),
		inbox:           make(chan message, inboxSize),
		journal:         newJournal(lease, m.logger),
		workers:         map[string]*outbox[*protocol.WorkerOrder]{},
		applications:    map[string]*outbox[*protocol.ApplicationOrder]{},
		newWorkers:      map[string]bool{},
		newApplications: map[string]bool{},
		over:            make(chan struct{}),
	}
}

// recover takes the state that the master before has left. What cannot be read
// stays in the store, and the rest is gone on with.
func (t *term) recover(ctx context.Context) error {
	records, err := t.lease.Load(ctx)
	var damaged *recovery.DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return err
	}
	if err := errors.Join(err, t.cluster.Recover(time.Now(), records)); err != nil {
		t.logger.Error("part of the state that the master before has left cannot be read: the applications and drivers "+
			"of these records are unknown to this one", "error", err)
	}
	return nil
}

// run leads until the context ends or the term does.
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
			// The time in the channel may be that before a pause.
			now := time.Now()
			if still := now.Sub(ticked) - tickInterval; still > longPause {
				t.cluster.Pause(still)
			}
			ticked = now
			t.cluster.Tick(now)
			t.flush(nil)
		case first := <-t.inbox:
			t.flush(t.takeIn(first))
		}
	}
}

// takeIn handles a message and those behind it, and returns who waits for them.
func (t *term) takeIn(next message) (waiting []chan struct{}) {
	now := time.Now()
	for range burst {
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
	// The one that was taken last is not handled yet.
	next.do(now)
	if next.done != nil {
		waiting = append(waiting, next.done)
	}
	return waiting
}

// flush schedules, and sends on what comes of all that happened.
func (t *term) flush(waiting []chan struct{}) {
	t.cluster.Schedule(time.Now())
	effects := t.cluster.Take()
	t.log(effects.Notes)
	e := entry{changes: effects.Changes, waiting: waiting}
	for id, order := range effects.Workers {
		if to := t.workers[id]; to != nil {
			if t.newWorkers[id] {
				delete(t.newWorkers, id)
				order.Welcome = t.master.workerWelcome(t.lease.Number())
			}
			e.deliver = append(e.deliver, func() { to.push(order) })
		}
	}
	for id, order := range effects.Applications {
		if to := t.applications[id]; to != nil {
			if t.newApplications[id] {
				delete(t.newApplications, id)
				order.Welcome = t.master.applicationWelcome(id, t.lease.Number())
			}
			e.deliver = append(e.deliver, func() { to.push(order) })
		}
	}
	for _, id := range effects.LostWorkers {
		if to := t.workers[id]; to != nil {
			delete(t.workers, id)
			e.deliver = append(e.deliver, func() { to.end(status.Error(codes.Aborted, "the master has taken the worker for dead")) })
		}
	}
	for _, id := range effects.EndedApplications {
		if to := t.applications[id]; to != nil {
			delete(t.applications, id)
			e.deliver = append(e.deliver, func() { to.end(nil) })
		}
	}
	if !e.empty() {
		t.journal.add(e)
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

// endStreams sends everyone to the next leader.
func (t *term) endStreams() {
	for _, to := range t.workers {
		to.end(t.master.notLeading())
	}
	for _, to := range t.applications {
		to.end(t.master.notLeading())
	}
}

// tell sends a message without waiting for its consequences.
func (t *term) tell(do func(now time.Time)) {
	select {
	case t.inbox <- message{do: do}:
	case <-t.over:
	}
}

// ask sends a message and waits until its consequences are durable. The error
// is the context's, or that this master leads no more; the message may then have
// been handled or not.
func (t *term) ask(ctx context.Context, do func(now time.Time)) error {
	done := make(chan struct{})
	return t.await(ctx, message{do: do, done: done}, done)
}

// look sends a message that changes nothing, and waits for it alone: the store
// may be away.
func (t *term) look(ctx context.Context, do func(now time.Time)) error {
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
