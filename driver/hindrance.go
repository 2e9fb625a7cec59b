package driver

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/scheduler"
)

const (
	// hindranceInterval is how long no task of a job may be launched, while some
	// wait, before it is said why.
	hindranceInterval = 15 * time.Second
	// maxHindrances is how many jobs are looked at, as each look goes through all
	// executors.
	maxHindrances = 100
)

// patience is with jobs of which nothing is launched.
type patience struct {
	next time.Time // when they are looked at
}

// warnOfHindrances says of jobs that have waited for some time why, unless
// other tasks alone keep them waiting. It says when it looks again; the zero time
// where there is nothing to look at.
func (l *loop) warnOfHindrances() (next time.Time) {
	p := &l.patience
	if len(l.runs) == 0 || l.stopping {
		p.next = time.Time{}
		return time.Time{}
	}
	if p.next.IsZero() {
		p.next = l.now.Add(hindranceInterval)
	}
	if l.now.Before(p.next) {
		return p.next
	}
	p.next = l.now.Add(hindranceInterval)
	looks := 0
	for _, id := range slices.Sorted(maps.Keys(l.runs)) {
		r := l.runs[id]
		r.hindrance = ""
		if r.launches == r.launchesSeen && l.now.Sub(r.submitted) >= hindranceInterval && looks < maxHindrances {
			looks++
			if hindrance, reason := l.scheduler.WhyWaiting(id); isWorthTelling(hindrance) {
				r.hindrance = reason
				l.logger.Warn("job waits", "job", id, "name", r.job.Name, "reason", reason)
			}
		}
		r.launchesSeen = r.launches
	}
	return p.next
}

// isWorthTelling tells what somebody has to look at from what goes by with time.
func isWorthTelling(h scheduler.WaitReason) bool {
	switch h {
	case scheduler.NotBlocked, scheduler.AllBusy, scheduler.WaitingForLocality:
		return false
	}
	return true
}

// notes are for people who look at the application.
func (l *loop) notes() []string {
	var notes []string
	for _, id := range slices.Sorted(maps.Keys(l.runs)) {
		if r := l.runs[id]; r.hindrance != "" {
			notes = append(notes, fmt.Sprintf("job %d (%s) waits: %s", id, r.job.Name, r.hindrance))
		}
	}
	return notes
}
