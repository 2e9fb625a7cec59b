package driver

// beginHandover calls ExecutorDecommissioned of all listeners for a decommissioned executor, and
// records which listeners move the executor's data.
func (l *loop) beginHandover(e *executor) {
	e.decommission.handovers = map[ExecutorListener]struct{}{}
	e.decommission.announcedIdle = len(e.attempts) == 0
	for listener := range l.listeners {
		l.announceDecommission(listener, e)
	}
}

func (l *loop) announceDecommission(listener ExecutorListener, e *executor) {
	if listener.ExecutorDecommissioned(e.info()) {
		e.decommission.handovers[listener] = struct{}{}
	}
}

// awaitsHandover reports whether a decommissioned executor without tasks must not stop yet,
// because listeners move its data. If the executor has run tasks since ExecutorDecommissioned
// was last called, awaitsHandover calls it again.
func (l *loop) awaitsHandover(e *executor) bool {
	if len(e.decommission.handovers) == 0 && !e.decommission.announcedIdle {
		l.beginHandover(e)
	}
	return len(e.decommission.handovers) > 0
}

// EndHandover reports that a listener does not need the data of the executor with the given id
// any more. A listener whose [ExecutorListener.ExecutorDecommissioned] has returned true must
// call it.
func (d *Driver) EndHandover(id string, listener ExecutorListener) {
	d.do(func(l *loop) {
		if e := l.executors[id]; e != nil {
			l.endHandover(e, listener)
		}
	})
}

func (l *loop) endHandover(e *executor, listener ExecutorListener) {
	if e.decommission == nil {
		return
	}
	delete(e.decommission.handovers, listener)
	if len(e.attempts) == 0 {
		l.stopIdle(e)
	}
}

func (l *loop) addListener(listener ExecutorListener) {
	l.listeners[listener] = struct{}{}
	for _, e := range l.executors {
		listener.ExecutorAdded(e.info())
		if e.decommission != nil && !e.decommission.stopped {
			l.announceDecommission(listener, e)
		}
	}
}

func (l *loop) removeListener(listener ExecutorListener) {
	delete(l.listeners, listener)
	for e := range l.decommissions.executors {
		l.endHandover(e, listener)
	}
}
