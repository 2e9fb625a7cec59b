package scheduler

import (
	"math"
	"slices"
	"time"
)

// Launch is an attempt to start.
type Launch struct {
	Attempt AttemptID
	TaskSet uint64
	// Index is the task's place in its set.
	Index int
	// Number counts the attempts of the task before this one.
	Number int
	// Executor is the id of the executor to start it on.
	Executor string
	Locality Locality
	// Speculative is whether it is the copy of an attempt that runs.
	Speculative bool
	// Queued is whether the attempt is to wait at its executor until a core is
	// free there; see [Scheduler.SetWindow]. The executor may give it back.
	Queued bool
	// Resources are the addresses that the attempt may use, by the name of the
	// resource; nil where its set asks for none.
	Resources map[string][]string
}

// Offer hands out all free cores that can be handed out at the time now, and the
// room in the windows of executors, and says what to launch. Its events are
// a [Recall] for each executor whose queued tasks have to make way; act upon them
// first. It costs next to nothing when there is nothing to hand out. Call it
// after anything that adds executors, cores or tasks, and at
// [Scheduler.NextDeadline]. The time must not go back from call to call; where it
// does, it counts as standing still.
func (s *Scheduler) Offer(now time.Time) ([]Launch, []Event) {
	s.setNow(now)
	var recalls []Event
	for _, p := range s.profiles {
		s.offerProfile(p)
		recalls = s.recallFromWindows(recalls, p)
	}
	launches := s.launches
	s.launches = nil
	return launches, recalls
}

func (s *Scheduler) setNow(now time.Time) {
	if !now.After(s.now) {
		return
	}
	if !s.now.IsZero() {
		s.clock += now.Sub(s.now)
	}
	s.now = now
}

// offerProfile hands out the free cores of one profile's executors.
func (s *Scheduler) offerProfile(p *profile) {
	p.saved = false
	s.offerSaved(p)
	if len(p.root.queue) > 0 && !p.saved {
		s.offerPool(p, p.root, math.MaxInt)
	}
	for i := len(p.touched) - 1; i >= 0; i-- {
		s.endTurn(p.touched[i])
		p.touched[i] = nil
	}
	p.touched = p.touched[:0]
	if p.saved {
		for _, set := range p.sets {
			set.settled = false // it may not have been offered what is free
		}
	}
	s.fillWindows(p)
	for i, e := range p.freed {
		e.freed, p.freed[i] = false, nil
	}
	p.freed = p.freed[:0]
}

// offerPool has those in a pool take so many tasks at the most, and returns how
// many they took: fewer only where none of them takes any more.
func (s *Scheduler) offerPool(p *profile, n *schedulable, most int) (took int) {
	p.touch(n)
	for took < most && p.free.top > 0 && !p.saved {
		if n.mode == FIFO {
			if n.turn >= len(n.queue) {
				break
			}
			took += s.offerNode(p, n.queue[n.turn], most-took)
			if took < most {
				n.turn++
			}
			continue
		}
		if len(n.queue) == 0 {
			break
		}
		child := n.queue[0]
		if s.offerNode(p, child, 1) == 0 {
			n.removeAt(0)
			child.at = -1
			n.aside = append(n.aside, child)
			continue
		}
		n.down(0)
		took++
	}
	return took
}

func (s *Scheduler) offerNode(p *profile, n *schedulable, most int) int {
	switch {
	case n.set == nil:
		return s.offerPool(p, n, most)
	case p.free.top < n.set.cpus:
		return 0
	}
	p.touch(n)
	if n.set.barrier != nil {
		return s.offerBarrier(n.set)
	}
	return s.offerSet(n.set, most)
}

// touch notes that a schedulable has a part in the offer that is being made.
func (p *profile) touch(n *schedulable) {
	if !n.touched {
		n.touched = true
		p.touched = append(p.touched, n)
	}
}

// endTurn makes a schedulable ready for the next offer. Those in it are.
func (s *Scheduler) endTurn(n *schedulable) {
	n.touched = false
	switch {
	case n.set != nil:
		if t := &n.set.turn; t.took && !t.over {
			s.setDelayed(n.set, false) // it took all that it was offered
		}
		n.set.turn.end()
	case n.mode == FIFO:
		if n.spent {
			n.queue = slices.DeleteFunc(n.queue, func(child *schedulable) bool {
				child.queued = child.wants()
				return !child.queued
			})
		}
		n.turn, n.spent = 0, false
	default:
		for _, child := range n.aside {
			if child.queued = child.wants(); child.queued {
				n.push(child)
			}
		}
		clear(n.aside)
		n.aside, n.spent = n.aside[:0], false
	}
	if up := n.parent; up != nil && !n.wants() {
		up.spent = true
		if up.mode == FAIR && n.at >= 0 {
			n.queued = false
			up.removeAt(n.at)
		}
	}
}

// wants is whether there is anything to launch.
func (n *schedulable) wants() bool {
	if n.set != nil {
		return n.set.wants()
	}
	return len(n.queue) > 0
}

// wants is whether a set has anything to launch.
func (set *taskSet) wants() bool { return set.waiting > 0 || set.stragglers.wanted > 0 }
