package allocator

import (
	"fmt"
	"time"
)

const (
	// minPause and maxPause are the shortest and the longest round.
	minPause = time.Second
	maxPause = 30 * time.Second
	// quietPeriod is the time without failures, after a round, that ends the growth of rounds.
	quietPeriod = time.Minute
)

// backoff delays requests for containers that replace failed ones. Other requests are not delayed.
// A container has failed if its executor ended in failure, its node refused it, or it was released
// unused. After the first failure, the replacement is requested without a delay. The next failure
// begins a round, and replacements are requested only when the round ends. A failure after that
// begins another round, which lasts twice as long, up to maxPause. After quietPeriod without a
// failure, the next failure counts as the first again.
type backoff struct {
	delayedContainers int           // number of replacements that are not requested until the round ends
	pause             time.Duration // duration of the current round
	roundEnd          time.Time     // end of the current round
	cause             string        // cause of the round's first failure
}

// failed counts a failed container. It reports whether the failure begins a round with a pause.
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

// expire checks whether the round has ended. It reports whether delayed replacements can now be
// requested.
func (b *backoff) expire(now time.Time) bool {
	if b.delayedContainers == 0 || now.Before(b.roundEnd) {
		return false
	}
	b.delayedContainers = 0
	return true
}

// text returns a message with the time until which replacements are delayed, and the reason.
func (b *backoff) text() string {
	return fmt.Sprintf("containers fail repeatedly, so their replacements are asked for only at %s: %s",
		b.roundEnd.Format(time.TimeOnly), b.cause)
}
