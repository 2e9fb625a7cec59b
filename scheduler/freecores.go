package scheduler

import "iter"

// freeCores lists the available executors of a host, rack or cluster that have free cores, by
// their number of free cores.
type freeCores struct {
	scope     scope
	lists     []executorList // at index n, the executors with n free cores
	maxFree   int            // highest number of free cores of an executor; 0 without executors
	executors int            // number of executors in all lists
}

// scope is the range of executors that a freeCores lists. An executor is in three freeCores: of
// its cluster, of its rack and of its host.
type scope int

const (
	clusterScope scope = iota
	rackScope
	hostScope
	scopes
)

// executorList is a doubly linked list, so that an executor can be removed in constant time.
type executorList struct{ first, last *executor }

type executorLinks struct{ previous, next *executor }

// add appends an executor to the list for its number of free cores.
func (f *freeCores) add(e *executor) {
	for len(f.lists) <= e.free {
		f.lists = append(f.lists, executorList{})
	}
	list := &f.lists[e.free]
	if list.last == nil {
		list.first = e
	} else {
		list.last.links[f.scope].next = e
	}
	e.links[f.scope] = executorLinks{previous: list.last}
	list.last = e
	f.maxFree = max(f.maxFree, e.free)
	f.executors++
}

// remove removes an executor. Its number of free cores must be the same as when it was added.
func (f *freeCores) remove(e *executor) {
	list, links := &f.lists[e.free], e.links[f.scope]
	if links.previous == nil {
		list.first = links.next
	} else {
		links.previous.links[f.scope].next = links.next
	}
	if links.next == nil {
		list.last = links.previous
	} else {
		links.next.links[f.scope].previous = links.previous
	}
	e.links[f.scope] = executorLinks{}
	for f.maxFree > 0 && f.lists[f.maxFree].first == nil {
		f.maxFree--
	}
	f.executors--
}

// atLeast iterates over the executors with at least the given number of free cores, those with
// the most free cores first. The loop body may launch tasks on the current executor, which is
// then visited again among the executors with fewer free cores.
func (f *freeCores) atLeast(cores int) iter.Seq[*executor] {
	return func(yield func(*executor) bool) {
		for free := f.maxFree; free >= cores; free-- {
			for e := f.lists[free].first; e != nil; {
				next := e.links[f.scope].next
				if !yield(e) {
					return
				}
				e = next
			}
		}
	}
}
