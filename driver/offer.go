package driver

import (
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler"
)

// offer has the scheduler hand out the free cores and launches what it says.
func (l *loop) offer() {
	all := l.scheduler.Offer(l.now)
	for launches := all; len(launches) > 0; {
		first, n := launches[0], 1
		for n < len(launches) && launches[n].Executor == first.Executor && launches[n].TaskSet == first.TaskSet {
			n++
		}
		r := l.runs[first.TaskSet]
		l.launch(l.executors[first.Executor], r, launches[:n])
		if r.job.Barrier && r.gathering.isComplete(r) {
			l.introduce(r)
		}
		launches = launches[n:]
	}
	l.scheduler.Reuse(all)
}

// launch sends an executor tasks of a run: what it takes for them, it takes for
// all of them at once.
func (l *loop) launch(e *executor, r *run, launches []scheduler.Launch) {
	if e.member != nil && len(e.attempts) == 0 {
		e.member.Busy()
	}
	message := l.outgoing(e)
	if e.lastSet != r.id { // a look at a field, for most
		e.lastSet = r.id
		if _, sent := r.sentTo[e]; !sent {
			r.sentTo[e] = struct{}{}
			message.TaskSets = append(message.TaskSets, &wire.TaskSet{
				Id: r.id, Name: strings.ToValidUTF8(r.job.Name, "\uFFFD"), Function: r.job.Function, Common: r.job.Common,
			})
		}
	}
	r.running += len(launches)
	r.launches += len(launches)
	r.hindrance = ""
	hold := r.results.bytes.Load() > r.intake.window
	attempts, tasks := make([]attempt, len(launches)), make([]wire.LaunchTask, len(launches))
	e.attempts = slices.Grow(e.attempts, len(launches))
	message.Launches = slices.Grow(message.Launches, len(launches))
	for i := range launches {
		launch, a, task := &launches[i], &attempts[i], &tasks[i]
		a.id, a.run, a.index, a.try, a.executor = launch.Attempt, r, launch.Index, int32(launch.Number), e
		l.attempts.Put(a.id, a)
		e.attempts.add(a)
		if launch.Speculative {
			r.copies++
		}
		if r.job.Barrier {
			r.gather(a)
		}
		r.locality.count(launch.Locality)
		l.history.totals.Locality.count(launch.Locality)
		task.Attempt, task.TaskSet, task.Index, task.AttemptNumber = uint64(a.id), r.id, uint32(a.index), uint32(a.try)
		task.Cpus, task.Input, task.Resources = uint32(r.cpus), r.job.Tasks[a.index].Input, wire.ResourcesOf(launch.Resources)
		task.Ahead, task.HoldResult = launch.Ahead, hold
		message.Launches = append(message.Launches, task)
	}
}
