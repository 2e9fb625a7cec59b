package cluster

import (
	"fmt"
	"slices"
	"time"
)

// ExtendTimeouts extends all timeouts by the duration pause, for which the master's process
// was suspended.
func (c *Cluster) ExtendTimeouts(pause time.Duration) {
	c.warn("the master has stood still; its machine is too busy, or it was stopped", "for", pause)
	c.deadline = c.deadline.Add(pause)
	for _, w := range c.workers {
		w.lastHeard, w.since = w.lastHeard.Add(pause), w.since.Add(pause)
	}
	for _, a := range c.applications {
		a.detachedSince, a.completeBy = a.detachedSince.Add(pause), a.completeBy.Add(pause)
	}
}

// Tick removes workers and applications whose timeout has passed. It must be called at a fixed
// interval. A timeout takes effect at most one interval late.
func (c *Cluster) Tick(now time.Time) {
	if c.phase == PhaseRecovering && !now.Before(c.deadline) {
		c.endRecovery(now)
	}
	for _, w := range c.workersInOrder() {
		switch {
		case w.dead:
			if now.Sub(w.since) >= c.options.DeadWorkerRetention {
				delete(c.workers, w.id)
			}
		case w.recovered:
		case w.attached && now.Sub(w.lastHeard) >= c.options.WorkerTimeout:
			c.loseWorker(now, w, fmt.Sprintf("nothing was heard of it for %s", c.options.WorkerTimeout))
		case !w.attached && now.Sub(w.since) >= c.options.ReconnectTimeout:
			c.loseWorker(now, w, fmt.Sprintf("it has been disconnected for %s", c.options.ReconnectTimeout))
		}
	}
	for _, a := range slices.Clone(c.queue) {
		switch {
		case a.attached:
			if !a.sentAllExecutors && c.phase == PhaseAlive && !now.Before(a.completeBy) {
				c.completeNow(a)
			}
			if !a.retryAt.IsZero() && !now.Before(a.retryAt) {
				a.retryAt = time.Time{}
				c.dirty = true
			}
		case c.phase == PhaseRecovering && a.neverAttached:
		case now.Sub(a.detachedSince) >= c.options.ReconnectTimeout:
			c.endApplication(now, a, ApplicationLost, fmt.Sprintf("its driver has been disconnected for %s", c.options.ReconnectTimeout))
		}
	}
}
