package allocator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/launcher"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/internal/proptest"
	"github.com/bobbin-yarn/bobbin/internal/yarntest"
)

// chaosSeeds is the number of random seeds with which TestChaos runs.
const chaosSeeds = 60

// TestChaos runs the allocator on simulated clusters with random faults, once for each seed. The
// allocator must not have more containers than its target for longer than a heartbeat, must not
// leak containers, and must not launch executors on excluded nodes. It must request replacements of
// failed containers with growing pauses. The application must end with the right final status.
func TestChaos(t *testing.T) {
	proptest.Seeds(t, chaosSeeds, "go test -race -run 'TestChaos$' ./am/allocator", func(t *testing.T, seed uint64) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { newChaos(t, seed).run() })
	})
}

// chaos is one run of TestChaos.
type chaos struct {
	t         *testing.T
	random    *rand.Rand
	cluster   *yarntest.Cluster
	app       *yarntest.Application
	allocator *Allocator
	profile   profile.Profile
	excluded  string   // host that the user has excluded; "" for none
	faults    []func() // functions that end the injected faults
	most      int      // number of executors that may fail

	mu      sync.Mutex
	target  int
	failed  int                  // number of executors that were reported as failed
	missed  int                  // number of executors that ended although the driver did not kill them
	known   map[string]bool      // executors that the allocator has launched and that are not lost
	joined  map[string]bool      // known executors that have registered
	leaving map[string]bool      // executors that will be preempted or decommissioned, or that were killed
	silent  map[string]time.Time // registered executors whose processes have ended, and the times of these ends
	served  map[string]bool      // executors that were registered at any time
	owner   map[yarn.ContainerID]string
	// excess is the time since which there are more containers than the target. beats is the number
	// of heartbeats at that time.
	excess  time.Time
	beats   int
	history []string
}

// executorVariable is the environment variable with the executor's id in a simulated process.
const executorVariable = "EXECUTOR"

func newChaos(t *testing.T, seed uint64) *chaos {
	c := &chaos{
		t: t, random: rand.New(rand.NewPCG(seed, 7)), known: map[string]bool{}, joined: map[string]bool{}, leaving: map[string]bool{},
		served: map[string]bool{}, owner: map[yarn.ContainerID]string{}, silent: map[string]time.Time{},
	}
	// The order in which processes are started varies, so they have their own source of random
	// numbers.
	var processes sync.Mutex
	processRandom := rand.New(rand.NewPCG(seed, 8))
	failureRate := c.random.Float64() * 0.3
	nodes := yarntest.Nodes(3+c.random.IntN(20), 1+c.random.IntN(4), yarn.Resource{MemoryMB: 1024 * int64(2+c.random.IntN(7)), VCores: 16})
	cluster, err := yarntest.New(yarntest.Options{
		Nodes: nodes, Masters: 1 + c.random.IntN(2), Seed: seed, NodeExpiry: time.Minute, AllocationExpiry: 2 * time.Minute,
		Process: func(yarntest.Container) yarntest.Process {
			processes.Lock()
			defer processes.Unlock()
			p := yarntest.Process{Localizing: time.Duration(processRandom.IntN(5000)) * time.Millisecond}
			switch chance := processRandom.Float64(); {
			case chance < failureRate/2:
				p.Ends, p.After, p.Exit = true, time.Duration(processRandom.IntN(60))*time.Second, yarn.ExitStatus(processRandom.IntN(3))
			case chance < failureRate*0.6:
				p.Never = true
			}
			return p
		},
	})
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	c.cluster = cluster
	c.app = cluster.Submit(yarntest.Submission{})

	c.most = 1_000_000
	if c.random.IntN(3) == 0 {
		c.most = 3 + c.random.IntN(20)
	}
	properties := map[string]string{
		"executor.memory": "1g", "executor.cores": "1", "executor.maxNumFailures": strconv.Itoa(c.most), "yarn.executor.launchTimeout": "30s",
		"yarn.scheduler.reporterThread.maxFailures": "100",
		"excludeOnFailure.timeout":                  "2m", "executor.instances": "1",
	}
	if c.random.IntN(2) == 0 {
		c.excluded = nodes[0].Host
		properties["yarn.exclude.nodes"] = c.excluded
	}
	c.allocator = allocatorOn(t, cluster, c.app, properties, Options{
		LaunchContext: func(e launcher.Executor) yarn.ContainerLaunchContext {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.known[e.ID], c.owner[e.Container.ID] = true, e.ID
			return yarn.ContainerLaunchContext{Env: map[string]string{executorVariable: e.ID}, Commands: []string{"run"}}
		},
		ExecutorLost: c.lost,
		Decommission: c.decommission,
		Load:         func() map[string]int { return nil },
		Random:       rand.New(rand.NewPCG(seed, 9)),
	})
	c.profile = c.allocator.state.profiles[0].Profile
	return c
}

// lost implements Options.ExecutorLost.
func (c *chaos) lost(id string, loss driver.Loss) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if loss.CountsAsFailure {
		c.failed++
	}
	if !c.leaving[id] {
		c.missed++
	}
	delete(c.known, id)
	delete(c.joined, id)
	delete(c.silent, id)
}

// decommission implements Options.Decommission. It kills the executors some time later.
func (c *chaos) decommission(ids []string, _ driver.DecommissionNotice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		c.leaving[id] = true
	}
	time.AfterFunc(5*time.Second, func() { c.allocator.KillExecutors(ids) })
}

// check fails the test if there are more containers than the target for too long. It runs after
// every change.
func (c *chaos) check(v yarntest.View) {
	c.mu.Lock()
	defer c.mu.Unlock()
	beats := v.Heartbeats(c.app.ID())
	excess := v.LiveCount(c.app.ID()) - c.target
	var staying []string
	if excess > 0 {
		live := slices.DeleteFunc(v.Live(c.app.ID()), func(k yarntest.Container) bool { return c.leaving[c.owner[k.ID]] })
		excess = len(live) - c.target
		if !c.excess.IsZero() && time.Since(c.excess) > chaosTimeout {
			for _, k := range live {
				staying = append(staying, fmt.Sprintf("%v %s for %v, executor %q on %s", k.ID, k.State, time.Since(k.AcquiredAt), c.owner[k.ID], k.Host))
			}
		}
	}
	switch {
	case excess <= 0:
		c.excess = time.Time{}
	case c.excess.IsZero():
		c.excess, c.beats = time.Now(), beats
	case time.Since(c.excess) > chaosTimeout && beats > c.beats+2:
		c.t.Errorf("%d containers more than the %d wanted are held for %v and %d heartbeats:\n%s",
			excess, c.target, time.Since(c.excess), beats-c.beats, strings.Join(staying, "\n"))
		c.excess = time.Time{}
	}
}

// chaosTimeout is two heartbeats at the default interval, plus the time in which the simulated
// driver kills surplus executors.
const chaosTimeout = 2*3*time.Second + chaosStep

// run injects faults for some time, then ends them and checks that the target is reached.
func (c *chaos) run() {
	t := c.t
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- c.allocator.Run(ctx)
		close(ended)
	}()
	defer func() { // ends the goroutines of the synctest bubble even if the test fails
		stop()
		if t.Failed() {
			<-ended
			t.Log("what happened: ", c.history)
		}
	}()
	unwatch := c.cluster.Watch(c.check)
	defer unwatch()
	c.want(c.random.IntN(c.capacity() + 1))
	for range 10 + c.random.IntN(20) {
		c.injectFault()
		c.live(time.Duration(1+c.random.IntN(40)) * time.Second)
		select {
		case err := <-ended:
			c.end(err)
			return
		default:
		}
		if t.Failed() {
			return
		}
	}
	// Let all calls succeed again.
	for _, end := range c.faults {
		end()
	}
	c.cluster.SpoilTokens(0)
	c.cluster.IgnoreBlacklists(false)
	for _, node := range c.cluster.Nodes() {
		node.FailStarts("")
		node.Healthy()
		node.Recommission()
		require.NoError(t, node.Reconnect())
	}
	target := c.random.IntN(c.capacity()/2 + 1)
	c.live(time.Minute)
	c.finale(target)
	settled := func() bool {
		same := false
		c.cluster.Inspect(func(v yarntest.View) {
			held := v.LiveCount(c.app.ID())
			same = v.Application(c.app.ID()).Registered && held == target && held == v.Running(c.app.ID()) && held == v.Processes(c.app.ID())
		})
		return same
	}
	over := false
	for waited := 0; waited < 240 && !over; waited++ {
		c.live(5 * time.Second)
		select {
		case err := <-ended:
			c.end(err)
			return
		default:
			over = settled()
		}
	}
	if !assert.True(t, settled(), "there are as many containers as wanted, and no other") {
		c.cluster.Inspect(func(v yarntest.View) {
			t.Logf("target %d, held %d, running %d, processes %d, asked %v", target, v.LiveCount(c.app.ID()), v.Running(c.app.ID()), v.Processes(c.app.ID()), v.Rows(c.app.ID()))
			t.Logf("status %+v", c.allocator.state.states)
		})
		return
	}
	stop()
	require.NoError(t, <-ended)
	c.paced()
	c.end(nil)
}

// mostRoundsAMinute is the maximum number of times that all wanted containers are requested within
// a minute if they always fail: after pauses of 0, 1, 2, 4, 8, 16 and 30 s, and once more if the
// driver changes its request.
const mostRoundsAMinute = 8

// paced fails the test if more containers failed within a minute than the pauses allow.
func (c *chaos) paced() {
	var ends []time.Time
	c.cluster.Inspect(func(v yarntest.View) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, k := range v.Containers(c.app.ID()) {
			if !k.Held && !k.Surplus && !c.served[c.owner[k.ID]] && !k.AcquiredAt.IsZero() {
				ends = append(ends, k.EndedAt)
			}
		}
	})
	slices.SortFunc(ends, time.Time.Compare)
	most := mostRoundsAMinute * c.capacity()
	for i := range max(0, len(ends)-most) {
		if ends[i+most].Sub(ends[i]) < time.Minute {
			c.t.Errorf("from %v to %v %d containers failed", ends[i], ends[i+most], most+1)
			return
		}
	}
}

// finale sets the last target. At random, it does so without faults, shortly before the
// ResourceManager restarts, or shortly after.
func (c *chaos) finale(target int) {
	const moment = 200 * time.Millisecond
	switch c.random.IntN(3) {
	case 0:
		c.want(target)
	case 1:
		c.want(0)
		c.live(time.Minute)
		c.want(target)
		time.Sleep(moment)
		c.note("the ResourceManager restarts")
		c.cluster.Restart(c.upTo(30 * time.Second))
	case 2:
		c.want(c.capacity() / 2)
		c.live(time.Minute)
		c.note("the ResourceManager restarts")
		c.cluster.Restart(5*time.Second + c.upTo(30*time.Second))
		time.Sleep(moment)
		c.want(target)
	}
}

// end ends the application after Allocator.Run has returned err, and checks the final status.
func (c *chaos) end(err error) {
	t := c.t
	c.allocator.ReleaseAll(t.Context())
	c.cluster.Inspect(func(v yarntest.View) {
		assert.True(t, err != nil || v.LiveCount(c.app.ID()) == 0, "all containers are released before the application ends")
	})
	c.finish(err)
	time.Sleep(time.Minute)
	for _, node := range c.cluster.Nodes() {
		c.reconnect(node)
	}
	time.Sleep(time.Minute)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cluster.Inspect(func(v yarntest.View) {
		status := v.Application(c.app.ID())
		assert.Equal(t, yarn.ApplicationFinished, status.State)
		if c.most <= c.missed && status.Final == yarn.FinalFailed {
			tooMany := (*TooManyFailuresError)(nil)
			assert.ErrorAs(t, err, &tooMany)
			assert.Contains(t, status.Diagnostics, fmt.Sprintf("executors failed, executor.maxNumFailures is %d; the last: executor", c.most))
		} else {
			assert.Less(t, c.failed, c.most, "the application goes on until too many executors have failed")
			assert.Equal(t, yarn.FinalSucceeded, status.Final, err)
			assert.Equal(t, "summary: all went well", status.Diagnostics)
		}
		assert.Zero(t, v.Processes(c.app.ID()), "no process outlives the application")
		assert.Empty(t, v.Violations())
	})
}

// finish unregisters the application. The ResourceManager may restart during the call.
func (c *chaos) finish(failure error) {
	request := yarn.FinishRequest{Status: yarn.FinalSucceeded, Diagnostics: "summary: all went well"}
	if failure != nil {
		request = yarn.FinishRequest{Status: yarn.FinalFailed, Diagnostics: failure.Error()}
	}
	client := c.allocator.heartbeats.rm.(*yarn.AMClient)
	for {
		done, err := client.Finish(c.t.Context(), request)
		if errors.Is(err, yarn.ErrNotRegistered) {
			err = c.allocator.Register(c.t.Context())
		}
		if !assert.NoError(c.t, err) || done {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// capacity returns the number of executors that fit into the cluster.
func (c *chaos) capacity() int {
	n := 0
	c.cluster.Inspect(func(v yarntest.View) {
		for _, node := range c.cluster.Nodes() {
			if node.Host() != c.excluded {
				n += int(v.Capacity(node.Host()).MemoryMB / 1024)
			}
		}
	})
	return n
}

// want makes the driver request target executors, with random preferred hosts.
func (c *chaos) want(target int) {
	demand := driver.Demand{Profile: c.profile, Total: target}
	if c.random.IntN(2) == 0 {
		demand.HostTasks = map[string]int{}
		for range c.random.IntN(4) {
			demand.HostTasks[c.node().Host()] = 1 + c.random.IntN(10)
		}
	}
	c.note("want %d", target)
	c.mu.Lock()
	c.target, c.excess = target, time.Time{}
	c.mu.Unlock()
	c.allocator.RequestExecutors(driver.Request{Demands: []driver.Demand{demand}})
	c.drive()
}

// chaosStep is the time between two actions of the simulated driver.
const chaosStep = time.Second

// live lets the time d pass, in which the simulated driver acts.
func (c *chaos) live(d time.Duration) {
	for ; d > 0; d -= chaosStep {
		time.Sleep(chaosStep)
		c.drive()
	}
}

// vanished returns registered executors whose processes ended some time ago, but which were not
// reported as lost, because a restarted ResourceManager does not know them.
func (c *chaos) vanished(up map[string]bool) []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(c.joined)) {
		since, silent := c.silent[id]
		switch {
		case up[id]:
			delete(c.silent, id)
		case !silent:
			c.silent[id] = time.Now()
		case time.Since(since) > 2*time.Minute && !c.leaving[id]:
			c.leaving[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// drive registers running executors and kills surplus ones.
func (c *chaos) drive() {
	var joined, killed []string
	c.cluster.Inspect(func(v yarntest.View) {
		c.mu.Lock()
		defer c.mu.Unlock()
		up := map[string]bool{}
		for _, k := range v.Live(c.app.ID()) {
			id := c.owner[k.ID]
			up[id] = k.State == yarntest.Running
			if up[id] && c.known[id] && !c.joined[id] {
				c.joined[id], c.served[id] = true, true
				joined = append(joined, id)
			}
		}
		killed = c.vanished(up)
		staying := 0
		for id := range c.known {
			if !c.leaving[id] {
				staying++
			}
		}
		for _, id := range slices.Sorted(maps.Keys(c.known)) {
			if staying > c.target && !c.leaving[id] {
				c.leaving[id] = true
				killed = append(killed, id)
				staying--
			}
		}
	})
	for _, id := range joined {
		c.allocator.ExecutorRegistered(id)
	}
	if len(killed) > 0 {
		c.allocator.KillExecutors(killed)
	}
}
