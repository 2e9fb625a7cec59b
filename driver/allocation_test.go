package driver_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// delayedCluster is a cluster manager that starts executors after a delay.
type delayedCluster struct {
	t       require.TestingT
	startup time.Duration
	driver  *driver.Driver

	mu          sync.Mutex
	lastRequest int
	request     driver.Request
	alive       map[string]*member
	most        map[int]int // largest number of executors at the same time, by profile
	running     sync.WaitGroup
	ends        []error // errors with which executors ended
	closed      bool    // no executor is started any more
	takesAway   bool    // the cluster also ends executors that the driver has requested
}

// member is an executor that the cluster has been requested to start and that has not ended.
type member struct {
	profile int
	killed  bool
	// announced is set when the cluster has announced that it will end the executor. count then
	// does not include the executor.
	announced bool
	stop      context.CancelFunc
}

func newCluster(t *testing.T, values map[string]string) *delayedCluster {
	c := &delayedCluster{t: t, startup: 2 * time.Second, alive: map[string]*member{}, most: map[int]int{}}
	c.driver = start(t, driver.Options{Config: settings(t, values)})
	c.driver.SetManager(c)
	t.Cleanup(c.close)
	return c
}

// close stops the driver and ends every executor.
func (c *delayedCluster) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	require.NoError(c.t, c.driver.Stop(context.Background()))
	c.mu.Lock()
	for _, m := range c.alive {
		m.stop()
	}
	c.mu.Unlock()
	c.running.Wait()
}

func (c *delayedCluster) RequestExecutors(request driver.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.request = request
	c.fill()
}

// fill starts executors until there are as many as the driver has requested.
func (c *delayedCluster) fill() {
	if c.closed {
		return
	}
	for _, demand := range c.request.Demands {
		for c.count(demand.Profile.ID) < demand.Total {
			c.start(demand.Profile)
		}
		c.most[demand.Profile.ID] = max(c.most[demand.Profile.ID], c.count(demand.Profile.ID))
	}
}

// count returns the number of executors of a profile that the cluster has not announced to end.
func (c *delayedCluster) count(profile int) int {
	count := 0
	for _, m := range c.alive {
		if m.profile == profile && !m.killed && !m.announced {
			count++
		}
	}
	return count
}

func (c *delayedCluster) start(p profile.Profile) {
	c.lastRequest++
	id := fmt.Sprint(c.lastRequest)
	ctx, stop := context.WithCancel(context.Background())
	c.alive[id] = &member{profile: p.ID, stop: stop}
	c.running.Go(func() {
		select {
		case <-time.After(c.startup):
			err := c.driver.AttachLocal(ctx, func(ctx context.Context, stream wire.ExecutorSide) error {
				options := executorbackend.Options{ID: id, Host: "host" + id, Cores: p.Cores, Profile: p.ID}
				return executorbackend.Serve(ctx, options, stream)
			})
			c.mu.Lock()
			c.ends = append(c.ends, err)
			c.mu.Unlock()
		case <-ctx.Done():
		}
		c.driver.ExecutorLost(id, driver.Loss{Reason: "ended"})
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.alive, id)
		c.fill()
	})
}

func (c *delayedCluster) KillExecutors(ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		m := c.alive[id]
		if m == nil || m.announced {
			continue // the cluster has already announced the end
		}
		require.False(c.t, m.killed, "executor %s is to be killed twice", id)
		m.killed = true
		// The ResourceManager takes some time to end an executor.
		time.AfterFunc(time.Second, m.stop)
	}
	if c.takesAway {
		return // fewer executors than requested may be left, so the check below does not apply
	}
	for _, demand := range c.request.Demands {
		require.LessOrEqual(c.t, demand.Total, c.count(demand.Profile.ID), "the killed ones would be replaced")
	}
}

// announce announces the end of an executor, which count then excludes, and stops the executor a
// minute later.
func (c *delayedCluster) announce(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.alive[id]; m != nil && !m.announced {
		m.announced = true
		time.AfterFunc(time.Minute, m.stop)
		c.fill()
	}
}

func (c *delayedCluster) ExecutorRegistered(string) {}

// executors returns the number of executors of a profile.
func (c *delayedCluster) executors(profile int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count(profile)
}

// clean checks that the driver stopped every executor that has ended.
func (c *delayedCluster) clean() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, err := range c.ends {
		require.NoError(c.t, err)
	}
}

func TestTheNumberOfExecutorsFollowsTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, map[string]string{
			"dynamicAllocation.enabled": "true", "dynamicAllocation.minExecutors": "1", "dynamicAllocation.maxExecutors": "10",
			"executor.cores": "2",
		})
		time.Sleep(time.Hour)
		require.Equal(t, 1, c.executors(0), "the minimum")

		done := begin(t.Context(), c.driver, naps(8, time.Minute))
		time.Sleep(500 * time.Millisecond)
		require.Equal(t, 1, c.executors(0), "tasks have not waited for long")
		for second, want := range []int{2, 4, 4, 4} {
			time.Sleep(time.Second)
			require.Equal(t, want, c.executors(0), "after %d s", second+1)
		}
		time.Sleep(30 * time.Second)
		require.Equal(t, 8, c.driver.Status().Totals.Running)
		require.NoError(t, <-done)

		time.Sleep(40 * time.Second)
		require.Equal(t, 4, c.executors(0), "none has been idle for long enough")
		time.Sleep(30 * time.Second)
		require.Equal(t, 1, c.executors(0))
		time.Sleep(time.Hour)
		require.Equal(t, 1, c.executors(0), "nobody came in their place")
		c.clean()

		require.NoError(t, <-begin(t.Context(), c.driver, naps(1000, time.Second)))
		c.mu.Lock()
		require.Equal(t, 10, c.most[0], "no more than the maximum, however much there is to do")
		c.mu.Unlock()
		status := c.driver.Status()
		require.Zero(t, status.Totals.FailedAttempts)
		gone := status.Executors[slices.IndexFunc(status.Executors, func(e driver.ExecutorStatus) bool { return e.Lost != nil })]
		require.Equal(t, "left as it was told to: it was idle for 1m0s", gone.LossReason)
	})
}

func TestWithoutWorkNoExecutorIsWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, map[string]string{"dynamicAllocation.enabled": "true", "executor.instances": "0"})
		time.Sleep(time.Hour)
		require.Zero(t, c.lastRequest)
		for range 3 {
			requireSquares(t, t.Context(), c.driver, 20)
			require.NotZero(t, c.executors(0))
			time.Sleep(10 * time.Minute)
			require.Zero(t, c.executors(0))
			require.Empty(t, c.driver.Status().Profiles[0].Wanted)
		}
		c.clean()
	})
}

func TestALostExecutorIsReplacedIfItIsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, map[string]string{"dynamicAllocation.enabled": "true"})
		done := begin(t.Context(), c.driver, naps(3, time.Minute))
		time.Sleep(10 * time.Second)
		require.Equal(t, 3, c.executors(0))
		c.mu.Lock()
		c.alive["2"].stop()
		c.mu.Unlock()
		time.Sleep(10 * time.Second)
		require.NoError(t, <-done)
		require.Zero(t, c.driver.Status().Totals.FailedAttempts, "the cluster took it away")
		time.Sleep(10 * time.Minute)
		require.Zero(t, c.executors(0))
	})
}

// TestExecutorsThatHoldDataAreKept runs tasks that call Task.Hold, and checks how long dynamic
// allocation lets their executors run.
func TestExecutorsThatHoldDataAreKept(t *testing.T) {
	for name, test := range map[string]struct {
		timeout string
		kept    int // executors left after an hour
	}{"until it is released": {"", 2}, "for a while": {"5m", 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				values := map[string]string{"dynamicAllocation.enabled": "true"}
				if test.timeout != "" {
					values["dynamicAllocation.cachedExecutorIdleTimeout"] = test.timeout
				}
				c := newCluster(t, values)
				// Two of four tasks call Task.Hold, each on another executor.
				job := naps(4, time.Minute)
				job.Function = "nap and hold"
				job.Tasks[0].Input, job.Tasks[1].Input = []byte("left"), []byte("right")
				job.Tasks[2].Input, job.Tasks[3].Input = nil, nil
				require.NoError(t, <-begin(t.Context(), c.driver, job))
				time.Sleep(4 * time.Minute)
				require.Equal(t, 2, c.executors(0))
				held := c.driver.Status().Executors
				require.ElementsMatch(t, [][]string{{"both", "left"}, {"both", "right"}}, [][]string{held[0].HeldKeys, held[1].HeldKeys})
				require.Equal(t, 2, held[0].HeldKeyCount)
				time.Sleep(time.Hour)
				require.Equal(t, test.kept, c.executors(0))

				c.driver.Release("both")
				c.driver.Release("left")
				c.driver.Release("unheard of")
				time.Sleep(time.Second)
				require.Equal(t, test.kept/2, c.executors(0), "what is idle for long enough goes at once")
				c.driver.Release("right")
				time.Sleep(time.Second)
				require.Zero(t, c.executors(0))
				c.clean()
			})
		})
	}
}

func init() {
	function.Register("nap and hold", func(_ context.Context, call function.Call) ([]byte, error) {
		if len(call.Input) > 0 {
			call.Hold(string(call.Input))
			call.Hold("both")
		}
		time.Sleep(time.Minute)
		return nil, nil
	})
}

func TestJobsOfSeveralProfiles(t *testing.T) {
	for _, dynamic := range []string{"true", "false"} {
		t.Run("dynamic "+dynamic, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, map[string]string{"dynamicAllocation.enabled": dynamic, "executor.instances": "2", "executor.cores": "2"})
				large := profile.Profile{Memory: 8 * config.GiB, Cores: 4, Resources: map[string]int64{"yarn.io/gpu": 1}}
				other := large
				other.NodeLabel = "gpu"
				onLarge, onOther := naps(6, time.Minute), naps(1, time.Minute)
				onLarge.Profile, onOther.Profile, onOther.CPUs = &large, &other, 4
				var jobs []<-chan error
				for _, job := range []driver.TaskSet{naps(4, time.Minute), onLarge, onOther} {
					jobs = append(jobs, begin(t.Context(), c.driver, job))
					synctest.Wait()
				}
				again := profile.Profile{ID: 77, Memory: 8 * config.GiB, Cores: 4, Resources: map[string]int64{"yarn.io/gpu": 1}}
				onAgain := naps(2, time.Minute)
				onAgain.Profile = &again
				jobs = append(jobs, begin(t.Context(), c.driver, onAgain))
				time.Sleep(20 * time.Second)

				status := c.driver.Status()
				for _, e := range status.Executors {
					require.Equal(t, []int{2, 4, 4}[e.Profile], e.Cores)
				}
				require.Equal(t, []int{0, 1, 2, 1}, []int{status.Jobs[0].Profile, status.Jobs[1].Profile, status.Jobs[2].Profile, status.Jobs[3].Profile})
				require.Len(t, status.Profiles, 3)
				require.Equal(t, map[string]int64{"yarn.io/gpu": 1}, status.Profiles[1].Resources)
				require.Equal(t, "gpu", status.Profiles[2].NodeLabel)
				want := []int{2, 2, 2}
				if dynamic == "true" {
					want = []int{2, 2, 1} // an executor of these profiles runs 2, 4 and 1 tasks at once
				}
				require.Equal(t, want, []int{status.Profiles[0].Wanted, status.Profiles[1].Wanted, status.Profiles[2].Wanted})
				require.Equal(t, want, []int{c.executors(0), c.executors(1), c.executors(2)})
				for _, done := range jobs {
					require.NoError(t, <-done)
				}
				for _, e := range c.driver.Status().Executors {
					require.LessOrEqual(t, e.Done, 4)
				}
				time.Sleep(time.Hour)
				want = []int{2, 0, 0} // profiles that no job uses are released
				if dynamic == "true" {
					want = []int{0, 0, 0}
				}
				require.Equal(t, want, []int{c.executors(0), c.executors(1), c.executors(2)})
				require.Len(t, c.driver.Status().Profiles, 1)
				require.NoError(t, <-begin(t.Context(), c.driver, onLarge))
				require.Equal(t, 3, c.driver.Status().Profiles[1].ID, "ids are not used again")
			})
		})
	}
}

func TestExecutorsOfThisProcessRunTasksOfEveryProfile(t *testing.T) {
	d := start(t, driver.Options{})
	attach(t, d, executorbackend.Options{ID: "1"})
	job := squares(10)
	job.Profile = &profile.Profile{Memory: config.TiB, Cores: 64}
	results, err := outcome(t.Context(), d, job)
	require.NoError(t, err)
	require.Len(t, results, 10)
}

func TestTasksThatFitNoExecutorAreRefused(t *testing.T) {
	d := start(t, driver.Options{Manager: &manager{}})
	for _, job := range []driver.TaskSet{
		{Name: "j", CPUs: 2, Tasks: make([]driver.Task, 1)},
		{Name: "j", CPUs: 4, Tasks: make([]driver.Task, 1), Profile: &profile.Profile{Memory: config.GiB, Cores: 3}},
	} {
		_, err := outcome(t.Context(), d, job)
		require.ErrorContains(t, err, fmt.Sprintf(`job "j": its tasks can run nowhere: each takes %d cores, and its executors have %d`, job.CPUs, job.CPUs-1))
	}
}
