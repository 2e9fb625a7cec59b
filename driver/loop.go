package driver

import (
	"log/slog"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler"
	"github.com/bobbin-yarn/bobbin/scheduler/commit"
)

const (
	// inboxDepth is the number of events that can wait for the event loop before senders block.
	// It suffices for one event of each executor of a large application.
	inboxDepth = 16 << 10
	// maxTurnEvents is the largest number of waiting events that one turn (iteration) of the
	// event loop handles. Launches are sent at the end of a turn, so a larger number would delay
	// them. Four times as many events per turn are slower, because their data does not fit into
	// the processor's cache.
	maxTurnEvents = 1 << 8
)

// event is an item in the event loop's inbox: a message from an executor, or a function to call.
// The zero event only starts a turn.
type event struct {
	stream  *executorStream
	message *wire.ExecutorMessage
	call    func(*loop)
}

// loop is the driver's state. Only the goroutine of run uses it. Each iteration of run is called
// a turn: it handles the events that have arrived, does the work that is due, offers free cores,
// and sends each executor at most one message.
//
// The types of the fields from requester to values do not use loop. Their methods return what is
// due, and methods of loop act on it.
type loop struct {
	d       *Driver
	logger  *slog.Logger
	started time.Time
	now     time.Time // when this turn began

	scheduler *scheduler.Scheduler
	send      sender
	executors map[string]*executor // registered executors, by id
	sets      map[uint64]*runningSet
	attempts  map[scheduler.AttemptID]*attempt // attempts that have not ended, and attempts with awaitsBarrierSet
	listeners map[ExecutorListener]struct{}

	requester        executorRequester
	profiles         profiles
	registration     registrationWait
	liveness         liveness
	losses           unexplainedLosses
	decommissions    decommissions
	exclusions       exclusions
	commits          *commit.Coordinator
	speculation      speculationTimer
	blocked          blockedCheck
	history          history
	record           recorder
	values           values            // counters and gauges of ended task sets
	credentials      *wire.Credentials // the newest delegation tokens; nil if there are none
	pprofRequests    map[uint64]pprofRequest
	lastPprofRequest uint64 // key of the latest request in pprofRequests

	reusedSuccess      wire.TaskUpdate // the success that receive is handling; reused for the next success
	stopping           bool
	noExecutorsWaiters []chan struct{} // closed when no executor is registered any more
	isLastTurn         bool            // makes run return after the current turn
}

func newLoop(d *Driver) *loop {
	now, settings := time.Now(), d.options.Config
	return &loop{
		d:             d,
		logger:        d.options.Logger,
		started:       now,
		now:           now,
		scheduler:     scheduler.New(schedulerConfig(&d.options)),
		executors:     map[string]*executor{},
		sets:          map[uint64]*runningSet{},
		attempts:      map[scheduler.AttemptID]*attempt{},
		listeners:     map[ExecutorListener]struct{}{},
		requester:     executorRequester{manager: d.options.Manager, mayHaveChanged: true},
		profiles:      newProfiles(settings),
		registration:  newRegistrationWait(settings),
		liveness:      newLiveness(settings, now),
		losses:        unexplainedLosses{},
		decommissions: newDecommissions(),
		exclusions:    exclusions{},
		commits:       commit.NewCoordinator(),
		speculation:   newSpeculationTimer(settings),
		record:        newRecorder(d.options.Events),
		pprofRequests: map[uint64]pprofRequest{},
	}
}

// run handles events until the driver has stopped.
func (l *loop) run() {
	defer l.close()
	alarm := newAlarm(l.d.inbox)
	defer alarm.timer.Stop()
	for !l.isLastTurn {
		alarm.set(l.endTurn(), l.now)
		e := <-l.d.inbox
		l.now = time.Now()
		l.handleSchedulerEvents(l.scheduler.Advance(l.now))
		l.handle(e)
		// Handle the other waiting events before the offer, so that one offer serves many
		// updates.
		for range min(len(l.d.inbox), maxTurnEvents) {
			l.handle(<-l.d.inbox)
		}
	}
}

func (l *loop) handle(e event) {
	switch {
	case e.call != nil:
		e.call(l)
	case e.stream == nil: // the zero event, which the alarm has sent
	case e.message.GetRegister() != nil:
		l.register(e.stream, e.message)
	case e.stream.executor != nil:
		l.receive(e.stream.executor, e.message)
	}
}

// endTurn does the work that is due at the end of a turn. It returns the time at which the next
// turn is due even if no event arrives; the zero time means never.
func (l *loop) endTurn() time.Time {
	l.expireExecutors()
	l.expireLosses()
	l.expireDecommissions()
	registration := l.registrationDeadline()
	l.scheduler.ExpectExecutors(!registration.IsZero())
	speculation := l.speculate()
	if !l.stopping {
		l.offer()
	}
	blocked := l.checkBlocked()
	l.storeProgress()
	allocation := l.adaptAllocation()
	release := l.releaseProfiles()
	wake := earliest(release, l.liveness.nextCheck, registration, l.losses.next(), l.decommissions.nextDeadline, speculation, blocked, allocation, l.updateRequest())
	if deadline, ok := l.scheduler.NextDeadline(); ok && !l.stopping {
		wake = earliest(wake, deadline)
	}
	l.send.flush()
	return wake
}

// earliest returns the earliest nonzero time; the zero time if there is none.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// stop ends all task sets and stops all executors. When no executor is registered any more, the
// loop closes the channel "empty".
func (l *loop) stop(empty chan struct{}) {
	l.stopping = true
	for _, set := range l.sets {
		l.endSet(set, ErrStopped)
	}
	for _, e := range l.executors {
		l.send.stop(e, "the application ends")
	}
	l.noExecutorsWaiters = append(l.noExecutorsWaiters, empty)
	l.notifyNoExecutors()
}

func (l *loop) notifyNoExecutors() {
	if len(l.executors) > 0 {
		return
	}
	for _, empty := range l.noExecutorsWaiters {
		close(empty)
	}
	l.noExecutorsWaiters = nil
}

// close ends all task sets and the mailboxes of all streams.
func (l *loop) close() {
	for _, set := range l.sets {
		l.endSet(set, ErrStopped)
	}
	close(l.d.ended)
	l.d.closeStreams()
}

// alarm wakes the event loop at a set time by sending it an empty event.
type alarm struct {
	timer *time.Timer
	due   time.Time // the time for which the alarm was last set; the zero time if it was never set
}

func newAlarm(inbox chan<- event) *alarm {
	timer := time.AfterFunc(0, func() {
		select {
		case inbox <- event{}:
		default: // the inbox is full, so other events wake the loop
		}
	})
	return &alarm{timer: timer}
}

// set sets the alarm to the time wake, unless wake is the zero time. If the alarm is already set
// to an earlier time, set does not change it: the loop wakes at the earlier time, and calls set
// again at the end of that turn.
func (a *alarm) set(wake, now time.Time) {
	if wake.IsZero() || (a.due.After(now) && !wake.Before(a.due)) {
		return
	}
	a.due = wake
	a.timer.Reset(max(wake.Sub(now), time.Millisecond))
}
