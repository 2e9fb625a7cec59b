package am

import "time"

const (
	// eagerFor is how long the allocator asks at the initial interval after
	// something changed, before it slows down. NodeManagers report once a second
	// by default, so containers come within that where there is room for them.
	eagerFor = 3 * time.Second
	// pendingInterval is the longest wait between heartbeats while containers
	// are missing.
	pendingInterval = time.Second
)

// pace decides how long to wait between heartbeats.
type pace struct {
	initial, idle time.Duration
	eagerUntil    time.Time
	wait          time.Duration
}

// change makes the next heartbeats come fast.
func (p *pace) change(now time.Time) { p.eagerUntil, p.wait = now.Add(eagerFor), p.initial }

// next is the wait before the next heartbeat.
func (p *pace) next(missing bool, now time.Time) time.Duration {
	if !missing {
		return p.idle
	}
	if p.wait == 0 {
		p.change(now)
	}
	if now.After(p.eagerUntil) {
		p.wait = min(2*p.wait, max(pendingInterval, p.initial), p.idle)
	}
	return p.wait
}
