//go:build integration

package standalone

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/text"
	"github.com/bobbin-yarn/bobbin/internal/proptest"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
	"github.com/bobbin-yarn/bobbin/standalone/recovery/etcdtest"
	"github.com/bobbin-yarn/bobbin/storage"
)

const (
	chaosSeeds  = 1
	chaosRounds = 12 // number of faults in each run
	// chaosRoundsVariable is an environment variable that overrides chaosRounds.
	chaosRoundsVariable = "BOBBIN_CHAOS_ROUNDS"

	chaosMasters = 2
	chaosWorkers = 4
	chaosCores   = 3 // cores of each worker
	// chaosApplications is the number of applications that run at the same time.
	chaosApplications = 3
	// chaosTimeout is the time within which an application must end after the last fault.
	chaosTimeout = 3 * time.Minute

	// chaosTaskFailures and chaosRetries are the defaults of the settings task.maxFailures and
	// deploy.maxExecutorRetries.
	chaosTaskFailures = 4
	chaosRetries      = 10
)

// Texts in the errors of applications that have exceeded a limit.
var (
	taskLimit     = fmt.Sprintf("failed %d times", chaosTaskFailures)
	executorLimit = "executors have failed one after the other"
)

// TestChaos runs applications on a standalone cluster. At random times, it kills and stops
// masters, workers, executors, drivers and the store with the masters' state, and decommissions
// workers. Each application must succeed, or fail because of a limit that the faults may have
// exceeded. No process may be left. A seed makes the random choices repeatable.
func TestChaos(t *testing.T) {
	t.Parallel()
	rounds := proptest.Number(t, chaosRoundsVariable, chaosRounds)
	proptest.Seeds(t, chaosSeeds, "go test -tags integration -run 'TestChaos$' ./integration/standalone", func(t *testing.T, seed uint64) {
		newChaos(t, seed).run(int(rounds))
	})
}

// chaos is one run of TestChaos.
type chaos struct {
	*site
	t      *testing.T
	random *rand.Rand
	etcd   *etcdtest.Server
	began  time.Time
	faults faultCounts // faults so far

	textFile     string           // path of a text
	wordCounts   map[string]int64 // expected counts of the text's words
	files        *storage.Files
	applications []*chaosApplication
}

// faultCounts counts the faults that can make tasks and executors fail.
type faultCounts struct {
	stopped int // faults that stop executors
	killed  int // killed executors
}

// chaosApplication is an application with its expected outcome.
type chaosApplication struct {
	*application
	inCluster bool         // the driver runs on a worker; the process only follows the driver
	limit     string       // text of the limit that the application must exceed; "" for none
	before    faultCounts  // counts when the application started
	after     *faultCounts // counts when the application had ended; nil until recordEnded sets it
	check     func()       // checks the output if the application has succeeded
}

// assertOutcome checks the application's exit code and error. A fault that stops executors
// makes each task fail at most once: if an executor is lost together with its worker, the loss
// counts as a task failure only if no master reports the worker's loss in time. A killed
// executor counts towards the limit of executor failures, because it may not have registered.
func (w *chaosApplication) assertOutcome(t *testing.T, code int) {
	t.Helper()
	said := w.lastLine()
	switch {
	case w.limit != "":
		assert.Equal(t, 1, code, "exit code of %s\n%s", w.name, w.stderr.text())
		assert.Contains(t, said, w.limit, "%s", w.name)
	case code == 0, w.inCluster && code == exitUnreachable: // no master may be running while yarn-submit follows the driver
		w.check()
	case w.after.stopped-w.before.stopped >= chaosTaskFailures && strings.Contains(said, taskLimit):
	case w.after.killed-w.before.killed >= chaosRetries && strings.Contains(said, executorLimit):
	default:
		assert.Fail(t, "an application failed", "exit code %d of %s, with %+v done before it and %+v when it ended\n%s",
			code, w.name, w.before, *w.after, w.stderr.text())
	}
}

// exitUnreachable is yarn-submit's exit code if it can reach no master.
const exitUnreachable = 3

func newChaos(t *testing.T, seed uint64) *chaos {
	server := etcdtest.Start(t)
	c := &chaos{
		t: t, random: rand.New(rand.NewPCG(seed, 7)), etcd: server, began: time.Now(), files: storage.New(storage.Options{}),
		site: newSite(t, chaosMasters, map[string]string{
			"recovery.mode": "ETCD", "recovery.etcd.endpoints": server.Endpoint, "recovery.etcd.lease": "2s", "worker.timeout": "6s", "worker.decommissionTimeout": "5s",
		}),
	}
	t.Cleanup(func() { assert.NoError(t, c.files.Close()) })
	c.textFile = filepath.Join(t.TempDir(), "in")
	content := []byte(strings.Repeat("what goes wrong here is to be counted right all the same\n", 40_000))
	require.NoError(t, os.WriteFile(c.textFile, content, 0o644))
	c.wordCounts = text.Count(content)
	return c
}

func (c *chaos) logf(format string, arguments ...any) {
	c.t.Logf("%6.1f s: %s", time.Since(c.began).Seconds(), fmt.Sprintf(format, arguments...))
}

func (c *chaos) run(rounds int) {
	t := c.t
	c.startMasters(t)
	for range chaosWorkers {
		c.startWorker(t, chaosCores)
	}
	c.awaitWorkers(t, chaosWorkers)
	for range rounds {
		c.startApplications()
		c.injectFault()
		c.recordEnded()
		time.Sleep(time.Duration(c.random.IntN(3000)) * time.Millisecond)
		c.restart(false)
	}
	c.restart(true)
	for _, w := range c.applications {
		w.wait(t, chaosTimeout)
	}
	c.recordEnded()
	awaitFor(t, chaosTimeout, "no executor and no driver is left", func() bool { return len(c.executors())+len(c.drivers()) == 0 })
	for _, w := range c.applications {
		w.assertOutcome(t, w.command.ProcessState.ExitCode())
	}
	await(t, "nothing is taken, and all workers are there", func() bool {
		status := c.tryStatus(t)
		return status.Phase == cluster.PhaseAlive && status.CoresUsed == 0 && status.MemoryUsed == 0 && len(status.Applications) == 0 &&
			len(status.Drivers) == 0 && c.aliveWorkers(t) == chaosWorkers
	})
}

// startApplications starts applications until chaosApplications of them run.
func (c *chaos) startApplications() {
	running := 0
	for _, w := range c.applications {
		if w.alive() {
			running++
		}
	}
	for ; running < chaosApplications; running++ {
		number := len(c.applications)
		switch c.random.IntN(5) {
		case 0:
			c.countWords(number)
		case 1:
			c.addUp(number)
		case 2:
			c.addUpInTheCluster(number)
		case 3:
			c.failTasks(number)
		case 4:
			c.failExecutors(number)
		}
	}
}

// add adds an application that has just been started.
func (c *chaos) add(w chaosApplication) {
	w.before = c.faults
	c.applications = append(c.applications, &w)
}

// recordEnded stores the current fault counts for applications that have ended since its last
// call.
func (c *chaos) recordEnded() {
	for _, w := range c.applications {
		if w.after == nil && !w.alive() {
			after := c.faults
			w.after = &after
		}
	}
}

// failTasks starts an application whose tasks always fail.
func (c *chaos) failTasks(number int) {
	a := c.site.run(c.t, map[string]string{"executor.instances": "2"}, "trouble", "task-error", "it is no use")
	c.logf("application %d has a task that fails", number)
	c.add(chaosApplication{application: a, limit: taskLimit})
}

// failExecutors starts an application whose executors exit before they register.
func (c *chaos) failExecutors(number int) {
	a := c.submit(c.t, "submit", "--master", c.url(), "--deploy-mode", "client", "--conf", "driver.host=127.0.0.1", "--num-executors", "2",
		"--conf", "executorEnv.TROUBLE_BAD_NODE=here", "--conf", "executorEnv.NM_HOST=here", program("trouble"), "succeed", "2")
	c.logf("application %d has executors that do not start", number)
	c.add(chaosApplication{application: a, limit: executorLimit})
}

func (c *chaos) countWords(number int) {
	out := filepath.Join(c.directory, fmt.Sprintf("words-%d", number))
	settings := map[string]string{"executor.instances": itoa(1 + c.random.IntN(3))}
	a := c.site.run(c.t, settings, "census", "1500ms", c.textFile, out)
	c.logf("application %d counts words with %s executors", number, settings["executor.instances"])
	c.add(chaosApplication{application: a, check: func() {
		counts, err := text.ReadCounts(c.t.Context(), c.files, out)
		if assert.NoError(c.t, err) {
			assert.Empty(c.t, text.Difference(c.wordCounts, counts), "%s", a.name)
		}
	}})
}

func (c *chaos) addUp(number int) {
	tasks := 5 + c.random.IntN(40)
	settings := map[string]string{"executor.instances": "6", "cores.max": itoa(1 + c.random.IntN(4))}
	if c.random.IntN(2) == 0 {
		settings["executor.instances"] = "0"
		settings["dynamicAllocation.enabled"], settings["dynamicAllocation.executorIdleTimeout"] = "true", "500ms"
	}
	a := c.site.run(c.t, settings, "tally", "1s", itoa(tasks))
	c.logf("application %d adds up %d numbers with %s cores, executors from the beginning: %s", number, tasks, settings["cores.max"], settings["executor.instances"])
	c.add(chaosApplication{application: a, check: func() { assert.Equal(c.t, sumOfSquares(tasks), a.stdout.text(), "%s", a.name) }})
}

// addUpInTheCluster starts an application whose supervised driver runs on a worker, where it
// can be killed as well.
func (c *chaos) addUpInTheCluster(number int) {
	tasks := 5 + c.random.IntN(20)
	out := filepath.Join(c.directory, fmt.Sprintf("sum-%d", number))
	a := c.submit(c.t, "submit", "--master", c.url(), "--deploy-mode", "cluster", "--supervise", "--num-executors", "2",
		program("tally"), "1s", itoa(tasks), out)
	c.logf("application %d adds up %d numbers in the cluster", number, tasks)
	c.add(chaosApplication{application: a, inCluster: true, check: func() {
		sum, err := os.ReadFile(out)
		if a.stdout.text() == "" && errors.Is(err, fs.ErrNotExist) {
			return // no master was up to accept the driver
		}
		if assert.NoError(c.t, err, "%s", a.name) {
			assert.Equal(c.t, sumOfSquares(tasks), string(sum), "%s", a.name)
		}
	}})
}

func (c *chaos) injectFault() {
	t := c.t
	master, worker := c.masters[c.random.IntN(len(c.masters))], c.workers[c.random.IntN(len(c.workers))]
	switch c.random.IntN(10) {
	case 0:
		c.logf("%s is killed", master.name)
		master.kill(t)
	case 1:
		for _, m := range c.masters {
			c.logf("%s is killed", m.name)
			m.kill(t)
		}
	case 2:
		pause := time.Duration(500+c.random.IntN(4000)) * time.Millisecond
		c.logf("%s hangs for %v", master.name, pause)
		master.signal(t, syscall.SIGSTOP)
		time.Sleep(pause)
		master.signal(t, syscall.SIGCONT)
	case 3:
		c.logf("%s is killed", worker.name)
		c.faults.stopped++
		worker.kill(t)
	case 4:
		c.logf("%s is stopped", worker.name)
		c.faults.stopped++
		worker.stop(t)
	case 5:
		pause := time.Duration(500+c.random.IntN(8000)) * time.Millisecond
		c.logf("%s hangs for %v", worker.name, pause)
		worker.signal(t, syscall.SIGSTOP)
		time.Sleep(pause)
		worker.signal(t, syscall.SIGCONT)
	case 6:
		c.faults.stopped++
		c.faults.killed += c.killSome("executor", c.executors())
	case 7:
		c.killSome("driver", c.drivers())
	case 8:
		c.logf("etcd is killed, and starts again")
		c.etcd.Kill()
		time.Sleep(time.Duration(c.random.IntN(3000)) * time.Millisecond)
		c.etcd.Run(t)
	case 9:
		c.logf("%s is decommissioned", worker.name)
		c.faults.stopped++
		worker.decommission(t)
	}
}

// killSome kills one or all of the processes and returns the number of killed processes. what
// describes the processes in the log.
func (c *chaos) killSome(what string, all []process) (killed int) {
	if len(all) == 0 {
		return 0
	}
	one := c.random.IntN(len(all))
	every := c.random.IntN(4) == 0
	for i, p := range all {
		if i == one || every {
			c.logf("%s %d is killed", what, p.pid)
			p.kill()
			killed++
		}
	}
	return killed
}

// restart restarts daemons that have ended: all of them, or a random half.
func (c *chaos) restart(all bool) {
	for _, d := range slices.Concat(c.masters, c.workers) {
		if all && d.decommissioned {
			d.awaitEnd(c.t)
		}
		if !d.alive() && (all || c.random.IntN(2) == 0) {
			c.logf("%s starts", d.name)
			d.start(c.t)
		}
	}
}
