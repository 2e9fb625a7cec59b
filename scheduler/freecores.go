package scheduler

import "iter"

// freeCores holds the executors of one place (a host, a rack, the cluster, of one profile) that
// have free cores and may be given tasks, sorted by how many.
type freeCores struct {
	scope scope
	// lists is indexed by the number of free cores.
	lists []executorList
	// top is the most free cores that an executor in it has; 0 when there is
	// none.
	top int
	// executors is how many there are.
	executors int
}

// scope tells apart the places that an executor belongs to.
type scope int

const (
	clusterScope scope = iota
	rackScope
	hostScope
	scopes
)

// executorList is a list linked through its executors, so that they move from
// one to another in constant time.
type executorList struct{ first, last *executor }

type executorLinks struct{ previous, next *executor }

// add puts an executor behind those with as many free cores.
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
	f.top = max(f.top, e.free)
	f.executors++
}

// remove takes out an executor that has as many free cores as when it was
// added.
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
	for f.top > 0 && f.lists[f.top].first == nil {
		f.top--
	}
	f.executors--
}

// atLeast goes through the executors with that many free cores, those with the
// most first. The one that it is at may be given tasks: it comes again, among
// those with fewer free cores.
func (f *freeCores) atLeast(cores int) iter.Seq[*executor] {
	return func(yield func(*executor) bool) {
		for free := f.top; free >= cores; free-- {
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

// setFree changes how many cores of an executor are free, everywhere.
func setFree(e *executor, free int) {
	if !e.available {
		e.free = free
		return
	}
	withdraw(e)
	e.free = free
	provide(e)
}

// provide makes an executor's free cores available.
func provide(e *executor) {
	if e.free == 0 {
		return
	}
	e.host.profile.free.add(e)
	e.host.free.add(e)
	if e.host.rack != nil {
		e.host.rack.free.add(e)
	}
}

// withdraw makes an executor's free cores unavailable.
func withdraw(e *executor) {
	if e.free == 0 {
		return
	}
	e.host.profile.free.remove(e)
	e.host.free.remove(e)
	if e.host.rack != nil {
		e.host.rack.free.remove(e)
	}
}
