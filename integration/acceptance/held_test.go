//go:build integration

package acceptance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
)

// waitPoint is the point at which the tasks of a held count wait for its release.
type waitPoint string

const (
	whileCounting waitPoint = "counting" // the first half of the text has been counted
	whileWriting  waitPoint = "writing"  // the first half of the part files has been written
)

// heldCount is a word count (programs/census) whose tasks wait at a waitPoint until release.
type heldCount struct {
	*submitted
	suite         *suite
	in            countedText
	waitPoint     waitPoint
	id, out, gate string // gate is the path of the file whose creation releases the count
}

// startHeldCount submits a count that waits at the given point. It has two executors unless
// flags set another number.
func (s *suite) startHeldCount(t *testing.T, in countedText, when waitPoint, flags ...string) *heldCount {
	t.Helper()
	h := &heldCount{suite: s, in: in, waitPoint: when, out: outputPath(t), gate: outputPath(t) + "-gate"}
	gates := map[waitPoint][]string{whileCounting: {h.gate}, whileWriting: {"", h.gate}}
	args := append([]string{"--num-executors", "2"}, flags...)
	h.submitted, h.id = s.submit(t, append(append(args, program("census"), "0s", in.path, h.out), gates[when]...)...)
	return h
}

// awaitWaitPoint waits until some tasks of the held stage have succeeded and two executors run
// tasks of this stage that wait for the release.
func (h *heldCount) awaitWaitPoint(t *testing.T) {
	t.Helper()
	sets := map[waitPoint]int{whileCounting: 1, whileWriting: 2}[h.waitPoint]
	h.suite.awaitStatus(t, h.id, "it is "+string(h.waitPoint), func(status page.Status) bool {
		busy := 0
		for _, executor := range status.Details {
			if executor.Running > 0 {
				busy++
			}
		}
		return len(status.TaskSets) == sets && status.TaskSets[sets-1].Done > 0 && busy >= 2
	})
}

// release creates the gate file, so that the waiting tasks continue.
func (h *heldCount) release(t *testing.T) {
	t.Helper()
	require.NoError(t, h.suite.put(t.Context(), h.gate, nil))
}

// assertCorrect waits until the count ends and checks its output.
func (h *heldCount) assertCorrect(t *testing.T) outcome {
	t.Helper()
	done := h.wait(t)
	require.Equal(t, 0, done.code)
	h.suite.assertCounts(t, h.in.words, h.out)
	return done
}
