package driver

import (
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// shownHolds is how many keys of an executor the status shows.
const shownHolds = 20

// Release says that what executors hold under a key is not wanted any more: they
// may be removed when they are idle. What is held after it is held anew.
func (d *Driver) Release(key string) {
	key = wire.HoldKey(key)
	d.do(func(l *loop) {
		for _, e := range l.executors {
			if _, holds := e.holds[key]; holds {
				delete(e.holds, key)
				l.outgoing(e).Release = append(l.outgoing(e).Release, key)
				e.noteHolds()
			}
		}
	})
}

// hold notes that an executor has something that others may want.
func (e *executor) hold(keys []string) {
	if e.holds == nil {
		e.holds = map[string]struct{}{}
	}
	for _, key := range keys {
		e.holds[key] = struct{}{}
	}
	e.noteHolds()
}

func (e *executor) noteHolds() {
	if e.member != nil {
		e.member.Hold(len(e.holds) > 0)
	}
}

// shown are the first of the keys under which an executor holds something.
func (e *executor) shown() []string {
	keys := slices.Sorted(maps.Keys(e.holds))
	return keys[:min(len(keys), shownHolds)]
}
