package executorbackend

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func ahead(attempt uint64, input string) *wire.LaunchTask {
	l := launch(attempt, input)
	l.Ahead = true
	return l
}

func TestWhatWasSentAheadComesBackWhereItHasToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ID: "1", Host: "node", Cores: 1})
		began := time.Now()
		s.send(&wire.DriverMessage{TaskSets: sets("sleep"), Launches: []*wire.LaunchTask{
			launch(1, "1s"), ahead(2, "1s"), launch(3, "1s"), ahead(4, "1s"),
		}})
		returned := s.recv().GetUpdates()
		require.Equal(t, minPatience, time.Since(began))
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

func TestWhatWasSentAheadRunsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ID: "1", Host: "node", Cores: 1})
		launches := []*wire.LaunchTask{launch(1, "15ms")}
		for attempt := range uint64(3) {
			launches = append(launches, ahead(2+attempt, "3ms"))
		}
		s.send(&wire.DriverMessage{TaskSets: sets("sleep"), Launches: launches})
		const finished, returned = wire.TaskState_TASK_STATE_FINISHED, wire.TaskState_TASK_STATE_RETURNED
		for _, expected := range []struct {
			attempt uint64
			state   wire.TaskState
		}{{1, finished}, {2, finished}, {4, returned}, {3, finished}} { // the third had begun when its time was up
			update := s.update()
			require.Equal(t, expected.attempt, update.GetAttempt())
			require.Equal(t, expected.state, update.GetState())
		}
		s.stop()
	})
}

func TestOneThatWasSentAheadCanBeKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ID: "1", Host: "node", Cores: 1})
		s.send(&wire.DriverMessage{TaskSets: sets("wait"), Launches: []*wire.LaunchTask{launch(1, ""), ahead(2, "")}})
		s.send(&wire.DriverMessage{Kills: []*wire.KillTask{{Attempt: 2, Reason: "enough"}}})
		update := s.update()
		require.Equal(t, wire.TaskState_TASK_STATE_KILLED, update.GetState())
		require.Equal(t, uint64(2), update.GetAttempt())
		s.stop()
	})
}
