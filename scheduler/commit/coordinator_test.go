package commit

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestFirstAttemptCommits(t *testing.T) {
	c := NewCoordinator()
	require.True(t, c.MayCommit(1, 0, 10))
	require.True(t, c.MayCommit(1, 0, 10), "again")
	require.False(t, c.MayCommit(1, 0, 11), "the first that asks")
	require.True(t, c.MayCommit(1, 1, 12), "another task")
	c.AttemptEnded(1, 0, 11, false)
	require.False(t, c.MayCommit(1, 0, 13))
	c.AttemptEnded(1, 0, 10, false)
	require.False(t, c.MayCommit(1, 0, 10), "it has ended")
	require.False(t, c.MayCommit(1, 0, 11), "it has ended")
	require.True(t, c.MayCommit(1, 0, 13))
	c.AttemptEnded(1, 0, 13, true)
	require.False(t, c.MayCommit(1, 0, 14), "the task is done")
	c.AttemptEnded(1, 0, 13, false)
	require.False(t, c.MayCommit(1, 0, 15), "it stays done")
	c.AttemptEnded(1, 2, 20, true)
	require.False(t, c.MayCommit(1, 2, 21), "done without asking")
	c.Forget(1)
	require.True(t, c.MayCommit(1, 0, 30))
}

// When an attempt of a task is allowed to commit, every attempt of the task that was allowed
// before has ended without success.
func TestOneCommitAtATime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewCoordinator()
		ended := map[uint64]bool{}
		var committer uint64
		done := false
		attempts := rapid.Uint64Range(1, 5)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			id := uint64(attempts.Draw(t, "attempt"))
			switch {
			case ended[id]:
				require.False(t, c.MayCommit(1, 0, id) && id != committer)
			case rapid.Bool().Draw(t, "ask"):
				if c.MayCommit(1, 0, id) {
					require.True(t, committer == 0 || committer == id || ended[committer], "%d commits beside %d", id, committer)
					require.False(t, done && id != committer, "a second commit")
					committer = id
				} else if !done {
					require.True(t, committer != 0 && committer != id && !ended[committer], "no attempt may commit")
				}
			default:
				ended[id] = true
				succeeded := rapid.Bool().Draw(t, "succeeded")
				c.AttemptEnded(1, 0, id, succeeded)
				done = done || succeeded
			}
		}
	})
}
