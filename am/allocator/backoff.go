package allocator

import (
	"fmt"
	"time"
)

const (
	// minPause and maxPause bound the pause before replacements of failed containers.
	minPause = time.Second
	maxPause = 30 * time.Second
	// quietPeriod is how long after the end of a pause no container may fail for the pause
	// to be reset to zero.
	quietPeriod = time.Minute
)

// backoff delays the replacement of containers that failed: they were released unused,
// were refused by their node, or ended in failure. The first replacements are requested at
// once. Later replacements wait until the current round of failures ends. Each round lasts
// twice as long as the one before. Containers wanted for other reasons do not wait.
type backoff struct {
	delayedContainers int           // containers not asked for until the round ends
	pause             time.Duration // how long the current round lasts
	roundEnd          time.Time     // when the round ends
	cause             string        // of the round's first failure
}

// failed counts a failed container, and reports whether a pause begins with it.
func (b *backoff) failed(cause string, now time.Time) (begins bool) {
	if now.After(b.roundEnd) {
		switch {
		case now.Sub(b.roundEnd) > quietPeriod:
			b.pause = 0
		case b.pause == 0:
			b.pause = minPause
		default:
			b.pause = min(2*b.pause, maxPause)
		}
		b.roundEnd, b.cause = now.Add(b.pause), cause
		begins = b.pause > 0
	}
	if b.pause > 0 {
		b.delayedContainers++
	}
	return begins
}

// expire ends the round if it is over, and reports whether replacements waited for its end.
func (b *backoff) expire(now time.Time) bool {
	if b.delayedContainers == 0 || now.Before(b.roundEnd) {
		return false
	}
	b.delayedContainers = 0
	return true
}

// text returns a message that says until when, and why, replacements are delayed.
func (b *backoff) text() string {
	return fmt.Sprintf("containers fail repeatedly, so their replacements are asked for only at %s: %s",
		b.roundEnd.Format(time.TimeOnly), b.cause)
}
