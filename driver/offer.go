package driver

import (
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler"
)

// offer has the scheduler hand out the free cores and launches what it says.
func (l *loop) offer() {
	launches, recalls := l.scheduler.Offer(l.now)
	l.act(recalls)
	for i := range launches {
		launch := &launches[i]
		r := l.runs[launch.TaskSet]
		if r == nil {
			continue // what was recalled ended its job
		}
		l.launch(l.executors[launch.Executor], r, launch)
		if r.job.Barrier && r.gathering.isComplete(r) {
			l.introduce(r)
		}
	}
}

// launch sends an executor a task of a run.
func (l *loop) launch(e *executor, r *runningSet, launch *scheduler.Launch) {
	if e.member != nil && len(e.attempts) == 0 {
		e.member.Busy()
	}
	message := l.outgoing(e)
	if _, sent := r.sentTo[e]; !sent {
		r.sentTo[e] = struct{}{}
		message.TaskSets = append(message.TaskSets, &wire.TaskSet{
			Id: r.id, Name: strings.ToValidUTF8(r.job.Name, "\uFFFD"), Function: r.job.Function, Common: r.job.Common,
		})
	}
	a := &attempt{id: launch.Attempt, run: r, index: launch.Index, try: launch.Number, executor: e}
	l.attempts[a.id], e.attempts[a.id] = a, a
	r.running++
	r.launches++
	r.hindrance = ""
	if launch.Speculative {
		r.copies++
	}
	if r.job.Barrier {
		r.gather(a)
	}
	r.locality.count(launch.Locality)
	l.history.totals.Locality.count(launch.Locality)
	e.addLaunch(message, &wire.Launch{
		Attempt: uint64(a.id), TaskSet: r.id, AttemptNumber: uint32(a.try), Cpus: uint32(r.cpus), Resources: wire.ResourcesOf(launch.Resources),
		Queued: launch.Queued, StoreResult: r.unreleased.Load() > r.intake.window,
	}, r.job.indexOf(a.index), r.job.Tasks[a.index].Input)
}

// addLaunch adds an attempt to a message: to the launch before it, where both are
// alike, as a launch of its own costs more than a short task does.
func (e *executor) addLaunch(message *wire.DriverMessage, own *wire.Launch, index int, input []byte) {
	last := own
	if n := len(message.Launches); n > 0 {
		last = message.Launches[n-1]
	}
	alike := last != own && last.TaskSet == own.TaskSet && last.Attempt+uint64(len(last.Indexes)) == own.Attempt &&
		last.AttemptNumber == own.AttemptNumber && last.Queued == own.Queued && last.StoreResult == own.StoreResult &&
		last.Resources == nil && own.Resources == nil && e.lastLaunch+len(input) <= wire.MaxPart
	if !alike {
		last, e.lastLaunch = own, 0
		message.Launches = append(message.Launches, own)
	}
	e.lastLaunch += len(input)
	last.Indexes = append(last.Indexes, uint32(index))
	if len(input) > 0 || last.Inputs != nil {
		for len(last.Inputs) < len(last.Indexes)-1 {
			last.Inputs = append(last.Inputs, nil)
		}
		last.Inputs = append(last.Inputs, input)
	}
}
