//go:build integration

package standalone

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/text"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
	"github.com/bobbin-yarn/bobbin/standalone/recovery/etcdtest"
	"github.com/bobbin-yarn/bobbin/storage"
)

const (
	// chaosSeedsVariable names the number of seeds to run, chaosSeedVariable one
	// seed to run alone, and chaosRoundsVariable how much goes wrong in each.
	chaosSeedsVariable  = "BOBBIN_CHAOS_SEEDS"
	chaosSeedVariable   = "BOBBIN_CHAOS_SEED"
	chaosRoundsVariable = "BOBBIN_CHAOS_ROUNDS"
	chaosSeeds          = 1
	chaosRounds         = 12

	chaosMasters = 2
	chaosWorkers = 4
	chaosCores   = 3 // of each worker
	// chaosApplications are there at a time.
	chaosApplications = 3
	// chaosPatience is how long an application may take once nothing goes wrong any
	// more.
	chaosPatience = 3 * time.Minute

	// chaosTaskFailures and chaosRetries are the defaults of task.maxFailures and
	// deploy.maxExecutorRetries, which hold here too.
	chaosTaskFailures = 4
	chaosRetries      = 10
)

// How an application ends that has come to a limit.
var (
	taskLimit     = fmt.Sprintf("failed %d times", chaosTaskFailures)
	executorLimit = "executors have failed one after the other"
)

func chaosNumber(t *testing.T, variable string, fallback uint64) uint64 {
	t.Helper()
	text, ok := os.LookupEnv(variable)
	if !ok {
		return fallback
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, variable)
	return n
}

// TestChaos kills and stops masters, workers, executors, drivers and the store
// at random, and decommissions workers, by seeds, while applications run. Whatever
// happens, each ends right, or by a limit that it must come to or may have come
// to, and no process is left.
func TestChaos(t *testing.T) {
	first, count := uint64(1), chaosNumber(t, chaosSeedsVariable, chaosSeeds)
	if one := chaosNumber(t, chaosSeedVariable, 0); one > 0 {
		first, count = one, 1
	}
	for seed := first; seed < first+count; seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("to see it again: %s=%d go test -tags integration -run 'TestChaos$' ./integration/standalone", chaosSeedVariable, seed)
				}
			}()
			newChaos(t, seed).run(int(chaosNumber(t, chaosRoundsVariable, chaosRounds)))
		})
	}
}

// chaos is one run.
type chaos struct {
	*site
	t      *testing.T
	random *rand.Rand
	etcd   *etcdtest.Server
	began  time.Time
	harm   harm // so far

	in    string           // a text
	words map[string]int64 // its words
	files *storage.Files
	works []*work
}

// harm is what may count as failures of tasks and of executors.
type harm struct {
	mishaps int // that ended executors
	killed  int // executors
}

// work is an application.
type work struct {
	*application
	inCluster bool   // its driver is; the application is who follows it
	limit     string // that must end it; "" for none
	before    harm   // that was done when it began
	after     *harm  // that was done when it had ended; nil before it was seen to have
	check     func() // what it has left, where it ended right
}

// judge looks how it ended. Each mishap fails a task once at the most, and a
// killed executor is one that may not have registered. The loss of an executor
// that a worker took with it is no task's failure, unless no master is there to
// say so in time; so it may be one.
func (w *work) judge(t *testing.T, code int) {
	t.Helper()
	said := w.lastLine()
	switch {
	case w.limit != "":
		assert.Equal(t, 1, code, "exit code of %s\n%s", w.name, w.stderr.text())
		assert.Contains(t, said, w.limit, "%s", w.name)
	case code == 0, w.inCluster && code == exitUnreachable: // who follows a driver may lose sight of it, the masters being away
		w.check()
	case w.after.mishaps-w.before.mishaps >= chaosTaskFailures && strings.Contains(said, taskLimit):
	case w.after.killed-w.before.killed >= chaosRetries && strings.Contains(said, executorLimit):
	default:
		assert.Fail(t, "an application failed", "exit code %d of %s, with %+v done before it and %+v when it ended\n%s",
			code, w.name, w.before, *w.after, w.stderr.text())
	}
}

// exitUnreachable is yarn-submit's exit code where no master can be reached.
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
	c.in = filepath.Join(t.TempDir(), "in")
	content := []byte(strings.Repeat("what goes wrong here is to be counted right all the same\n", 40_000))
	require.NoError(t, os.WriteFile(c.in, content, 0o644))
	c.words = text.Count(content)
	return c
}

// note tells what happens, and when.
func (c *chaos) note(format string, arguments ...any) {
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
		c.employ()
		c.mishap()
		c.look()
		time.Sleep(time.Duration(c.random.IntN(3000)) * time.Millisecond)
		c.repair(false)
	}
	c.repair(true)
	for _, w := range c.works {
		w.wait(t, chaosPatience)
	}
	c.look()
	awaitFor(t, chaosPatience, "no executor and no driver is left", func() bool { return len(c.executors())+len(c.drivers()) == 0 })
	for _, w := range c.works {
		w.judge(t, w.command.ProcessState.ExitCode())
	}
	await(t, "nothing is taken, and all workers are there", func() bool {
		status := c.glance(t)
		return status.Phase == cluster.Alive && status.CoresUsed == 0 && status.MemoryUsed == 0 && len(status.Applications) == 0 &&
			len(status.Drivers) == 0 && c.aliveWorkers(t) == chaosWorkers
	})
}

// employ starts applications until there are enough that run.
func (c *chaos) employ() {
	running := 0
	for _, w := range c.works {
		if w.alive() {
			running++
		}
	}
	for ; running < chaosApplications; running++ {
		number := len(c.works)
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

// begin takes note of an application that has begun.
func (c *chaos) begin(w work) {
	w.before = c.harm
	c.works = append(c.works, &w)
}

// look takes note of what was done to applications that have ended.
func (c *chaos) look() {
	for _, w := range c.works {
		if w.after == nil && !w.alive() {
			after := c.harm
			w.after = &after
		}
	}
}

// failTasks has tasks that fail however often they are tried.
func (c *chaos) failTasks(number int) {
	a := c.site.run(c.t, map[string]string{"executor.instances": "2"}, "trouble", "task-error", "it is no use")
	c.note("application %d has a task that fails", number)
	c.begin(work{application: a, limit: taskLimit})
}

// failExecutors has executors that end before they register.
func (c *chaos) failExecutors(number int) {
	a := c.submit(c.t, "submit", "--master", c.url(), "--deploy-mode", "client", "--conf", "driver.host=127.0.0.1", "--num-executors", "2",
		"--conf", "executorEnv.TROUBLE_BAD_NODE=here", "--conf", "executorEnv.NM_HOST=here", program("trouble"), "succeed", "2")
	c.note("application %d has executors that do not start", number)
	c.begin(work{application: a, limit: executorLimit})
}

func (c *chaos) countWords(number int) {
	out := filepath.Join(c.directory, fmt.Sprintf("words-%d", number))
	settings := map[string]string{"executor.instances": itoa(1 + c.random.IntN(3))}
	a := c.site.run(c.t, settings, "census", "1500ms", c.in, out)
	c.note("application %d counts words with %s executors", number, settings["executor.instances"])
	c.begin(work{application: a, check: func() {
		counts, err := text.ReadCounts(c.t.Context(), c.files, out)
		if assert.NoError(c.t, err) {
			assert.Empty(c.t, text.Difference(c.words, counts), "%s", a.name)
		}
	}})
}

func (c *chaos) addUp(number int) {
	tasks := 5 + c.random.IntN(40)
	settings := map[string]string{"executor.instances": "6", "cores.max": itoa(1 + c.random.IntN(4))}
	if c.random.IntN(2) == 0 { // executors come and go with the work
		settings["executor.instances"] = "0"
		settings["dynamicAllocation.enabled"], settings["dynamicAllocation.executorIdleTimeout"] = "true", "500ms"
	}
	a := c.site.run(c.t, settings, "tally", "1s", itoa(tasks))
	c.note("application %d adds up %d numbers with %s cores, executors from the beginning: %s", number, tasks, settings["cores.max"], settings["executor.instances"])
	c.begin(work{application: a, check: func() { assert.Equal(c.t, sumOfSquares(tasks), a.stdout.text(), "%s", a.name) }})
}

// addUpInTheCluster has a supervised driver, which may be killed too.
func (c *chaos) addUpInTheCluster(number int) {
	tasks := 5 + c.random.IntN(20)
	out := filepath.Join(c.directory, fmt.Sprintf("sum-%d", number))
	a := c.submit(c.t, "submit", "--master", c.url(), "--deploy-mode", "cluster", "--supervise", "--num-executors", "2",
		program("tally"), "1s", itoa(tasks), out)
	c.note("application %d adds up %d numbers in the cluster", number, tasks)
	c.begin(work{application: a, inCluster: true, check: func() {
		sum, err := os.ReadFile(out)
		if assert.NoError(c.t, err, "%s", a.name) {
			assert.Equal(c.t, sumOfSquares(tasks), string(sum), "%s", a.name)
		}
	}})
}

// mishap has one thing go wrong.
func (c *chaos) mishap() {
	t := c.t
	master, worker := c.masters[c.random.IntN(len(c.masters))], c.workers[c.random.IntN(len(c.workers))]
	switch c.random.IntN(10) {
	case 0:
		c.note("%s is killed", master.name)
		master.kill(t)
	case 1:
		for _, m := range c.masters {
			c.note("%s is killed", m.name)
			m.kill(t)
		}
	case 2:
		pause := time.Duration(500+c.random.IntN(4000)) * time.Millisecond
		c.note("%s hangs for %v", master.name, pause)
		master.signal(t, syscall.SIGSTOP)
		time.Sleep(pause)
		master.signal(t, syscall.SIGCONT)
	case 3:
		c.note("%s is killed", worker.name)
		c.harm.mishaps++
		worker.kill(t)
	case 4:
		c.note("%s is stopped", worker.name)
		c.harm.mishaps++
		worker.stop(t)
	case 5:
		pause := time.Duration(500+c.random.IntN(8000)) * time.Millisecond
		c.note("%s hangs for %v", worker.name, pause)
		worker.signal(t, syscall.SIGSTOP)
		time.Sleep(pause)
		worker.signal(t, syscall.SIGCONT)
	case 6:
		c.harm.mishaps++
		c.harm.killed += c.killSome("executor", c.executors())
	case 7:
		c.killSome("driver", c.drivers())
	case 8:
		c.note("etcd is killed, and starts again")
		c.etcd.Kill()
		time.Sleep(time.Duration(c.random.IntN(3000)) * time.Millisecond)
		c.etcd.Run(t)
	case 9:
		c.note("%s is decommissioned", worker.name)
		c.harm.mishaps++
		worker.decommission(t)
	}
}

// killSome kills one of the processes, or all of them, and returns how many.
func (c *chaos) killSome(what string, all []process) (killed int) {
	if len(all) == 0 {
		return 0
	}
	one := c.random.IntN(len(all))
	every := c.random.IntN(4) == 0
	for i, p := range all {
		if i == one || every {
			c.note("%s %d is killed", what, p.pid)
			p.kill()
			killed++
		}
	}
	return killed
}

// repair starts again what has ended: all of it, or some.
func (c *chaos) repair(all bool) {
	for _, d := range slices.Concat(c.masters, c.workers) {
		if all && d.leaving {
			d.awaitEnd(c.t)
		}
		if !d.alive() && (all || c.random.IntN(2) == 0) {
			c.note("%s starts", d.name)
			d.start(c.t)
		}
	}
}
