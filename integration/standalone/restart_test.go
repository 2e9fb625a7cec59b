//go:build integration

package standalone

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
)

// heldApplication is an application whose tasks wait until release.
type heldApplication struct {
	*application
	tasksFile, driverFile string // files for which the tasks, and then the driver, wait
}

// startHeld starts an application with the given number of tasks, each on a separate executor.
// It returns when the executors have registered.
func (s *site) startHeld(t *testing.T, tasks int, settings map[string]string) (heldApplication, []process) {
	t.Helper()
	dir := t.TempDir()
	h := heldApplication{tasksFile: filepath.Join(dir, "tasks"), driverFile: filepath.Join(dir, "driver")}
	own := map[string]string{"executor.instances": itoa(tasks)}
	for key, value := range settings {
		own[key] = value
	}
	h.application = s.run(t, own, "trouble", "hold", itoa(tasks), h.tasksFile, h.driverFile)
	return h, s.awaitExecutors(t, tasks)
}

// release lets the application continue, waits until it ends, and checks that it succeeds.
func (h heldApplication) release(t *testing.T) {
	t.Helper()
	create(t, h.tasksFile)
	create(t, h.driverFile)
	require.Zero(t, h.wait(t, testTimeout), "%s", h.stderr.text())
}

// TestApplicationsContinueWhenTheMasterRestarts kills and restarts the master while an
// application runs. The application and its executors must continue.
func TestApplicationsContinueWhenTheMasterRestarts(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]map[string]string{
		"with its state in a file": {"recovery.mode": "FILESYSTEM"},
		"without any state":        {"recovery.mode": "NONE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if mode["recovery.mode"] == "FILESYSTEM" {
				mode["recovery.directory"] = filepath.Join(t.TempDir(), "state")
			}
			s := newSite(t, 1, mode)
			s.startMasters(t)
			s.startWorker(t, 2)
			s.startWorker(t, 2)
			s.awaitWorkers(t, 2)
			h, before := s.startHeld(t, 2, nil)
			known := s.onlyApplication(t)

			s.masters[0].kill(t)
			s.masters[0].start(t)
			await(t, "the master has recovered", func() bool {
				status := s.tryStatus(t)
				return status.Phase == cluster.PhaseAlive && s.aliveWorkers(t) == 2 && len(status.Applications) == 1 &&
					status.Applications[0].Connected && len(status.Applications[0].Wanted) > 0 && len(status.Applications[0].Executors) == 2
			})
			assert.ElementsMatch(t, pids(before), pids(s.executors()), "no executor was ended, and none started")
			after := s.onlyApplication(t)
			assert.Equal(t, known.ID, after.ID)
			assert.Equal(t, known.Wanted, after.Wanted)
			assert.Equal(t, executorIDs(known), executorIDs(after))
			assert.Equal(t, 2, s.status(t).CoresUsed)

			// A lost executor is replaced by an executor with a new id.
			before[0].kill()
			await(t, "the executor is replaced", func() bool {
				now := s.onlyApplication(t)
				return len(now.Executors) == 2 && now.Executors[1].ID > 2 && now.Executors[1].Registered
			})
			h.release(t)
			await(t, "the master knows that the application is over", func() bool {
				status := s.tryStatus(t)
				return len(status.Applications) == 0 && len(status.EndedApplications) == 1 && status.CoresUsed == 0
			})
			assert.Equal(t, cluster.ApplicationFinished, s.status(t).EndedApplications[0].State)
		})
	}
}

// TestApplicationEndsWhileTheMasterIsDown checks that the executors stop when their application
// ends while no master runs.
func TestApplicationEndsWhileTheMasterIsDown(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, map[string]string{
		"recovery.mode": "FILESYSTEM", "recovery.directory": filepath.Join(t.TempDir(), "state"), "deploy.recoveryTimeout": "4s",
	})
	s.startMasters(t)
	s.startWorker(t, 2)
	h, _ := s.startHeld(t, 2, nil)
	s.masters[0].kill(t)
	h.release(t)
	await(t, "no executor is left", func() bool { return len(s.executors()) == 0 })
	s.masters[0].start(t)
	await(t, "the master has noticed", func() bool {
		status := s.tryStatus(t)
		return status.Phase == cluster.PhaseAlive && len(status.Applications) == 0 && status.CoresUsed == 0 && s.aliveWorkers(t) == 1
	})
	again := s.run(t, map[string]string{"executor.instances": "2"}, "tally", "1ms", "20")
	require.Zero(t, again.wait(t, testTimeout), "%s", again.stderr.text())
	assert.Equal(t, sumOfSquares(20), again.stdout.text())
}

func TestAnApplicationWaitsForAMasterThatIsDown(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, nil)
	s.startWorker(t, 2)
	app := s.run(t, map[string]string{"executor.instances": "2"}, "tally", "1ms", "20")
	await(t, "the application says that it waits", func() bool { return len(app.stderr.text()) > 0 })
	s.startMasters(t)
	require.Zero(t, app.wait(t, testTimeout), "%s", app.stderr.text())
	assert.Equal(t, sumOfSquares(20), app.stdout.text())
}

func executorIDs(a cluster.ApplicationStatus) []int {
	ids := make([]int, len(a.Executors))
	for i, e := range a.Executors {
		ids[i] = e.ID
	}
	return ids
}
