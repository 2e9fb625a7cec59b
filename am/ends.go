package am

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// This file holds what becomes of executors between their launch and their
// containers' ends.

// launched notes that a NodeManager took an executor, which has to register now.
// An opportunistic one may wait for its node.
func (f *fleet) launched(id yarn.ContainerID, now time.Time) {
	e, ok := f.executors[id]
	if !ok || e.started {
		return
	}
	e.started = true
	delete(e.table.starting, e)
	if e.state != stateLaunching || f.launchTimeout <= 0 || e.table.profile.Opportunistic {
		return
	}
	e.due = now.Add(f.launchTimeout)
	f.expected = append(f.expected, e)
}

// registered notes that an executor serves.
func (f *fleet) registered(id string) {
	if e, ok := f.byID[id]; ok && e.state == stateLaunching {
		e.started = true
		delete(e.table.starting, e)
		f.become(e, stateRegistered)
	}
}

// expire gives up the executors that have not registered in time.
func (f *fleet) expire(now time.Time) {
	for len(f.expected) > 0 {
		e := f.expected[0]
		if e.state == stateLaunching && f.executors[e.container.ID] == e {
			if now.Before(e.due) {
				return
			}
			text := fmt.Sprintf("did not register with the driver within %v (yarn.executor.launchTimeout): see its log on %s", f.launchTimeout, e.host())
			f.giveUp(e, notRegistered, text, now)
		}
		f.expected = f.expected[1:]
	}
	f.expected = nil
}

// launchFailed gives up an executor that its NodeManager did not take. One that
// has registered was taken all the same.
func (f *fleet) launchFailed(id yarn.ContainerID, err error, now time.Time) {
	e, ok := f.executors[id]
	if !ok || e.state != stateLaunching {
		return
	}
	v := notLaunched
	switch {
	case errors.Is(err, errNodeGone):
		v = byCluster[yarn.ExitAborted]
	case errors.Is(err, errContainerToken):
		v = tokenRefused
	case errors.Is(err, yarn.ErrInvalidContainer):
		v = notTaken // the ResourceManager that allocated it was replaced
	}
	f.giveUp(e, v, fmt.Sprintf("could not be started on %s: %v", e.host(), err), now)
}

// leaveExcluded gives up the executors that are still to be started on a node
// that has been excluded since.
func (f *fleet) leaveExcluded(now time.Time) {
	for _, table := range f.tables {
		for _, e := range slices.SortedFunc(maps.Keys(table.starting), youngestFirst) {
			if f.excluded.has(e.host()) {
				f.giveUp(e, onExcludedNode, "was not started, as its node "+e.host()+" is excluded", now)
			}
		}
	}
}

// giveUp gives an executor's container back and forgets it. It has never served,
// as far as is known.
func (f *fleet) giveUp(e *executor, v verdict, text string, now time.Time) {
	f.remove(e)
	f.release(e.container.ID, e.container.Node)
	f.withdrawn = append(f.withdrawn, e)
	f.end(lost{executor: e, status: yarn.ExitKilledByApplicationMaster, verdict: v, loss: driver.Loss{Text: text}}, now)
}

// end counts an executor's end and leaves it to be told.
func (f *fleet) end(l lost, now time.Time) {
	f.tally.count(l.verdict, l.executor.text(l.loss.Text), now)
	if l.verdict.failure || l.executor.state == stateLaunching && !l.verdict.wished {
		f.cameToNothing(l.executor.table, l.executor.text(l.loss.Text), now)
	}
	if l.verdict.node {
		f.excluded.failed(l.executor.host(), l.loss.Text, now)
	}
	f.ended = append(f.ended, l)
}

// completed judges the containers that have ended. Those that are not executors
// any more, because they were given back, and those of which a restarted
// ResourceManager tells once more, are passed over.
func (f *fleet) completed(statuses []yarn.ContainerStatus, now time.Time) {
	for _, status := range statuses {
		if _, was := f.releasing[status.ID]; was {
			delete(f.releasing, status.ID)
			f.changed = true
		}
		e, ok := f.executors[status.ID]
		if !ok {
			f.strays[status.ID] = struct{}{}
			continue
		}
		f.remove(e)
		l := lost{executor: e, status: status.ExitStatus}
		switch {
		case f.stopped:
			l.loss, l.verdict = driver.Loss{Text: withApplication.reason}, withApplication
		case e.state == stateEnding:
			l.loss, l.verdict = driver.Loss{Text: e.reason}, endedByDriver
		case e.state == stateDecommissioning:
			l.loss, l.verdict = driver.Loss{Text: "left: " + e.reason}, leftInTime
		default:
			l.loss, l.verdict = judge(status, e.table.profile)
		}
		f.end(l, now)
	}
}

// kill ends executors by the driver's wish.
func (f *fleet) kill(ids []string, now time.Time) {
	for _, id := range ids {
		e, ok := f.byID[id]
		if !ok || e.state == stateEnding {
			continue
		}
		const reason = "was ended by the driver"
		switch e.state {
		case stateLaunching:
			if !e.started {
				f.giveUp(e, endedByDriver, reason, now)
				continue
			}
			f.withdrawn = append(f.withdrawn, e)
			e.reason = reason
		case stateRegistered:
			e.reason = reason
		}
		f.become(e, stateEnding)
		f.release(e.container.ID, e.container.Node)
	}
}

// takeWithdrawn returns the executors that were given back before they had
// registered, once: the launcher need not start them any more.
func (f *fleet) takeWithdrawn() []*executor {
	withdrawn := f.withdrawn
	f.withdrawn = nil
	return withdrawn
}

// takeEnded returns the executors whose ends have not been told, once.
func (f *fleet) takeEnded() []lost {
	ended := f.ended
	f.ended = nil
	return ended
}
