package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPauseOfANodeDoesNotMakeShortTasksLong(t *testing.T) {
	const ahead = time.Millisecond
	p := pace{}
	for range 10_000 {
		p.add(time.Microsecond, ahead)
	}
	for range 10 {
		p.add(20*time.Millisecond, ahead)
	}
	require.Less(t, p.mean(), 3*time.Microsecond)
	for range 10_000 {
		p.add(time.Microsecond, ahead)
	}
	require.InDelta(t, time.Microsecond, p.mean(), 100)

	long := 0
	for ; p.mean() <= ahead; long++ {
		p.add(time.Second, ahead)
	}
	require.LessOrEqual(t, long, 100, "tasks that have become long are noticed")
}
