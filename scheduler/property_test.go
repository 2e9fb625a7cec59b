package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/scheduler/pool"
)

// compared passes the same events to a scheduler and to its model.
type compared struct {
	t       *rapid.T
	s       *Scheduler
	m       *model
	now     time.Time
	sets    uint64
	started int
	// known are the ids of all executors so far, including removed ones.
	known []string
}

var fairPools = []pool.Pool{
	{Name: "a", Weight: 2},
	{Name: "b", Mode: pool.FAIR, MinShare: 3, Pools: []pool.Pool{{Name: "b1", Mode: pool.FAIR}, {Name: "b2", Weight: 3, MinShare: 2}}},
}

// profiles are the ids of the resource profiles of executors and task sets in these tests.
var profiles = profileIDs{0, 3}

type profileIDs []int

// draw returns the first profile more often than the others.
func (p profileIDs) draw(t *rapid.T) int {
	return p[max(0, rapid.IntRange(-2, len(p)-1).Draw(t, "profile"))]
}

func TestSchedulerFollowsModel(t *testing.T) {
	racks := map[string]string{"host0": "rack0", "host1": "rack0", "host2": "rack1", "host3": "rack1"}
	rackOf := func(host string) string { return racks[host] }
	second, long := time.Second, 3*time.Second
	for name, config := range map[string]Config{
		"no waits":       {RackOf: rackOf},
		"equal waits":    {RackOf: rackOf, LocalityWaitProcess: long, LocalityWaitNode: long, LocalityWaitRack: long},
		"waits":          {RackOf: rackOf, LocalityWaitProcess: second, LocalityWaitNode: long, LocalityWaitRack: second},
		"some waits":     {RackOf: rackOf, LocalityWaitProcess: second, LocalityWaitRack: long},
		"racks learned":  {LocalityWaitProcess: second, LocalityWaitNode: second, LocalityWaitRack: long},
		"only node wait": {LocalityWaitNode: long},
		"fair":           {RackOf: rackOf, LocalityWaitProcess: second, LocalityWaitNode: second, Mode: pool.FAIR, Pools: fairPools},
		"fair, no waits": {RackOf: rackOf, Mode: pool.FAIR, Pools: fairPools},
	} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			c := &compared{t: t, s: New(config), m: newModel(t, config), now: start}
			t.Repeat(map[string]func(*rapid.T){
				"":               func(*rapid.T) { c.m.check(c.s) },
				"add":            c.add,
				"submit":         c.submit,
				"offer":          c.offer,
				"tick":           c.tick,
				"wait":           c.wait,
				"finish":         c.finish,
				"result pending": c.resultPending,
				"more":           c.finish,
				"late":           c.late,
				"remove":         c.remove,
				"decommission":   c.decommission,
				"cancel":         c.cancel,
				"expect":         c.expect,
			})
			c.runOut()
		}))
	}
}

func (c *compared) add(t *rapid.T) {
	c.started++
	e := Executor{
		ID:    fmt.Sprintf("e%d", c.started),
		Host:  fmt.Sprintf("host%d", rapid.IntRange(0, 5).Draw(t, "host")),
		Rack:  rapid.SampledFrom([]string{"", "rack0", "rack1", "rack2"}).Draw(t, "rack"),
		Cores: rapid.IntRange(1, 4).Draw(t, "cores"), Profile: profiles.draw(t),
	}
	if rapid.Bool().Draw(t, "GPUs") {
		e.Resources = gpus([]string{"0", "1", "2"}[:rapid.IntRange(1, 3).Draw(t, "count")]...)
	}
	if len(c.known) > 0 && rapid.IntRange(0, 4).Draw(t, "again") == 0 {
		e.ID = rapid.SampledFrom(c.known).Draw(t, "id")
	}
	err := c.s.AddExecutor(e)
	if c.m.executor(e.ID) != nil {
		require.Error(t, err)
		return
	}
	require.NoError(t, err)
	c.m.add(e)
	c.known = append(c.known, e.ID)
}

func (c *compared) expect(*rapid.T) {
	c.m.expecting = !c.m.expecting
	c.s.ExpectExecutors(c.m.expecting)
}

func (c *compared) submit(t *rapid.T) {
	c.sets++
	set := TaskSet{
		ID: c.sets, Name: fmt.Sprintf("set %d", c.sets), Tasks: rapid.IntRange(1, 12).Draw(t, "tasks"),
		CPUs:        rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "cpus"),
		MaxFailures: rapid.IntRange(1, 5).Draw(t, "max failures"), Profile: profiles.draw(t),
		Pool: rapid.SampledFrom([]string{"", "a", "b", "b1", "b2", "other"}).Draw(t, "pool"),
	}
	if rapid.IntRange(0, 3).Draw(t, "resources") == 0 {
		set.Resources = map[string]float64{"gpu": rapid.SampledFrom([]float64{0.5, 0.25, 1, 2}).Draw(t, "gpus")}
	}
	if rapid.IntRange(0, 3).Draw(t, "preferences") > 0 {
		hosts := rapid.SliceOfN(rapid.SampledFrom([]string{"host0", "host1", "host2", "host3", "host4", "elsewhere"}), 0, 3)
		executors := rapid.SliceOfN(rapid.IntRange(1, c.started+2), 0, 2)
		preferences := make([]Preferences, set.Tasks)
		for i := range preferences {
			preferences[i].Hosts = hosts.Draw(t, "hosts")
			if rapid.IntRange(0, 2).Draw(t, "cached") == 0 {
				for _, n := range executors.Draw(t, "executors") {
					preferences[i].Executors = append(preferences[i].Executors, fmt.Sprintf("e%d", n))
				}
			}
		}
		set.Preferences = func(index int) Preferences { return preferences[index] }
	}
	require.NoError(t, c.s.Submit(set))
	require.Error(t, c.s.Submit(set), "the same id again")
	c.m.submit(set)
}

func (c *compared) offer(*rapid.T) {
	c.m.now = c.now
	c.m.offer(launched(c.s, c.now))
	deadline, ok := c.s.NextDeadline()
	expected, expectedOK := c.m.deadline()
	require.Equal(c.t, expectedOK, ok)
	if ok {
		require.Equal(c.t, expected, deadline)
		require.True(c.t, deadline.After(c.now))
	}
	require.Empty(c.t, launched(c.s, c.now), "a second offer finds nothing")
}

func (c *compared) tick(t *rapid.T) {
	c.now = c.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "ticks")) * 100 * time.Millisecond)
	if rapid.Bool().Draw(t, "offer") {
		c.offer(t)
	}
}

// wait makes an offer just before the next deadline, and another at the deadline.
func (c *compared) wait(t *rapid.T) {
	c.offer(t)
	deadline, ok := c.s.NextDeadline()
	if !ok {
		t.Skip("no deadline")
	}
	c.now = deadline.Add(-1)
	c.offer(t)
	c.now = deadline
	c.offer(t)
}

func (c *compared) finish(t *rapid.T) {
	running := c.m.running()
	if len(running) == 0 {
		t.Skip("nothing runs")
	}
	for range rapid.IntRange(1, len(running)).Draw(t, "attempts") {
		running := c.m.running()
		a := rapid.SampledFrom(running).Draw(t, "attempt")
		outcome := rapid.SampledFrom([]Outcome{
			{Result: ResultSucceeded}, {Result: ResultSucceeded}, {Result: ResultSucceeded},
			{Result: ResultFailed, Reason: "bad luck", CountsAsFailure: true}, {Result: ResultFailed, Reason: "not its fault"},
			{Result: ResultKilled, Reason: "killed"},
		}).Draw(t, "outcome")
		require.Equal(t, c.m.finished(a.id, outcome), c.s.Finished(a.id, outcome))
	}
	if rapid.Bool().Draw(t, "offer") {
		c.offer(t)
	}
}

// resultPending reports that the result of an attempt is still at its executor.
func (c *compared) resultPending(t *rapid.T) {
	running := c.m.running()
	if len(running) == 0 {
		c.s.ResultPending(0, 0)
		t.Skip("nothing runs")
	}
	a := rapid.SampledFrom(running).Draw(t, "attempt")
	a.free()
	c.s.ResultPending(a.id, 0)
	if rapid.Bool().Draw(t, "offer") {
		c.offer(t)
	}
}

// late reports the success of an attempt that has ended or that never existed.
func (c *compared) late(t *rapid.T) {
	id := AttemptID(rapid.Uint64Range(0, uint64(c.m.last)+2).Draw(t, "attempt"))
	if c.m.attempts[id] == nil {
		require.Empty(t, c.s.Finished(id, Outcome{Result: ResultSucceeded}))
	}
}

func (c *compared) remove(t *rapid.T) {
	if len(c.m.executors) == 0 {
		require.Empty(t, c.s.RemoveExecutor("unknown", Loss{}))
		return
	}
	id := rapid.SampledFrom(c.m.executors).Draw(t, "executor").ID
	loss := Loss{Reason: "gone", CountsAsFailure: rapid.Bool().Draw(t, "counts")}
	require.Equal(t, c.m.remove(id, loss), c.s.RemoveExecutor(id, loss))
}

func (c *compared) decommission(t *rapid.T) {
	c.s.DecommissionExecutor("unknown")
	if len(c.m.executors) == 0 {
		t.Skip("no executors")
	}
	e := rapid.SampledFrom(c.m.executors).Draw(t, "executor")
	c.s.DecommissionExecutor(e.ID)
	e.decommissioning = true
}

func (c *compared) cancel(t *rapid.T) {
	id := rapid.Uint64Range(0, c.sets+1).Draw(t, "set")
	require.Equal(t, c.m.cancel(id, "cancelled"), c.s.Cancel(id, "cancelled"))
}

// runOut adds executors that are large enough, and advances the time until all sets have ended.
func (c *compared) runOut() {
	for _, p := range profiles {
		c.started++
		e := Executor{ID: fmt.Sprintf("e%d", c.started), Host: "large", Cores: 4, Profile: p, Resources: gpus("0", "1")}
		require.NoError(c.t, c.s.AddExecutor(e))
		c.m.add(e)
	}
	for len(c.m.sets) > 0 {
		c.offer(c.t)
		running := c.m.running()
		if len(running) == 0 {
			deadline, ok := c.s.NextDeadline()
			require.True(c.t, ok, "sets wait forever: %+v", c.s.Snapshot())
			c.now = deadline
		}
		for _, a := range running {
			require.Equal(c.t, c.m.finished(a.id, Outcome{}), c.s.Finished(a.id, Outcome{}))
		}
		c.m.check(c.s)
	}
	for _, a := range c.m.running() {
		require.Equal(c.t, c.m.finished(a.id, Outcome{}), c.s.Finished(a.id, Outcome{}))
	}
	c.m.check(c.s)
	for _, e := range slices.Clone(c.m.executors) {
		require.Equal(c.t, c.m.remove(e.ID, Loss{}), c.s.RemoveExecutor(e.ID, Loss{}))
	}
	for _, p := range c.s.profiles {
		require.Empty(c.t, p.hosts, "unused hosts are removed")
		require.Empty(c.t, p.racks)
		require.Zero(c.t, p.free.executors)
	}
	require.Zero(c.t, c.s.delays.runningClocks)
}
