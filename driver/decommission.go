package driver

import (
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// leaveWait is how long an executor that was told to stop, with nothing to do
// any more, has to leave before the cluster manager is asked to end it.
const leaveWait = 10 * time.Second

// Decommission is said by the cluster manager when executors will be taken
// away. They get no new tasks, finish those that they run and are then told to
// stop. What still runs there at the notice's deadline is given up: it runs
// again elsewhere, and KillExecutors is asked for their ends. Their losses never
// count as failures of the tasks. An executor that has not registered yet is
// told so as soon as it has. Of two notices, the one with the earlier deadline
// holds.
func (d *Driver) Decommission(ids []string, notice Notice) {
	ids = slices.Clone(ids)
	d.do(func(l *loop) { l.decommission(ids, notice) })
}

// departure is the end of an executor that is known before it has come.
type departure struct {
	Notice
	dismissed bool      // it was told to stop
	own       bool      // it is the executor's wish, of which the cluster manager does not know
	due       time.Time // when it is given up; the zero time for never
}

// left says of a dismissed executor why it is gone.
func (d *departure) left() string { return "left as it was told to: " + d.Reason }

// departures are the executors of which it is known that they will end.
type departures struct {
	announced map[*executor]struct{}
	absent    map[string]Notice // not registered yet, by id
	next      time.Time         // when the first of them is given up; the zero time for never
}

func newDepartures() departures {
	return departures{announced: map[*executor]struct{}{}, absent: map[string]Notice{}}
}

// forget takes out an executor that is gone.
func (d *departures) forget(e *executor) { delete(d.announced, e) }

func (l *loop) decommission(ids []string, notice Notice) {
	if l.stopping {
		return
	}
	for _, id := range ids {
		if e := l.executors[id]; e != nil {
			l.depart(e, notice, false)
		} else if _, open := l.losses[id]; !open {
			l.departures.announce(id, notice)
		}
	}
}

// announce keeps a notice for an executor that has not registered yet.
func (d *departures) announce(id string, notice Notice) {
	if earlier, known := d.absent[id]; known && !sooner(notice.Deadline, earlier.Deadline) {
		return
	}
	d.absent[id] = notice
	d.next = earliest(d.next, notice.Deadline)
}

// keep remembers the notice of an executor that may come again.
func (d *departures) keep(e *executor) {
	if e.instance == 0 {
		return
	}
	notice := e.departure.Notice
	if e.departure.dismissed {
		notice.Deadline = time.Time{} // it has left, as far as anybody knows
	}
	d.announce(e.id, notice)
}

// sooner reports whether a deadline, of which the zero time is none, is before
// another.
func sooner(a, b time.Time) bool { return !a.IsZero() && (b.IsZero() || a.Before(b)) }

// depart begins the end of an executor.
func (l *loop) depart(e *executor, notice Notice, own bool) {
	again := e.departure != nil
	if again && !sooner(notice.Deadline, e.departure.Deadline) {
		return
	}
	if !again {
		e.departure = &departure{own: own}
		l.departures.announced[e] = struct{}{}
		l.act(l.scheduler.DecommissionExecutor(e.id))
		if e.member != nil {
			e.kind.pool.Remove(e.member)
		}
		l.demand.changed = true
	}
	e.departure.Notice = notice
	e.departure.due = earliest(e.departure.due, notice.Deadline)
	l.departures.next = earliest(l.departures.next, e.departure.due)
	message := &wire.Decommission{Reason: strings.ToValidUTF8(notice.Reason, "\uFFFD")}
	attributes := []any{"executor", e.id, "host", e.host, "reason", notice.Reason, "tasks", len(e.attempts)}
	if !notice.Deadline.IsZero() {
		message.DeadlineMillis = notice.Deadline.UnixMilli()
		attributes = append(attributes, "deadline", notice.Deadline)
	}
	l.outgoing(e).Decommission = message
	l.logger.Info("executor gets no further tasks", attributes...)
	if len(e.attempts) == 0 {
		l.dismiss(e)
	}
}

// departByItself begins the end of an executor that wishes to leave.
func (l *loop) departByItself(e *executor, reason string) {
	if e.departure == nil && !l.stopping {
		l.depart(e, Notice{Reason: reason}, true)
	}
}

// dismiss tells an executor to stop that has nothing to do any more.
func (l *loop) dismiss(e *executor) {
	if e.departure.dismissed || l.executors[e.id] != e {
		return
	}
	e.departure.dismissed = true
	e.departure.due = earliest(e.departure.due, l.now.Add(leaveWait))
	l.departures.next = earliest(l.departures.next, e.departure.due)
	l.outgoing(e).Stop = &wire.Stop{Reason: strings.ToValidUTF8(e.departure.Reason, "\uFFFD")}
	if e.departure.own && l.demand.manager != nil {
		// So that it is not taken for a failure, and another comes in its place.
		l.demand.manager.KillExecutors([]string{e.id})
	}
}

// expireDepartures gives up the executors whose time is over, and with them
// what they still run.
func (l *loop) expireDepartures() {
	d := &l.departures
	if d.next.IsZero() || l.now.Before(d.next) {
		return
	}
	d.next = time.Time{}
	var over []string
	for e := range d.announced {
		if due := e.departure.due; due.IsZero() || l.now.Before(due) {
			d.next = earliest(d.next, due)
			continue
		}
		over = append(over, e.id)
		text := "was given up with its tasks: " + e.departure.Reason
		if e.departure.dismissed {
			text = "did not leave though it was told to: " + e.departure.Reason
		}
		l.lose(e, Loss{Text: text})
	}
	for id, notice := range d.absent {
		if notice.Deadline.IsZero() || l.now.Before(notice.Deadline) {
			d.next = earliest(d.next, notice.Deadline)
			continue
		}
		over = append(over, id)
		delete(d.absent, id)
	}
	if len(over) > 0 && l.demand.manager != nil {
		slices.Sort(over)
		l.demand.manager.KillExecutors(over)
	}
}
