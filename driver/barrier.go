package driver

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler"
)

// gathering is a barrier set at work: one attempt of each task, from their
// launches, which come all at once, to the end of the last of them.
type gathering struct {
	attempts []scheduler.AttemptID // in the order of their indexes
	waiting  []scheduler.AttemptID // at the barrier that comes next
	passed   uint32                // barriers
	problem  string                // why no further barrier can be passed
}

// gather notes the launch of an attempt of a barrier set.
func (r *runningSet) gather(a *attempt) {
	if r.gathering == nil || r.gathering.isComplete(r) {
		r.gathering = &gathering{}
	}
	r.gathering.attempts = append(r.gathering.attempts, a.id)
}

// isComplete is whether all tasks of the run were launched.
func (g *gathering) isComplete(r *runningSet) bool { return len(g.attempts) == len(r.job.Tasks) }

// introduce tells the executors of a barrier set where all its tasks run.
func (l *loop) introduce(r *runningSet) {
	gang := &wire.BarrierPeers{TaskSet: r.id}
	told := map[*executor]struct{}{}
	for _, id := range r.gathering.attempts {
		a := l.attempts[id]
		gang.Peers = append(gang.Peers, &wire.BarrierPeer{ExecutorId: a.executor.id, Host: a.executor.host})
		told[a.executor] = struct{}{}
	}
	for e := range told {
		l.outgoing(e).BarrierPeers = append(l.outgoing(e).BarrierPeers, gang)
	}
}

// arrived notes that an attempt waits at a barrier, and lets all pass once all
// are there.
func (l *loop) arrived(e *executor, arrival *wire.BarrierArrival) {
	a := l.attemptAt(e, arrival.GetAttempt())
	if a == nil || a.killed || a.run.ended || a.run.gathering == nil || a.waits {
		return // it ends, or has come already
	}
	g := a.run.gathering
	if g.problem == "" && arrival.GetPassed() != g.passed {
		g.problem = fmt.Sprintf("task %d comes to barrier %d, the others to barrier %d", a.index, arrival.GetPassed()+1, g.passed+1)
	}
	a.waits = true
	g.waiting = append(g.waiting, a.id)
	if len(g.waiting) == len(a.run.job.Tasks) {
		g.passed++
		l.letPass(g)
	} else if g.problem != "" {
		l.letPass(g)
	}
}

// letPass answers those who wait.
func (l *loop) letPass(g *gathering) {
	for _, id := range g.waiting {
		a := l.attempts[id]
		if a == nil {
			continue
		}
		if a.waits = false; !a.killed && !a.isGone() {
			message := l.outgoing(a.executor)
			message.BarrierReleases = append(message.BarrierReleases, &wire.BarrierRelease{Attempt: uint64(a.id), Error: g.problem})
		}
	}
	g.waiting = g.waiting[:0]
}

// leftGathering notes that an attempt of a barrier set has its result: it will
// come to no barrier any more, so that others would wait there for ever.
func (l *loop) leftGathering(a *attempt) {
	g := a.run.gathering
	if g.problem == "" {
		g.problem = fmt.Sprintf("task %d has ended after %d barriers: all tasks of the set must come to the same barriers", a.index, g.passed)
	}
	l.letPass(g)
}

// disperse drops the results that a barrier set has when its run ends.
func (l *loop) disperse(r *runningSet) {
	if r.gathering == nil {
		return
	}
	for _, id := range r.gathering.attempts {
		if a := l.attempts[id]; a != nil && a.held {
			delete(l.attempts, id)
		}
	}
	r.gathering = nil
}

// endTooWide ends barrier jobs that do not fit on the executors of this process,
// once these are there.
func (l *loop) endTooWide() {
	if !l.isLocal() {
		return
	}
	for _, r := range l.runs {
		if problem := l.tooMany(r); problem != "" {
			l.endRun(r, fmt.Errorf("job %q: %w: %s", r.job.Name, ErrUnschedulable, problem))
		}
	}
}

// tooMany says why the tasks of a barrier job can never run all at once; "" where
// they can, or may yet be able to.
func (l *loop) tooMany(r *runningSet) string {
	slots, executors := 0, 0
	switch {
	case !r.job.Barrier:
		return ""
	case l.isLocal():
		for _, e := range l.executors {
			executors++
			slots += e.cores / r.cpus
		}
	case r.kind.pool != nil:
		executors = config.MaxExecutors(l.d.options.Config)
		slots = executors * r.slots
	default:
		executors = r.kind.total()
		slots = executors * r.slots
	}
	if executors == 0 || slots >= len(r.job.Tasks) {
		return ""
	}
	return fmt.Sprintf("its %d tasks must run at once, and there is room for %d on as many executors as there may be (%d): allow more executors, or run fewer tasks",
		len(r.job.Tasks), slots, executors)
}
