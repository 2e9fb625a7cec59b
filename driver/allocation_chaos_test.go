package driver_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// TestJobsSucceedUnderDynamicAllocation runs jobs under a fake clock with dynamic allocation,
// while the cluster decommissions and ends executors at random.
func TestJobsSucceedUnderDynamicAllocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { rapid.Check(noDeadline{t}, allocationChaos) })
}

func allocationChaos(t *rapid.T) {
	least := rapid.IntRange(0, 2).Draw(t, "min")
	most := least + rapid.IntRange(1, 6).Draw(t, "more")
	c := &delayedCluster{t: t, startup: 2 * time.Second, alive: map[string]*member{}, most: map[int]int{}, takesAway: true}
	d, err := driver.New(driver.Options{Config: settings(t, map[string]string{
		"dynamicAllocation.enabled": "true", "executor.cores": "2",
		"dynamicAllocation.minExecutors": fmt.Sprint(least), "dynamicAllocation.maxExecutors": fmt.Sprint(most),
		"dynamicAllocation.executorIdleTimeout": "5s",
	})})
	require.NoError(t, err)
	c.driver = d
	d.SetManager(c)
	defer c.close()
	large := profile.Profile{Memory: 4 * config.GiB, Cores: 4}

	// some returns the ids of randomly chosen live executors.
	some := func(t *rapid.T) []string {
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		ids := slices.Sorted(maps.Keys(c.alive))
		if len(ids) == 0 {
			t.Skip("there is no executor")
		}
		return ids
	}
	var jobs sync.WaitGroup
	t.Repeat(map[string]func(*rapid.T){
		"submit": func(t *rapid.T) {
			job := driver.TaskSet{Name: "chaos", Function: "flaky square", CPUs: rapid.IntRange(1, 2).Draw(t, "cpus"), MaxFailures: 1000}
			if rapid.Bool().Draw(t, "large") {
				job.Profile = &large
			}
			tasks := rapid.IntRange(1, 200).Draw(t, "tasks")
			for i := range tasks {
				job.Tasks = append(job.Tasks, driver.Task{Input: number(uint64(i))})
			}
			jobs.Go(func() {
				results, err := outcome(context.Background(), d, job)
				if err != nil || len(results) != tasks {
					t.Errorf("%d of %d results, error %v", len(results), tasks, err)
				}
				for i, result := range results {
					if got := binary.BigEndian.Uint64(result.Value); got != uint64(i*i) {
						t.Errorf("the result of task %d is %d", i, got)
					}
				}
			})
		},
		"lose": func(t *rapid.T) {
			id := rapid.SampledFrom(some(t)).Draw(t, "id")
			c.mu.Lock()
			defer c.mu.Unlock()
			if m := c.alive[id]; m != nil {
				m.stop()
			}
		},
		"decommission": func(t *rapid.T) {
			id := rapid.SampledFrom(some(t)).Draw(t, "id")
			c.announce(id)
			notice := driver.DecommissionNotice{Reason: "its node goes"}
			if rapid.Bool().Draw(t, "soon") {
				notice.Deadline = time.Now().Add(time.Second)
			}
			d.Decommission([]string{id}, notice)
		},
		"wait": func(t *rapid.T) {
			time.Sleep(time.Duration(rapid.IntRange(1, 10_000).Draw(t, "milliseconds")) * time.Millisecond)
		},
	})
	jobs.Wait()
	time.Sleep(2 * time.Minute)
	c.mu.Lock()
	for _, highest := range c.most {
		require.LessOrEqual(t, highest, most)
	}
	for _, demand := range c.request.Demands {
		require.Equal(t, least, demand.Total)
		require.LessOrEqual(t, c.count(demand.Profile.ID), least, "idle executors are given back")
	}
	c.mu.Unlock()
}
