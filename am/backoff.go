package am

import (
	"fmt"
	"time"
)

const (
	// firstPause and lastPause are the shortest and the longest pause before
	// containers that came to nothing are asked for again.
	firstPause = time.Second
	lastPause  = 30 * time.Second
	// quietTime is how long no container must come to nothing after a pause for the
	// next one to be asked for again at once.
	quietTime = time.Minute
)

// backoff slows down the asking for containers that come to nothing: they are
// given back, refused by their node, or end in failure, whatever the cause. The
// first are asked for again at once. While others follow, each round of them is
// held back for twice as long as the one before. The rounds in any time are so
// bounded, and what is wanted besides is asked for as ever.
type backoff struct {
	held  int           // containers that are not asked for until the pause is over
	pause time.Duration // of this round
	until time.Time     // when the round ends
	cause string        // what happened to the round's first container
}

// failed notes a container that came to nothing, and reports whether it begins
// a pause.
func (b *backoff) failed(cause string, now time.Time) (begins bool) {
	if now.After(b.until) {
		switch {
		case now.Sub(b.until) > quietTime:
			b.pause = 0
		case b.pause == 0:
			b.pause = firstPause
		default:
			b.pause = min(2*b.pause, lastPause)
		}
		b.until, b.cause = now.Add(b.pause), cause
		begins = b.pause > 0
	}
	if b.pause > 0 {
		b.held++
	}
	return begins
}

// over ends the round whose time has come, and reports whether containers may
// be asked for that were held back.
func (b *backoff) over(now time.Time) bool {
	if b.held == 0 || now.Before(b.until) {
		return false
	}
	b.held = 0
	return true
}

// text says why and until when containers are held back.
func (b *backoff) text() string {
	return fmt.Sprintf("containers come to nothing one after the other, so others are asked for in their place only at %s: %s",
		b.until.Format(time.TimeOnly), b.cause)
}
