//go:build integration

package standalone

import (
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
)

// TestWorkerIsKilled kills a worker. Its executors must end, and must be replaced on another
// worker.
func TestWorkerIsKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, nil)
	s.startMasters(t)
	doomed := s.startWorker(t, 2)
	s.awaitWorkers(t, 1)
	h, before := s.startHeld(t, 2, nil)
	s.startWorker(t, 2)
	s.awaitWorkers(t, 2)

	doomed.kill(t)
	await(t, "the executors of the worker have ended", func() bool {
		now := pids(s.executors())
		return !slices.Contains(now, before[0].pid) && !slices.Contains(now, before[1].pid)
	})
	s.awaitExecutors(t, 2)
	h.release(t)
	await(t, "the worker is dead, and nothing is taken", func() bool {
		status := s.tryStatus(t)
		return s.aliveWorkers(t) == 1 && status.CoresUsed == 0 && len(status.Workers) == 2
	})
	doomed.start(t)
	s.awaitWorkers(t, 2)
}

// TestExecutorsOfAStoppedWorkerAreReplaced stops a worker. The master must replace its
// executors at once.
func TestExecutorsOfAStoppedWorkerAreReplaced(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, nil)
	s.startMasters(t)
	leaving := s.startWorker(t, 2)
	s.awaitWorkers(t, 1)
	h, _ := s.startHeld(t, 2, nil)
	s.startWorker(t, 2)
	s.awaitWorkers(t, 2)
	leaving.stop(t)
	s.awaitExecutors(t, 2)
	h.release(t)
}

// TestExecutorsOfAHangingWorkerAreReplaced pauses a worker for longer than worker.timeout, so
// that its executors are replaced. When the worker continues, it must stop its old executors.
func TestExecutorsOfAHangingWorkerAreReplaced(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, map[string]string{"worker.timeout": "4s"})
	s.startMasters(t)
	hanging := s.startWorker(t, 2)
	s.awaitWorkers(t, 1)
	h, before := s.startHeld(t, 1, nil)
	lost := s.onlyApplication(t).Executors[0].ID
	s.startWorker(t, 2)
	s.awaitWorkers(t, 2)

	hanging.signal(t, syscall.SIGSTOP)
	await(t, "the worker counts as dead, and its executor is replaced", func() bool {
		status := s.tryStatus(t)
		return len(status.Applications) == 1 && len(status.Applications[0].Executors) == 1 &&
			status.Applications[0].Executors[0].ID != lost && status.Applications[0].Executors[0].Registered
	})
	hanging.signal(t, syscall.SIGCONT)
	s.awaitWorkers(t, 2)
	await(t, "the lost executor has ended", func() bool {
		now := pids(s.executors())
		return len(now) == 1 && !slices.Contains(now, before[0].pid)
	})
	h.release(t)
}

// TestKilledExecutorsAreReplacedWithoutALimit kills registered executors more often than
// deploy.maxExecutorRetries, which limits only failures before an executor registers.
func TestKilledExecutorsAreReplacedWithoutALimit(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, map[string]string{"deploy.maxExecutorRetries": "3"})
	s.startMasters(t)
	s.startWorker(t, 2)
	h, _ := s.startHeld(t, 2, map[string]string{"task.maxFailures": "100"})
	for range 6 {
		doomed := s.executors()[0]
		doomed.kill()
		await(t, "the executor has ended", func() bool { return !slices.Contains(pids(s.executors()), doomed.pid) })
		s.awaitExecutors(t, 2)
	}
	h.release(t)
}

// TestAnApplicationFailsIfItsExecutorsNeverStart checks that an application fails, with the
// reason, if its executors exit before they register.
func TestAnApplicationFailsIfItsExecutorsNeverStart(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, map[string]string{"deploy.maxExecutorRetries": "3"})
	s.startMasters(t)
	s.startWorker(t, 2)
	app := s.submit(t, "submit", "--master", s.url(), "--deploy-mode", "client", "--conf", "driver.host=127.0.0.1",
		"--conf", "executorEnv.TROUBLE_BAD_NODE=here", "--conf", "executorEnv.NM_HOST=here", program("trouble"), "succeed", "2")
	require.Equal(t, 1, app.wait(t, testTimeout))
	assert.Contains(t, app.lastLine(), "executors have failed one after the other")
	assert.Equal(t, cluster.ApplicationFailed, s.status(t).EndedApplications[0].State)
}
