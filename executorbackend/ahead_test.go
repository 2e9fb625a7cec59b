package executorbackend

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func ahead(attempt uint64, input string) *wire.Launch {
	l := launch(attempt, input)
	l.Ahead = true
	return l
}

func TestWhatWasSentAheadComesBackWhereItHasToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ID: "1", Host: "node", Cores: 1})
		began := time.Now()
		s.send(&wire.DriverMessage{TaskSets: sets("sleep"), Launches: []*wire.Launch{
			launch(1, "1s"), ahead(2, "1s"), launch(3, "1s"), ahead(4, "1s"),
		}})
		returned := updatesOf(s.recv())
		require.Equal(t, minPatience, time.Since(began), "no other was started for so long")
		require.Len(t, returned, 2)
		for i, update := range returned {
			require.Equal(t, wire.TaskState_TASK_STATE_RETURNED, update.GetState())
			require.Equal(t, uint64(2+2*i), update.GetAttempt())
		}
		for _, attempt := range []uint64{1, 3} {
			update := s.update()
			require.Equal(t, attempt, update.GetAttempt())
			require.Equal(t, wire.TaskState_TASK_STATE_FINISHED, update.GetState())
		}
		require.Equal(t, 2*time.Second, time.Since(began))
		s.stop()
	})
}

func TestWhatWasSentAheadStaysWhileOthersStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ID: "1", Host: "node", Cores: 1})
		launches := []*wire.Launch{launch(1, "60ms")}
		for attempt := range uint64(9) {
			launches = append(launches, ahead(2+attempt, "60ms"))
		}
		s.send(&wire.DriverMessage{TaskSets: sets("sleep"), Launches: append(launches, ahead(11, "1s"), ahead(12, "1s"))})
		for attempt := range uint64(10) {
			update := s.update()
			require.Equal(t, 1+attempt, update.GetAttempt())
			require.Equal(t, wire.TaskState_TASK_STATE_FINISHED, update.GetState())
		}
		update := s.update()
		require.Equal(t, uint64(12), update.GetAttempt(), "the one before it runs on")
		require.Equal(t, wire.TaskState_TASK_STATE_RETURNED, update.GetState())
		require.Equal(t, uint64(11), s.update().GetAttempt())
		s.stop()
	})
}

func TestUpdatesOfShortTasksLeaveTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ID: "1", Host: "node", Cores: 1})
		launches := []*wire.Launch{launch(1, "1us")}
		const part = 2000
		for attempt := range uint64(part - 1) {
			launches = append(launches, ahead(2+attempt, "1us"))
		}
		s.send(&wire.DriverMessage{TaskSets: sets("sleep"), Launches: append(launches, ahead(10*part, "1s"))})
		began := time.Now()
		require.Len(t, updatesOf(s.recv()), part/2, "half of what was waiting has run: the driver may send more")
		require.Less(t, time.Since(began), batchWait)
		require.Len(t, updatesOf(s.recv()), part/2, "none is kept back by the long task behind them")
		require.Less(t, time.Since(began), 2*batchWait)
		s.stop()
	})
}

func TestUpdatesOfVeryManyTasksDoNotWaitForAllOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ID: "1", Host: "node", Cores: 1})
		launches := []*wire.Launch{launch(1, "100ns")}
		for attempt := range uint64(2 * batch) {
			l := ahead(2+attempt, "100ns")
			l.Last = true
			launches = append(launches, l)
		}
		s.send(&wire.DriverMessage{TaskSets: sets("sleep"), Launches: launches})
		require.Len(t, updatesOf(s.recv()), batch)
		require.Len(t, updatesOf(s.recv()), batch)
		require.Len(t, updatesOf(s.recv()), 1)
		s.stop()
	})
}

func TestLargeResultsOfShortTasksTakeSeveralMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const part, size = 10, wire.MaxPart / 3
		s := start(t, Options{ID: "1", Host: "node", Cores: 1})
		launches := []*wire.Launch{launch(1, fmt.Sprint(size))}
		for attempt := range uint64(part - 1) {
			l := ahead(2+attempt, fmt.Sprint(size))
			l.Last = true
			launches = append(launches, l)
		}
		s.send(&wire.DriverMessage{TaskSets: sets("size"), Launches: launches})
		next := uint64(1)
		for next <= part {
			carried := 0
			for _, update := range updatesOf(s.recv()) {
				require.Equal(t, next, update.GetAttempt())
				require.True(t, bytes.Equal(pattern(size), update.GetResult()))
				carried += len(update.GetResult())
				next++
			}
			require.LessOrEqual(t, carried, wire.MaxPart)
		}
		s.stop()
	})
}

func TestTheWholePartOfAnExecutorIsToldOfAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ID: "1", Host: "node", Cores: 1})
		for round := range uint64(3) {
			launches := []*wire.Launch{launch(100*round, "1us")}
			for i := range uint64(50) {
				l := ahead(100*round+1+i, "1us")
				l.Last = true
				launches = append(launches, l)
			}
			began := time.Now()
			s.send(&wire.DriverMessage{TaskSets: sets("sleep"), Launches: launches})
			require.Len(t, updatesOf(s.recv()), 51)
			require.Equal(t, 51*time.Microsecond, time.Since(began))
			time.Sleep(2 * batchWait) // a timer that finds nothing to send changes nothing
		}
		s.stop()
	})
}

func TestWhatWasSentAheadIsCalledBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ID: "1", Host: "node", Cores: 1})
		s.send(&wire.DriverMessage{TaskSets: sets("sleep"), Launches: []*wire.Launch{
			launch(1, "50ms"), ahead(2, "50ms"), ahead(3, "50ms"), ahead(4, "50ms"),
		}})
		for attempt := range uint64(2) {
			require.Equal(t, 1+attempt, s.update().GetAttempt())
		}
		s.send(&wire.DriverMessage{CallBacks: []uint64{1, 3, 4, 77}})
		returned := s.update()
		require.Equal(t, uint64(4), returned.GetAttempt(), "the third has begun")
		require.Equal(t, wire.TaskState_TASK_STATE_RETURNED, returned.GetState())
		finished := s.update()
		require.Equal(t, uint64(3), finished.GetAttempt())
		require.Equal(t, wire.TaskState_TASK_STATE_FINISHED, finished.GetState())
		s.stop()
	})
}

func TestOneThatWasSentAheadCanBeKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ID: "1", Host: "node", Cores: 1})
		s.send(&wire.DriverMessage{TaskSets: sets("wait"), Launches: []*wire.Launch{launch(1, ""), ahead(2, "")}})
		s.send(&wire.DriverMessage{Kills: []*wire.KillTask{{Attempt: 2, Reason: "enough"}}})
		update := s.update()
		require.Equal(t, wire.TaskState_TASK_STATE_KILLED, update.GetState())
		require.Equal(t, uint64(2), update.GetAttempt())
		s.stop()
	})
}
