//go:build integration

package standalone

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
)

// driverStatus returns the status of the site's only driver, as the leader reports it. It
// returns the zero value if there is not exactly one driver.
func (s *site) driverStatus(t *testing.T) cluster.DriverStatus {
	status := s.status(t)
	if all := append(status.Drivers, status.EndedDrivers...); len(all) == 1 {
		return all[0]
	}
	return cluster.DriverStatus{}
}

// submitHeld submits an application in cluster mode whose task runs until release, and waits
// until its executor has registered.
func (s *site) submitHeld(t *testing.T, flags ...string) heldApplication {
	t.Helper()
	dir := t.TempDir()
	h := heldApplication{tasksFile: filepath.Join(dir, "tasks"), driverFile: filepath.Join(dir, "driver")}
	arguments := append([]string{"submit", "--master", s.url(), "--deploy-mode", "cluster", "--num-executors", "1"}, flags...)
	h.application = s.submit(t, append(arguments, program("trouble"), "hold", "1", h.tasksFile, h.driverFile)...)
	s.awaitExecutors(t, 1)
	return h
}

// assertServesPages checks that the URLs that yarn-submit and the master show lead to the pages
// of a running driver's application, that it serves metrics, and that it can be profiled.
func (s *site) assertServesPages(t *testing.T, id string) {
	t.Helper()
	pages := s.onlyApplication(t).WebURL
	assert.Equal(t, pages, s.driverStatus(t).WebURL)
	for path, says := range map[string]string{"": "trouble", "?page=executors": "127.0.0.1", "metrics": "\nbobbin_executors{state=\"running\"} 1\n"} {
		await(t, pages+path+" says "+says, func() bool { // a page may be up to half a second old
			answer, err := http.Get(pages + path)
			require.NoError(t, err)
			content, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			return strings.Contains(string(content), says)
		})
	}
	status := s.submit(t, "status", "--master", s.url(), id)
	require.Zero(t, status.wait(t, testTimeout), "%s", status.stderr.text())
	assert.Contains(t, status.stdout.text(), pages)
	file := filepath.Join(t.TempDir(), "heap.pb.gz")
	profiled := s.submit(t, "profile", "--master", s.url(), "--type", "heap", "-o", file, id)
	require.Zero(t, profiled.wait(t, testTimeout), "%s", profiled.stderr.text())
	assert.FileExists(t, file)
}

func TestDriverInTheCluster(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, nil)
	s.startMasters(t)
	s.startWorker(t, 3)
	out := filepath.Join(t.TempDir(), "sum")
	logs, report := t.TempDir(), filepath.Join(t.TempDir(), "report.html")
	submitted := s.submit(t, "submit", "--master", s.url(), "--num-executors", "2", "--conf", "eventLog.dir=file://"+logs, "--report", report, program("tally"), "1s", "3", out)
	require.Zero(t, submitted.wait(t, testTimeout), "%s", submitted.stderr.text())
	sum, err := os.ReadFile(out)
	require.NoError(t, err)
	assert.Equal(t, sumOfSquares(3), string(sum))
	assert.Equal(t, "FINISHED", s.driverStatus(t).State)
	written, err := os.ReadFile(report)
	require.NoError(t, err, "%s", submitted.stderr.text())
	assert.Contains(t, string(written), "3 of 3 tasks done")
	assert.Regexp(t, `\n  tasks      3 in 1 task set\n(.*\n)*  executors  2\n`, submitted.stderr.text())
	assert.Regexp(t, `(?m)^  cost most  idle cores`, submitted.stderr.text(), "one of two executors ran one of three tasks")
}

// TestSupervisedDriver kills a supervised driver's process, then its worker, and then stops the
// next worker. The driver must be restarted each time, and finally succeed.
func TestSupervisedDriver(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, map[string]string{"recovery.mode": "FILESYSTEM", "recovery.directory": filepath.Join(t.TempDir(), "state")})
	s.startMasters(t)
	s.startWorker(t, 3)
	s.awaitWorkers(t, 1)
	h := s.submitHeld(t, "--supervise")

	first := s.drivers()
	require.Len(t, first, 1)
	first[0].kill()
	await(t, "the driver runs again", func() bool {
		now := s.drivers()
		return len(now) == 1 && now[0].pid != first[0].pid
	})
	s.awaitExecutors(t, 1)

	s.startWorker(t, 3)
	s.awaitWorkers(t, 2)
	second := s.drivers()
	require.Len(t, second, 1)
	s.workers[0].kill(t)
	await(t, "the driver runs on the other worker", func() bool {
		now := s.drivers()
		return len(now) == 1 && now[0].pid != second[0].pid
	})
	s.awaitExecutors(t, 1)

	s.workers[0].start(t)
	s.awaitWorkers(t, 2)
	second = s.drivers()
	require.Len(t, second, 1)
	s.workers[1].stop(t)
	await(t, "the driver runs on the worker that has come back", func() bool {
		now := s.drivers()
		return len(now) == 1 && now[0].pid != second[0].pid
	})
	s.awaitExecutors(t, 1)

	// A restart of the master must not restart the driver.
	third := s.drivers()
	s.masters[0].kill(t)
	s.masters[0].start(t)
	await(t, "the master knows the driver", func() bool { return s.driverStatus(t).State == "RUNNING" && s.aliveWorkers(t) == 1 })
	assert.Equal(t, pids(third), pids(s.drivers()))
	h.release(t)
	await(t, "the driver is over", func() bool { return s.driverStatus(t).State == "FINISHED" })
}

func TestUnsupervisedDriverIsNotRestarted(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, nil)
	s.startMasters(t)
	s.startWorker(t, 3)
	h := s.submitHeld(t)
	s.drivers()[0].kill()
	assert.Equal(t, 1, h.wait(t, testTimeout), "%s", h.stderr.text())
	await(t, "no executor outlives its driver", func() bool { return len(s.executors()) == 0 && s.status(t).CoresUsed == 0 })
	assert.Equal(t, "FAILED", s.driverStatus(t).State)
	assert.Contains(t, s.driverStatus(t).Text, "killed")
}

// TestDriverIsKilledByRequest kills a supervised driver by `yarn-submit kill`. The driver must
// not be restarted.
func TestDriverIsKilledByRequest(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, nil)
	s.startMasters(t)
	s.startWorker(t, 3)
	h := s.submitHeld(t, "--supervise")
	s.assertServesPages(t, s.driverStatus(t).ID)
	await(t, "yarn-submit prints the address of the pages", func() bool {
		return strings.Contains(h.stderr.text(), "\npages: "+s.onlyApplication(t).WebURL+"\n")
	})
	killed := s.submit(t, "kill", "--master", s.url(), s.driverStatus(t).ID)
	require.Zero(t, killed.wait(t, testTimeout), "%s", killed.stderr.text())
	assert.Equal(t, 1, h.wait(t, testTimeout), "%s", h.stderr.text())
	await(t, "nothing runs any more", func() bool {
		return len(s.executors())+len(s.drivers()) == 0 && s.status(t).CoresUsed == 0
	})
	assert.Equal(t, "KILLED", s.driverStatus(t).State)
}

// TestDriverOutlivesItsMaster kills the leader while a driver runs. yarn-submit must follow the
// driver to its end at the other master.
func TestDriverOutlivesItsMaster(t *testing.T) {
	t.Parallel()
	s, _ := newSiteWithEtcd(t, 2)
	s.startMasters(t)
	old := s.awaitLeader(t, -1)
	s.startWorker(t, 3)
	s.awaitWorkers(t, 1)
	h := s.submitHeld(t)
	running := pids(s.drivers())
	s.masters[old].kill(t)
	s.awaitLeader(t, old)
	await(t, "the new leader has the driver", func() bool { return strings.HasPrefix(s.driverStatus(t).State, "RUNNING") && s.aliveWorkers(t) == 1 })
	assert.Equal(t, running, pids(s.drivers()))
	h.release(t)
}
