package executorbackend

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// registered registers a function under a unique name, and returns the name.
func registered(body function.Body) (name string) {
	name = fmt.Sprint("of a test ", rand.Uint64())
	function.Register(name, body)
	return name
}

// unkillable registers a function that ignores its context and runs until stop is
// closed.
func unkillable() (name string, stop chan struct{}) {
	stop = make(chan struct{})
	return registered(func(context.Context, function.Call) ([]byte, error) { <-stop; return []byte("late"), nil }), stop
}

func TestDecommissionBySignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan string, 1)
		s := start(t, Options{ID: "7", Host: "node", Cores: 2, Decommission: signals})
		s.send(&wire.DriverMessage{TaskSets: []*wire.TaskSet{{Id: 1, Function: "sleep"}}, Launches: []*wire.Launch{launch(1, "10s")}})
		signals <- "power fails"
		require.Equal(t, "power fails", s.decommissionRequest())
		require.Equal(t, wire.TaskState_TASK_STATE_FINISHED, s.update().GetState(), "running tasks are finished")
		s.send(&wire.DriverMessage{Decommission: &wire.Decommission{Reason: "power fails"}, Stop: &wire.Stop{Reason: "power fails"}})
		err := <-s.served
		require.Equal(t, ExitDecommissioned, ExitCode(err))
		require.EqualError(t, err, "executor 7 left: power fails")
		s.cancel()
	})
}

func TestDecommissionByTheDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		s.send(&wire.DriverMessage{Decommission: &wire.Decommission{Reason: "its node goes", DeadlineMillis: time.Now().UnixMilli()}})
		s.stop()
	})
}

// decommissionRequest returns the reason in the executor's next decommission request.
func (s *scripted) decommissionRequest() string {
	for {
		message := s.recv()
		require.Empty(s.t, updatesOf(message), "the request is sent first")
		if request := message.GetDecommission(); request != nil {
			return request.GetReason()
		}
	}
}

func TestExecutorWithAStuckTaskIsDecommissioned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name, stop := unkillable()
		s := start(t, Options{ID: "7", Host: "node", Cores: 2, replaceable: true})
		s.send(&wire.DriverMessage{
			TaskSets: []*wire.TaskSet{{Id: 1, Name: "rest", Function: "sleep"}, {Id: 2, Name: "stubborn", Function: name}},
			Launches: []*wire.Launch{launch(1, "10m"), {Attempt: 2, TaskSet: 2, Indexes: []uint32{5}, Cpus: 1}},
		})
		synctest.Wait()
		began := time.Now()
		for range 3 { // later kills do not start the timeout again
			s.send(&wire.DriverMessage{Kills: []*wire.KillTask{{Attempt: 2, Reason: "the job ended"}}})
			time.Sleep(10 * time.Second)
		}
		const reason = `task 5 of "stubborn" did not end within 1m0s though it was killed`
		require.Equal(t, reason, s.decommissionRequest())
		require.Equal(t, time.Minute, time.Since(began))
		reaped := s.update()
		require.EqualValues(t, 2, reaped.GetAttempt())
		require.Equal(t, wire.TaskState_TASK_STATE_KILLED, reaped.GetState())
		require.EqualValues(t, 1, s.update().GetAttempt(), "the other task ends normally")
		s.send(&wire.DriverMessage{Stop: &wire.Stop{Reason: reason}})
		err := <-s.served
		require.Equal(t, ExitStuckTask, ExitCode(err))
		require.EqualError(t, err, "executor 7 left: "+reason)
		s.cancel()
		close(stop)
	})
}

func TestStuckTaskThatEndsIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name, stop := unkillable()
		s := start(t, Options{ID: "7", Host: "node", Cores: 1, replaceable: true})
		s.send(&wire.DriverMessage{TaskSets: []*wire.TaskSet{{Id: 1, Function: name}}, Launches: []*wire.Launch{launch(1, "")}})
		synctest.Wait()
		s.send(&wire.DriverMessage{Kills: []*wire.KillTask{{Attempt: 1, Reason: "enough"}}})
		time.Sleep(2 * time.Minute)
		s.decommissionRequest()
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
		s.cancel()
	})
}

func TestExecutorThatIsNotReplacedOnlyLogsAStuckTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name, stop := unkillable()
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
		require.Equal(t, wire.TaskState_TASK_STATE_FINISHED, s.update().GetState(), "its end is reported")
		s.stop()
	})
}

func TestExecutorIsDecommissionedWhenItsDiskIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := filepath.Join(t.TempDir(), "container")
		require.NoError(t, os.Mkdir(disk, 0o700))
		s := start(t, Options{ID: "7", Host: "node", Cores: 2, replaceable: true, directory: disk})
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		left, err := os.ReadDir(disk)
		require.NoError(t, err)
		require.Empty(t, left)
		require.NoError(t, os.Remove(disk))
		require.Contains(t, s.decommissionRequest(), "it cannot write to its working directory: ")
		s.send(&wire.DriverMessage{Stop: &wire.Stop{}})
		require.Equal(t, ExitLostDisk, ExitCode(<-s.served))
		s.cancel()
	})
}

func TestExecutorWithoutADiskDoesNotRegister(t *testing.T) {
	err := Run(t.Context(), Options{ID: "7", directory: filepath.Join(t.TempDir(), "missing")}, "127.0.0.1:1", nil)
	require.Equal(t, ExitLostDisk, ExitCode(err))
	require.ErrorContains(t, err, "executor 7 cannot write to its working directory")
}
