package driver

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// liveness finds executors that have sent no message for network.timeout.
type liveness struct {
	timeout time.Duration
	period  time.Duration // time between two checks
	next    time.Time     // time of the next check
}

func newLiveness(c *config.Config, now time.Time) liveness {
	timeout := max(config.NetworkTimeout.In(c), time.Millisecond)
	period := max(timeout/4, time.Millisecond)
	return liveness{timeout: timeout, period: period, next: now.Add(period)}
}

// timedOut returns, once per period, the executors that have timed out; otherwise none.
func (v *liveness) timedOut(executors map[string]*executor, now time.Time) []*executor {
	late := now.Sub(v.next)
	if late < 0 {
		return nil
	}
	v.next = now.Add(v.period)
	if late > v.period {
		// This process was suspended: messages are unread, so every timeout starts again.
		for _, e := range executors {
			e.lastHeard = now
		}
		return nil
	}
	var silent []*executor
	for _, e := range executors {
		if now.Sub(e.lastHeard) >= v.timeout {
			silent = append(silent, e)
		}
	}
	return silent
}

// expireExecutors treats silent executors as lost and asks the manager to kill them.
func (l *loop) expireExecutors() {
	var ids []string
	for _, e := range l.liveness.timedOut(l.executors, l.now) {
		ids = append(ids, e.id)
		// Count the loss as a failure here: the cluster manager would only report
		// that the executor was killed.
		text := fmt.Sprintf("said nothing for %v", l.now.Sub(e.lastHeard).Round(time.Millisecond))
		l.lose(e, Loss{Text: text, CountsAsFailure: true})
	}
	l.cluster.kill(ids)
}
