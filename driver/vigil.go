package driver

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// vigil watches for executors that say nothing.
type vigil struct {
	timeout time.Duration
	period  time.Duration // between two looks
	next    time.Time
}

func newVigil(c *config.Config, now time.Time) vigil {
	timeout := max(config.NetworkTimeout.In(c), time.Millisecond)
	v := vigil{timeout: timeout, period: max(timeout/4, time.Millisecond)}
	v.next = now.Add(v.period)
	return v
}

// expireExecutors takes executors for lost that said nothing for
// network.timeout, and has the cluster manager end them.
func (l *loop) expireExecutors() {
	v := &l.vigil
	late := l.now.Sub(v.next)
	if late < 0 {
		return
	}
	v.next = l.now.Add(v.period)
	if late > v.period {
		// This process stood still. What executors said meanwhile is still to be
		// read, so they begin anew.
		for _, e := range l.executors {
			e.lastHeard = l.now
		}
		return
	}
	var silent []string
	for _, e := range l.executors {
		if since := l.now.Sub(e.lastHeard); since >= v.timeout {
			silent = append(silent, e.id)
			// The manager's word on its end will be that it was killed as asked.
			l.lose(e, Loss{Text: fmt.Sprintf("said nothing for %v", since.Round(time.Millisecond)), CountsAsFailure: true})
		}
	}
	if len(silent) > 0 && l.demand.manager != nil {
		l.demand.manager.KillExecutors(silent)
	}
}
