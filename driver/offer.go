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
	e.attempts = slices.Grow(e.attempts, len(launches))
	alike := batch{indexes: l.indexes[:0]}
	for i := range launches {
		launch := &launches[i]
		a := l.attempts.Add(launch.Attempt)
		a.id, a.run, a.index, a.try, a.executor = launch.Attempt, r, launch.Index, int32(launch.Number), e
		e.attempts.add(a)
		if launch.Speculative {
			r.copies++
		}
		if r.job.Barrier {
			r.gather(a)
		}
		r.locality.count(launch.Locality)
		l.history.totals.Locality.count(launch.Locality)
		input := r.job.Tasks[a.index].Input
		if !alike.takes(launch, len(input)) {
			alike.end()
			alike = batch{indexes: alike.indexes[:0], Launch: &wire.Launch{
				Attempt: uint64(a.id), TaskSet: r.id, AttemptNumber: uint32(a.try), Cpus: uint32(r.cpus),
				Resources: wire.ResourcesOf(launch.Resources), Ahead: launch.Ahead, Last: launch.Last, HoldResult: hold,
			}}
			message.Launches = append(message.Launches, alike.Launch)
		}
		alike.add(launch.Index, input, min(len(launches)-i, usualAlike))
	}
	alike.end()
	l.indexes = alike.indexes
}

// batch is a part of a message that grows.
type batch struct {
	*wire.Launch
	indexes []uint32 // the message gets a copy, which has next to no room to spare
	size    int      // of the inputs, in bytes
}

func (b *batch) end() {
	if b.Launch != nil {
		b.Indexes = slices.Clone(b.indexes)
	}
}

// takes is whether a further attempt fits in, with an input of so many bytes.
func (b *batch) takes(next *scheduler.Launch, input int) bool {
	return b.Launch != nil && b.size+input <= wire.MaxPart && uint64(next.Attempt) == b.Attempt+uint64(len(b.indexes)) &&
		uint32(next.Number) == b.AttemptNumber && next.Ahead == b.Ahead && next.Last == b.Last && next.Resources == nil && b.Resources == nil
}

// usualAlike is for how many attempts that are alike there is room for inputs at
// first, where so many are launched.
const usualAlike = 128

// add adds a task. The first one with an input makes room for so many.
func (b *batch) add(index int, input []byte, room int) {
	if len(input) > 0 && b.Inputs == nil {
		b.Inputs = make([][]byte, len(b.indexes), len(b.indexes)+room)
	}
	if b.Inputs != nil {
		b.Inputs = append(b.Inputs, input)
	}
	b.indexes = append(b.indexes, uint32(index))
	b.size += len(input)
}
