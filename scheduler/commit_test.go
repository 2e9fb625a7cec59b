package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCommits(t *testing.T) {
	c := NewCommits()
	require.True(t, c.Ask(1, 0, 10))
	require.True(t, c.Ask(1, 0, 10), "again")
	require.False(t, c.Ask(1, 0, 11), "the first that asks")
	require.True(t, c.Ask(1, 1, 12), "another task")
	c.Ended(1, 0, 11, false)
	require.False(t, c.Ask(1, 0, 13))
	c.Ended(1, 0, 10, false)
	require.False(t, c.Ask(1, 0, 10), "it has ended")
	require.False(t, c.Ask(1, 0, 11), "it has ended")
	require.True(t, c.Ask(1, 0, 13))
	c.Ended(1, 0, 13, true)
	require.False(t, c.Ask(1, 0, 14), "the task is done")
	c.Ended(1, 0, 13, false)
	require.False(t, c.Ask(1, 0, 15), "it stays done")
	c.Ended(1, 2, 20, true)
	require.False(t, c.Ask(1, 2, 21), "done without asking")
	c.Forget(1)
	require.True(t, c.Ask(1, 0, 30))
}

// Of all attempts of a task that were allowed to commit, each but the last ended
// without success before the next was allowed to.
func TestOneCommitAtATime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewCommits()
		ended := map[AttemptID]bool{}
		var holder AttemptID
		done := false
		attempts := rapid.Uint64Range(1, 5)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			id := AttemptID(attempts.Draw(t, "attempt"))
			switch {
			case ended[id]:
				require.False(t, c.Ask(1, 0, id) && id != holder)
			case rapid.Bool().Draw(t, "ask"):
				if c.Ask(1, 0, id) {
					require.True(t, holder == 0 || holder == id || ended[holder], "%d commits beside %d", id, holder)
					require.False(t, done && id != holder, "a second commit")
					holder = id
				} else if !done {
					require.True(t, holder != 0 && holder != id && !ended[holder], "nobody commits")
				}
			default:
				ended[id] = true
				succeeded := rapid.Bool().Draw(t, "succeeded")
				c.Ended(1, 0, id, succeeded)
				done = done || succeeded
			}
		}
	})
}
