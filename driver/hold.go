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
			if e.release(key) {
				l.outgoing(e).Release = append(l.outgoing(e).Release, key)
			}
		}
		for _, open := range l.losses {
			open.executor.release(key) // it may come again
		}
	})
}

// release reports whether an executor holds a key, which it then does no more.
func (e *executor) release(key string) bool {
	if _, holds := e.holds[key]; !holds {
		return false
	}
	delete(e.holds, key)
	if e.releasing == nil {
		e.releasing = map[string]struct{}{}
	}
	e.releasing[key] = struct{}{}
	e.noteHolds()
	return true
}

// heardOfHolds takes what an executor says about what it holds.
func (l *loop) heardOfHolds(e *executor, message *wire.ExecutorMessage) {
	for _, key := range message.GetReleased() {
		delete(e.releasing, key)
	}
	if held := message.GetHolds(); len(held) > 0 {
		e.hold(held)
	}
}

// rejoined takes over what was released and had not reached the executor when
// its connection broke: it does not know, and says that it holds that.
func (l *loop) rejoined(e, before *executor) {
	for key := range before.releasing {
		if e.release(key) {
			l.outgoing(e).Release = append(l.outgoing(e).Release, key)
		}
	}
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
