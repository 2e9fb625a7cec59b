package allocator

import (
	"fmt"
	"time"
)

const (
	// minPause and maxPause bound the pause before failed containers are asked for
	// again.
	minPause = time.Second
	maxPause = 30 * time.Second
	// quietPeriod is how long after a pause no container may fail to reset the pause:
	// then the next failed one is asked for again at once.
	quietPeriod = time.Minute
)

// backoff delays asking again for failed containers: those that were released
// unused, refused by their node, or ended in failure. The first ones are asked for
// again at once. If more fail, each round of them is held back for twice as long as
// the one before. Containers that are wanted for other reasons are not held back.
type backoff struct {
	held  int           // containers that are not asked for before the round ends
	pause time.Duration // of this round
	until time.Time     // when the round ends
	cause string        // of the round's first failure
}

// failed counts a failed container, and reports whether it begins a pause.
func (b *backoff) failed(cause string, now time.Time) (begins bool) {
	if now.After(b.until) {
		switch {
		case now.Sub(b.until) > quietPeriod:
			b.pause = 0
		case b.pause == 0:
			b.pause = minPause
		default:
			b.pause = min(2*b.pause, maxPause)
		}
		b.until, b.cause = now.Add(b.pause), cause
		begins = b.pause > 0
	}
	if b.pause > 0 {
		b.held++
	}
	return begins
}

// expire ends the round if it is time, and reports whether it had held containers
// back.
func (b *backoff) expire(now time.Time) bool {
	if b.held == 0 || now.Before(b.until) {
		return false
	}
	b.held = 0
	return true
}

// text returns until when and why containers are held back.
func (b *backoff) text() string {
	return fmt.Sprintf("containers fail repeatedly, so their replacements are asked for only at %s: %s",
		b.until.Format(time.TimeOnly), b.cause)
}
