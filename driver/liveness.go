package driver

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// liveness finds executors that have sent no message for network.timeout. Their hosts are
// probably down, so all other executors on these hosts that have missed three heartbeats time
// out at the same time.
type liveness struct {
	timeout          time.Duration
	heartbeatTimeout time.Duration // time without messages after which an executor is silent; at most timeout
	period           time.Duration // time between two checks
	nextCheck        time.Time     // time of the next check
}

// maxMissedHeartbeats is how many heartbeats an executor must miss to be silent.
const maxMissedHeartbeats = 3

func newLiveness(c *config.Config, now time.Time) liveness {
	timeout := max(config.NetworkTimeout.In(c), time.Millisecond)
	period := max(timeout/4, time.Millisecond)
	silence := min(maxMissedHeartbeats*config.ExecutorHeartbeat.In(c), timeout)
	return liveness{timeout: timeout, heartbeatTimeout: silence, period: period, nextCheck: now.Add(period)}
}

// timedOut returns the executors that have timed out. It checks once per period; between two
// checks, it returns none.
func (v *liveness) timedOut(executors map[string]*executor, now time.Time) []*executor {
	if now.Before(v.nextCheck) {
		return nil
	}
	suspended := v.suspended(now)
	v.nextCheck = now.Add(v.period)
	if suspended { // unread messages may have arrived during the suspension, so every timeout starts again
		for _, e := range executors {
			e.lastHeard = now
		}
		return nil
	}
	hosts := map[string]bool{}
	for _, e := range executors {
		if now.Sub(e.lastHeard) >= v.timeout {
			hosts[e.host] = true
		}
	}
	if len(hosts) == 0 {
		return nil
	}
	return v.silent(executors, now, func(e *executor) bool { return hosts[e.host] })
}

// suspended reports whether this process was suspended since the last check.
func (v *liveness) suspended(now time.Time) bool { return now.Sub(v.nextCheck) > v.period }

// silent returns the selected executors that have sent no message for heartbeatTimeout, ordered
// by id.
func (v *liveness) silent(executors map[string]*executor, now time.Time, selected func(*executor) bool) []*executor {
	var silent []*executor
	for _, e := range executors {
		if selected(e) && now.Sub(e.lastHeard) >= v.heartbeatTimeout {
			silent = append(silent, e)
		}
	}
	slices.SortFunc(silent, func(a, b *executor) int { return cmp.Compare(a.id, b.id) })
	return silent
}

// expireExecutors removes the executors that have timed out, which are then lost, and makes the
// cluster manager kill them.
func (l *loop) expireExecutors() { l.expire(l.liveness.timedOut(l.executors, l.now)) }

func (l *loop) expire(silent []*executor) {
	var ids []string
	for _, e := range silent {
		ids = append(ids, e.id)
		// The loss is counted as a failure without waiting for the cluster manager's report,
		// which would only say that the executor was killed.
		text := fmt.Sprintf("said nothing for %v", l.now.Sub(e.lastHeard).Round(time.Millisecond))
		l.removeLost(e, Loss{Reason: text, CountsAsFailure: true})
	}
	l.requester.kill(ids)
}

// Unreachable reports that another executor got no answer from the executor with the given id.
// If this executor has sent the driver no message for three heartbeats either, it is lost at
// once, without waiting for network.timeout. Then all other executors on its host that have been
// silent for three heartbeats are also lost.
func (d *Driver) Unreachable(id string) {
	d.do(func(l *loop) {
		unreachable := l.executors[id]
		if unreachable == nil || l.liveness.suspended(l.now) || l.now.Sub(unreachable.lastHeard) < l.liveness.heartbeatTimeout {
			return
		}
		l.expire(l.liveness.silent(l.executors, l.now, func(e *executor) bool { return e.host == unreachable.host }))
	})
}
