//go:build integration

package acceptance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
)

// moment is the point at which a count waits.
type moment string

const (
	counting moment = "counting" // the first half of the text is counted
	writing  moment = "writing"  // the first half of the parts is written
)

// held is a count of a text's words (programs/census) that waits at a moment for a release.
type held struct {
	*submitted
	suite         *suite
	in            corpus
	when          moment
	id, out, gate string // gate is the file that releases it
}

// hold submits a count that waits at a moment, with two executors unless flags change that.
func (s *suite) hold(t *testing.T, in corpus, when moment, flags ...string) *held {
	t.Helper()
	h := &held{suite: s, in: in, when: when, out: output(t), gate: output(t) + "-gate"}
	gates := map[moment][]string{counting: {h.gate}, writing: {"", h.gate}}
	args := append([]string{"--num-executors", "2"}, flags...)
	h.submitted, h.id = s.submit(t, append(append(args, program("census"), "0s", in.path, h.out), gates[when]...)...)
	return h
}

// awaitMoment waits until tasks have succeeded and two executors run others, which
// wait for the release.
func (h *held) awaitMoment(t *testing.T) {
	t.Helper()
	sets := map[moment]int{counting: 1, writing: 2}[h.when]
	h.suite.awaitStatus(t, h.id, "it is "+string(h.when), func(status page.Status) bool {
		busy := 0
		for _, executor := range status.Details {
			if executor.Running > 0 {
				busy++
			}
		}
		return len(status.TaskSets) == sets && status.TaskSets[sets-1].Done > 0 && busy >= 2
	})
}

// release lets the count continue.
func (h *held) release(t *testing.T) {
	t.Helper()
	require.NoError(t, h.suite.put(t.Context(), h.gate, nil))
}

// assertCorrect waits for the end of the count and checks its output.
func (h *held) assertCorrect(t *testing.T) outcome {
	t.Helper()
	done := h.wait(t)
	require.Equal(t, 0, done.code)
	h.suite.assertCounts(t, h.in.words, h.out)
	return done
}
