package executorbackend

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// registered makes a function known under a name that no test has used.
func registered(body function.Body) (name string) {
	name = fmt.Sprint("of a test ", rand.Uint64())
	function.Register(name, body)
	return name
}

// deaf is a function that runs until stop is closed, whatever its context says.
func deaf() (name string, stop chan struct{}) {
	stop = make(chan struct{})
	return registered(func(context.Context, function.Call) ([]byte, error) { <-stop; return []byte("late"), nil }), stop
}

func TestASignalDecommissions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan string, 1)
		s := start(t, Options{ID: "7", Host: "node", Cores: 2, Decommission: signals})
		s.send(&wire.DriverMessage{TaskSets: []*wire.TaskSet{{Id: 1, Function: "sleep"}}, Launches: []*wire.Launch{launch(1, "10s")}})
		signals <- "power fails"
		require.Equal(t, "power fails", s.wish())
		require.Equal(t, wire.TaskState_TASK_STATE_FINISHED, s.update().GetState(), "what runs is finished")
		s.send(&wire.DriverMessage{Decommission: &wire.Decommission{Reason: "power fails"}, Stop: &wire.Stop{Reason: "power fails"}})
		err := <-s.served
		require.Equal(t, ExitDecommissioned, ExitCode(err))
		require.EqualError(t, err, "executor 7 left: power fails")
		s.leave()
	})
}

func TestDecommissionByTheDriverEndsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		s.send(&wire.DriverMessage{Decommission: &wire.Decommission{Reason: "its node goes", DeadlineMillis: time.Now().UnixMilli()}})
		s.stop()
	})
}

// wish is why the executor wants to leave.
func (s *scripted) wish() string {
	for {
		message := s.recv()
		require.Empty(s.t, updatesOf(message), "the driver hears of the wish first")
		if wish := message.GetDecommission(); wish != nil {
			return wish.GetReason()
		}
	}
}

func TestATaskThatCannotBeKilledCostsItsExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name, stop := deaf()
		s := start(t, Options{ID: "7", Host: "node", Cores: 2, replaceable: true})
		s.send(&wire.DriverMessage{
			TaskSets: []*wire.TaskSet{{Id: 1, Name: "rest", Function: "sleep"}, {Id: 2, Name: "stubborn", Function: name}},
			Launches: []*wire.Launch{launch(1, "10m"), {Attempt: 2, TaskSet: 2, Indexes: []uint32{5}, Cpus: 1}},
		})
		synctest.Wait()
		began := time.Now()
		for range 3 { // said more than once, it counts from the first time
			s.send(&wire.DriverMessage{Kills: []*wire.KillTask{{Attempt: 2, Reason: "the job ended"}}})
			time.Sleep(10 * time.Second)
		}
		const reason = `task 5 of "stubborn" did not end within 1m0s though it was killed`
		require.Equal(t, reason, s.wish())
		require.Equal(t, time.Minute, time.Since(began))
		given := s.update()
		require.EqualValues(t, 2, given.GetAttempt())
		require.Equal(t, wire.TaskState_TASK_STATE_KILLED, given.GetState())
		require.EqualValues(t, 1, s.update().GetAttempt(), "the other goes on to its end")
		s.send(&wire.DriverMessage{Stop: &wire.Stop{Reason: reason}})
		err := <-s.served
		require.Equal(t, ExitStuckTask, ExitCode(err))
		require.EqualError(t, err, "executor 7 left: "+reason)
		s.leave()
		close(stop)
	})
}

func TestATaskThatEndsLateAfterAllIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name, stop := deaf()
		s := start(t, Options{ID: "7", Host: "node", Cores: 1, replaceable: true})
		s.send(&wire.DriverMessage{TaskSets: []*wire.TaskSet{{Id: 1, Function: name}}, Launches: []*wire.Launch{launch(1, "")}})
		synctest.Wait()
		s.send(&wire.DriverMessage{Kills: []*wire.KillTask{{Attempt: 1, Reason: "enough"}}})
		time.Sleep(2 * time.Minute)
		s.wish()
		require.Equal(t, wire.TaskState_TASK_STATE_KILLED, s.update().GetState())
		close(stop)
		time.Sleep(time.Second)
		s.send(&wire.DriverMessage{Stop: &wire.Stop{}})
		require.Equal(t, ExitStuckTask, ExitCode(<-s.served))
		for {
			message, err := s.stream.Recv()
			if err != nil {
				break
			}
			require.Empty(t, updatesOf(message))
		}
		s.leave()
	})
}

func TestWhereNobodyWouldComeInItsPlaceAnExecutorStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name, stop := deaf()
		var log bytes.Buffer
		s := start(t, Options{ID: "driver", Host: "localhost", Cores: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		s.send(&wire.DriverMessage{TaskSets: []*wire.TaskSet{{Id: 1, Name: "stubborn", Function: name}},
			Launches: []*wire.Launch{launch(1, "")}})
		synctest.Wait()
		s.send(&wire.DriverMessage{Kills: []*wire.KillTask{{Attempt: 1, Reason: "enough"}}})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Contains(t, log.String(), "a task does not end though it was killed")
		require.Contains(t, log.String(), "taskSet=stubborn")
		close(stop)
		require.Equal(t, wire.TaskState_TASK_STATE_FINISHED, s.update().GetState(), "its end is told when it comes")
		s.stop()
	})
}
