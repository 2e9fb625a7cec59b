package am

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// tally counts how executors have ended, and says when too many have failed.
type tally struct {
	most     int           // executor.maxNumFailures
	validity time.Duration // executor.failuresValidityInterval; 0 for ever
	tolerate int           // executor.failures.tolerateWhenRunning; 0 for never

	failed  int         // executors, those that count
	recent  []time.Time // when they failed, the oldest first; kept only where they age
	last    string      // what was said of the last
	reasons map[string]*FailureCount
	// tolerating says that the application goes on only as enough executors run.
	tolerating bool
}

// tooManyFailures ends an application whose executors fail again and again.
type tooManyFailures struct{ error }

// count notes an executor's end.
func (t *tally) count(v verdict, text string, now time.Time) {
	if t.reasons == nil {
		t.reasons = map[string]*FailureCount{}
	}
	reason := t.reasons[v.reason]
	if reason == nil {
		reason = &FailureCount{Reason: v.reason, Counts: v.failure}
		t.reasons[v.reason] = reason
	}
	reason.Count++
	reason.Last = text
	if !v.failure {
		return
	}
	t.failed++
	t.last = text
	if t.validity > 0 {
		t.recent = append(t.recent, now)
	}
}

// counting is how many failures count towards the most that may be.
func (t *tally) counting(now time.Time) int {
	if t.validity == 0 {
		return t.failed
	}
	old := 0
	for old < len(t.recent) && now.Sub(t.recent[old]) > t.validity {
		old++
	}
	t.recent = slices.Delete(t.recent, 0, old)
	return len(t.recent)
}

// exhausted is the reason to give up, once too many executors have failed and
// not enough are running to go on.
func (t *tally) exhausted(running int, now time.Time) error {
	failed := t.counting(now)
	t.tolerating = failed >= t.most && t.tolerate > 0 && running >= t.tolerate
	if failed < t.most || t.tolerating {
		return nil
	}
	within := ""
	if t.validity > 0 {
		within = fmt.Sprintf(" within %v", t.validity)
	}
	enough := ""
	if t.tolerate > 0 {
		enough = fmt.Sprintf(", %d are running and executor.failures.tolerateWhenRunning is %d", running, t.tolerate)
	}
	return &tooManyFailures{fmt.Errorf("%d executors failed%s, executor.maxNumFailures is %d%s; the last: %s", failed, within, t.most, enough, t.last)}
}

// notices say what the counts do not.
func (t *tally) notices() []string {
	if !t.tolerating {
		return nil
	}
	return []string{fmt.Sprintf("executor.maxNumFailures (%d) is reached; the application goes on while %d executors run (executor.failures.tolerateWhenRunning)",
		t.most, t.tolerate)}
}

// list is the counts in the reasons' order.
func (t *tally) list() []FailureCount {
	listed := make([]FailureCount, 0, len(t.reasons))
	for _, reason := range slices.SortedFunc(maps.Values(t.reasons), func(a, b *FailureCount) int { return cmp.Compare(a.Reason, b.Reason) }) {
		listed = append(listed, *reason)
	}
	return listed
}
