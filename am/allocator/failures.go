package allocator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// failureCounts counts ended executors by reason, and determines whether too many have failed.
type failureCounts struct {
	max      int           // value of executor.maxNumFailures
	validity time.Duration // value of executor.failuresValidityInterval; 0 means that failures count forever
	tolerate int           // value of executor.failures.tolerateWhenRunning; 0 means that failures are never tolerated

	total   int         // number of executors that count as failed
	recent  []time.Time // times of these failures, the oldest first; empty if validity is 0
	last    string      // message about the latest failure
	reasons map[string]*FailureCount
	// tolerating is set if max executors have failed, but the application continues because at
	// least tolerate executors are running.
	tolerating bool
}

// TooManyFailuresError is the error of [Allocator.Run] if too many executors have failed.
type TooManyFailuresError struct{ error }

// count counts an ended executor.
func (f *failureCounts) count(reason exitReason, text string, now time.Time) {
	if f.reasons == nil {
		f.reasons = map[string]*FailureCount{}
	}
	count := f.reasons[reason.text]
	if count == nil {
		count = &FailureCount{Reason: reason.text, CountsAsFailure: reason.countsAsFailure}
		f.reasons[reason.text] = count
	}
	count.Count++
	count.Last = text
	if !reason.countsAsFailure {
		return
	}
	f.total++
	f.last = text
	if f.validity > 0 {
		f.recent = append(f.recent, now)
	}
}

// recentCount returns the number of failures that still count: those that are not older than
// validity. If validity is 0, all failures count.
func (f *failureCounts) recentCount(now time.Time) int {
	if f.validity == 0 {
		return f.total
	}
	old := 0
	for old < len(f.recent) && now.Sub(f.recent[old]) > f.validity {
		old++
	}
	f.recent = slices.Delete(f.recent, 0, old)
	return len(f.recent)
}

// tooMany returns a *TooManyFailuresError if at least max executors have failed and the failures
// are not tolerated. running is the number of running executors.
func (f *failureCounts) tooMany(running int, now time.Time) error {
	failed := f.recentCount(now)
	f.tolerating = failed >= f.max && f.tolerate > 0 && running >= f.tolerate
	if failed < f.max || f.tolerating {
		return nil
	}
	within := ""
	if f.validity > 0 {
		within = fmt.Sprintf(" within %v", f.validity)
	}
	enough := ""
	if f.tolerate > 0 {
		enough = fmt.Sprintf(", %d are running and executor.failures.tolerateWhenRunning is %d", running, f.tolerate)
	}
	return &TooManyFailuresError{fmt.Errorf("%d executors failed%s, executor.maxNumFailures is %d%s; the last: %s", failed, within, f.max, enough, f.last)}
}

// notes returns a note if the application goes on in spite of too many failures, and nil otherwise.
func (f *failureCounts) notes() []string {
	if !f.tolerating {
		return nil
	}
	return []string{fmt.Sprintf("executor.maxNumFailures (%d) is reached; the application goes on while %d executors run (executor.failures.tolerateWhenRunning)",
		f.max, f.tolerate)}
}

// list returns the counts, sorted by reason.
func (f *failureCounts) list() []FailureCount {
	listed := make([]FailureCount, 0, len(f.reasons))
	for _, reason := range slices.SortedFunc(maps.Values(f.reasons), func(a, b *FailureCount) int { return cmp.Compare(a.Reason, b.Reason) }) {
		listed = append(listed, *reason)
	}
	return listed
}
