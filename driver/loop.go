package driver

import (
	"log/slog"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler"
	"github.com/bobbin-yarn/bobbin/scheduler/commit"
)

// loop is the driver's state. One goroutine, run, touches it: it takes
// everything that has reached the inbox, then offers what cores are free, then
// hands each executor all that is for it as one message.
type loop struct {
	d       *Driver
	logger  *slog.Logger
	started time.Time
	now     time.Time // of this turn

	scheduler  *scheduler.Scheduler
	executors  map[string]*executor   // registered, by id
	dirty      []*executor            // those with a message of this turn
	runs       map[uint64]*runningSet // not ended, by task set
	listeners  map[ExecutorListener]struct{}
	attempts   map[scheduler.AttemptID]*attempt // running, and those whose results barrier sets hold
	demand     demand
	kinds      []*kind // of executors, in the order of the ids of their profiles; the settings' first
	lastKind   int     // id
	vigil      vigil
	commits    *commit.Coordinator
	stragglers stragglers
	patience   patience
	arrival    arrival
	losses     map[string]*openLoss // of executors whose end nobody has explained yet
	departures departures
	exclusions map[place]ExclusionStatus // for all jobs
	history    history
	values     values          // of jobs that have ended
	emptied    []chan struct{} // closed when no executor is registered any more
	success    wire.TaskUpdate // that is looked at; one serves for all
	stopping   bool
	over       bool // this is the last turn
}

func newLoop(d *Driver) *loop {
	now := time.Now()
	return &loop{
		d:          d,
		logger:     d.options.Logger,
		started:    now,
		now:        now,
		scheduler:  scheduler.New(schedulerConfig(&d.options)),
		commits:    commit.NewCoordinator(),
		stragglers: newStragglers(d.options.Config),
		executors:  map[string]*executor{},
		runs:       map[uint64]*runningSet{},
		listeners:  map[ExecutorListener]struct{}{},
		attempts:   map[scheduler.AttemptID]*attempt{},
		demand:     demand{manager: d.options.Manager, changed: true},
		kinds:      []*kind{newKind(d.options.Config, profile.Default(d.options.Config))},
		vigil:      newVigil(d.options.Config, now),
		arrival:    newArrival(d.options.Config),
		losses:     map[string]*openLoss{},
		departures: newDepartures(),
		exclusions: map[place]ExclusionStatus{},
	}
}

// run turns until the driver stops.
func (l *loop) run() {
	defer l.end()
	alarm := newAlarm(l.d.inbox)
	defer alarm.stop()
	for !l.over {
		alarm.set(l.turn(), l.now)
		e := <-l.d.inbox
		l.now = time.Now()
		l.act(l.scheduler.Advance(l.now))
		l.handle(e)
		// What else is there is handled before anything is offered, so that
		// one round of offers serves many updates.
		for range min(len(l.d.inbox), turnEvents) {
			l.handle(<-l.d.inbox)
		}
	}
}

func (l *loop) handle(e event) {
	switch {
	case e.link == nil && e.call == nil: // the alarm, or nothing
	case e.call != nil:
		e.call(l)
	case e.message.GetRegister() != nil:
		l.register(e.link, e.message)
	case e.link.executor != nil:
		l.heard(e.link.executor, e.message)
	}
}

// turn does what follows from the events of this turn, and says when time
// alone will be a reason for the next one; the zero time where it will not.
func (l *loop) turn() time.Time {
	l.expireExecutors()
	l.expireLosses()
	l.expireDepartures()
	arrivalEnd := l.arrivalEnd()
	l.scheduler.ExpectExecutors(!arrivalEnd.IsZero())
	speculation := l.speculate()
	if !l.stopping {
		l.offer()
	}
	hindrance := l.warnOfHindrances()
	l.noteProgress()
	reallocation := l.reallocate()
	release := l.releaseKinds()
	wake := earliest(release, l.vigil.next, arrivalEnd, l.nextLoss(), l.departures.next, speculation, hindrance, reallocation, l.updateDemand())
	if deadline, ok := l.scheduler.NextDeadline(); ok && !l.stopping {
		wake = earliest(wake, deadline)
	}
	for _, e := range l.dirty {
		e.outgoing.Forget, e.forget, e.forgotten = e.forget, nil, 0
		e.link.out.put(e.outgoing)
		e.outgoing = nil
	}
	l.dirty = l.dirty[:0]
	return wake
}

// earliest of the times that are set.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// outgoing is this turn's message to an executor.
func (l *loop) outgoing(e *executor) *wire.DriverMessage {
	if e.outgoing == nil {
		e.outgoing = &wire.DriverMessage{}
		l.dirty = append(l.dirty, e)
	}
	return e.outgoing
}

// stopExecutors ends every run and tells every executor to leave; empty is
// closed when all have.
func (l *loop) stopExecutors(empty chan struct{}) {
	l.stopping = true
	for _, r := range l.runs {
		l.endRun(r, ErrStopped)
	}
	for _, e := range l.executors {
		l.outgoing(e).Stop = &wire.Stop{Reason: "the application ends"}
	}
	l.emptied = append(l.emptied, empty)
	l.noteEmpty()
}

func (l *loop) noteEmpty() {
	if len(l.executors) > 0 {
		return
	}
	for _, empty := range l.emptied {
		close(empty)
	}
	l.emptied = nil
}

// end leaves no run behind that waits for the loop. Streams see for themselves
// that it has ended.
func (l *loop) end() {
	for _, r := range l.runs {
		l.endRun(r, ErrStopped)
	}
	close(l.d.ended)
	l.d.closeStreams()
}
