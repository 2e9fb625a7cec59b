package worker

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

const driver = "driver-1"

func terminate(t *testing.T, pid int) { require.NoError(t, syscall.Kill(pid, syscall.SIGTERM)) }

// driverOf returns the order to launch a driver with arguments for act.
func (m *testMaster) driverOf(launched uint32, supervise bool, arguments ...string) *protocol.WorkerOrder {
	return &protocol.WorkerOrder{LaunchDrivers: []*protocol.LaunchDriver{{
		DriverId: driver, Launch: launched,
		Description: &protocol.DriverDescription{
			Name: "driver", User: "ann", Program: m.program(), Arguments: arguments, Cores: 1, Memory: 256 << 20, Supervise: supervise,
			Environment: map[string]string{"TEST_NOTES": os.Getenv("TEST_NOTES")},
			Properties: map[string]string{
				"executor.memory": "2g", "master": "bobbin://of.the.submission", "authenticate.secretFile": "/where/it/was/submitted", "submit.deployMode": "cluster",
			},
		},
	}}}
}

func TestADriverGetsTheClustersSettings(t *testing.T) {
	m := startMaster(t)
	w := startWorker(t, nil, m)
	s := m.attached()
	order := m.driverOf(1, false, "environment")
	order.LaunchDrivers[0].Description.Credentials = []byte("delegation tokens")
	s.order(order)
	report := s.driver(protocol.DriverState_DRIVER_FINISHED)
	require.Equal(t, uint32(1), report.GetLaunch())
	var entries []string
	require.NoError(t, json.Unmarshal([]byte(w.file(driver, "1", "logs", "stdout")), &entries))
	has := map[string]string{}
	for _, entry := range entries {
		name, value, _ := strings.Cut(entry, "=")
		has[name] = value
	}
	require.Equal(t, driver, has[launch.EnvDriverID])
	require.NotContains(t, has, launch.EnvRole)
	require.Equal(t, filepath.Join(w.directory, driver, "1", "secret", "credentials"), has[security.TokenFileVariable])
	properties := map[string]string{}
	require.NoError(t, json.Unmarshal([]byte(has[launch.EnvProperties]), &properties))
	require.Equal(t, map[string]string{
		"executor.memory": "2g", "master": "bobbin://" + m.address, "submit.deployMode": "client", "driver.host": "127.0.0.1",
		"authenticate.secretFile": filepath.Join(w.directory, driver, "1", "secret", "secret"),
	}, properties)
	_, err := config.FromMap(properties)
	require.NoError(t, err)
}

func TestReportsOfDriverEnds(t *testing.T) {
	for _, test := range []struct {
		arguments []string
		state     protocol.DriverState
		code      int32
		text      string
	}{
		{[]string{"exit", "0"}, protocol.DriverState_DRIVER_FINISHED, 0, ""},
		{[]string{"exit", "3"}, protocol.DriverState_DRIVER_FAILED, 3, "exited with status 3"},
		{[]string{"crash"}, protocol.DriverState_DRIVER_FAILED, -9, "was ended by signal 9 (killed)"},
	} {
		m := startMaster(t)
		startWorker(t, nil, m)
		s := m.attached()
		s.order(m.driverOf(1, false, test.arguments...))
		report := s.driver(test.state)
		require.Equal(t, test.code, report.GetExitCode())
		require.Equal(t, test.text, report.GetText())
		require.Nil(t, report.GetDescription(), "which only a hello has")
	}
}

func TestDriversOfAStoppingWorkerAreLost(t *testing.T) {
	directory := notes(t)
	m := startMaster(t)
	w := startWorker(t, nil, m)
	s := m.attached()
	s.order(m.driverOf(1, true, "crash at its end"))
	handle(t, directory, "process")
	s.driver(protocol.DriverState_DRIVER_RUNNING)
	w.stop()
	// The master must learn that the worker accepts no launches before it receives the report
	// of a driver's end, because it might launch the driver on this worker again.
	s.await(func(message *protocol.WorkerMessage) bool {
		require.Empty(t, message.GetReport().GetDrivers())
		return message.GetDecommissioning().GetReason() == errStopped.Error()
	})
	require.Equal(t, errStopped.Error(), s.driver(protocol.DriverState_DRIVER_LOST).GetText())
	s.await(func(m *protocol.WorkerMessage) bool { return m.GetUnregister() != nil })
	require.NoError(t, w.end())
}

func TestEndsOfStoppedDrivers(t *testing.T) {
	for _, test := range []struct {
		cause, failure error
		code           int
		want           protocol.DriverState
	}{
		{errKilled, nil, 1, protocol.DriverState_DRIVER_KILLED},
		{errStopped, nil, 1, protocol.DriverState_DRIVER_LOST},
		{errDeadline, nil, -9, protocol.DriverState_DRIVER_LOST},
		{errStopped, errors.New("no time to start"), 0, protocol.DriverState_DRIVER_LOST},
		{errStopped, nil, 0, protocol.DriverState_DRIVER_FINISHED}, // exit status 0 shows that the driver has completed its work
	} {
		state, _, _ := driverEnding(test.cause, ending{code: test.code}, test.failure)
		require.Equal(t, test.want, state, test)
	}
}

func TestASupervisedDriverIsRestarted(t *testing.T) {
	m := startMaster(t)
	w := startWorker(t, nil, m)
	s := m.attached()
	// The driver fails in the first run, and finds its own file in the second run.
	order := m.driverOf(1, true, "once", filepath.Join(t.TempDir(), "been here"))
	s.order(order)
	status := s.await(func(m *protocol.WorkerMessage) bool {
		drivers := m.GetReport().GetDrivers()
		return len(drivers) == 1 && drivers[0].GetText() != ""
	}).GetReport().GetDrivers()[0]
	require.Equal(t, protocol.DriverState_DRIVER_RUNNING, status.GetState())
	require.Equal(t, "it exited with status 1, and is started again after 1s", status.GetText())
	s.driver(protocol.DriverState_DRIVER_FINISHED)
	require.Equal(t, "first\nsecond\n", w.file(driver, "1", "logs", "stdout"), "logs go on")
}

func TestADriverIsKilledAndLaunchedAgain(t *testing.T) {
	directory := notes(t)
	m := startMaster(t)
	startWorker(t, nil, m)
	s := m.attached()
	s.order(m.driverOf(1, true, "wait"))
	first, _ := handle(t, directory, "process")
	s.driver(protocol.DriverState_DRIVER_RUNNING)
	require.NoError(t, os.Remove(filepath.Join(directory, "process")))

	s.order(m.driverOf(2, true, "wait"))
	require.True(t, hasEnded(t, first, timeout), "a later launch ends the earlier one")
	second, _ := handle(t, directory, "process")
	s.order(&protocol.WorkerOrder{KillDrivers: []*protocol.KillDriver{{DriverId: driver, Launch: 1}}}) // ignored, because launch 1 has ended
	require.Equal(t, uint32(2), s.driver(protocol.DriverState_DRIVER_RUNNING).GetLaunch())
	close(s.orders)
	s = m.attached()
	require.Len(t, s.hello.GetDrivers(), 1)
	require.Equal(t, uint32(2), s.hello.GetDrivers()[0].GetLaunch())
	require.Equal(t, "driver", s.hello.GetDrivers()[0].GetDescription().GetName(), "a master that knows nothing can take it over")

	s.order(&protocol.WorkerOrder{KillDrivers: []*protocol.KillDriver{{DriverId: driver}}})
	s.driver(protocol.DriverState_DRIVER_KILLED)
	require.True(t, hasEnded(t, second, 0))
	s.order(&protocol.WorkerOrder{KillDrivers: []*protocol.KillDriver{{DriverId: "unknown", Launch: 3}}})
	unknown := s.driver(protocol.DriverState_DRIVER_ERROR)
	require.Equal(t, "unknown", unknown.GetDriverId())
	require.Equal(t, uint32(3), unknown.GetLaunch())
}

// failing returns a function that runs a driver, which fails after the next one of the
// durations.
func failing(after ...time.Duration) func() (ending, error) {
	return func() (ending, error) {
		if len(after) == 0 {
			return ending{}, nil
		}
		time.Sleep(after[0]) // on the fake clock of synctest
		after = after[1:]
		return ending{code: 1}, nil
	}
}

func TestRestartsAreDelayedMoreAndMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pauses []time.Duration
		note := func(_ ending, pause time.Duration) { pauses = append(pauses, pause) }
		began := time.Now()
		e, err := supervise(t.Context(), true, failing(0, time.Second, time.Second, 6*time.Second, 0, 0, 0, 0, 0, 0, 0), note)
		require.NoError(t, err)
		require.Zero(t, e.code)
		const s = time.Second
		require.Equal(t, []time.Duration{s, 2 * s, 4 * s, s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s}, pauses)
		require.Equal(t, 198*s, time.Since(began))
	})
}

func TestOnlyFailedSupervisedDriversAreRestarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := func(ending, time.Duration) { t.Error("it is started again") }
		e, err := supervise(t.Context(), false, failing(0), never)
		require.NoError(t, err)
		require.Equal(t, 1, e.code)
		_, err = supervise(t.Context(), true, func() (ending, error) { return ending{}, errors.New("no program") }, never)
		require.ErrorContains(t, err, "no program")

		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		e, err = supervise(ctx, true, failing(0), func(ending, time.Duration) { cancel() })
		require.NoError(t, err)
		require.Equal(t, 1, e.code)
		require.Zero(t, time.Since(began), "one that is to end is not waited for")
	})
}
