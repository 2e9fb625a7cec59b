package driver_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler/pool"
)

// TestJobsSucceedWhileExecutorsFail runs jobs under a fake clock, while executors register and
// end at random.
func TestJobsSucceedWhileExecutorsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { rapid.Check(noDeadline{t}, chaos) })
}

// noDeadline hides T.Deadline, because that deadline is a time of the real clock.
type noDeadline struct{ testing.TB }

func chaos(t *rapid.T) {
	managed := rapid.Bool().Draw(t, "managed")
	options := driver.Options{
		Config: settings(t, map[string]string{
			"executor.cores": "4", "scheduler.barrier.timeout": "1000h", "speculation.quantile": "0.5",
			"speculation":    fmt.Sprint(rapid.Bool().Draw(t, "speculation")),
			"scheduler.mode": rapid.SampledFrom([]string{"FIFO", "FAIR"}).Draw(t, "mode"),
			// If the size is 0, executors store all results until the driver fetches them.
			"task.maxDirectResultSize": rapid.SampledFrom([]string{"1m", "0"}).Draw(t, "direct"),
		}),
		Pools:  []pool.Pool{{Name: "one", Weight: 2}, {Name: "two", MinShare: 3, Mode: pool.FAIR}},
		RackOf: func(host string) string { return "rack" + host[:1] },
		Events: events.NewRecorder(events.Limits{}),
	}
	if managed {
		options.Manager = &manager{}
	}
	d, err := driver.New(options)
	require.NoError(t, err)
	hosts := []string{"a1", "a2", "b1"}

	var executors, jobs sync.WaitGroup
	kills := map[string]context.CancelFunc{}
	var ids []string
	join := func(cores int, host string) {
		id := fmt.Sprint(len(ids))
		ids = append(ids, id)
		ctx, cancel := context.WithCancel(context.Background())
		kills[id] = cancel
		executors.Go(func() {
			_ = d.AttachLocal(ctx, func(ctx context.Context, stream wire.ExecutorSide) error {
				return executorbackend.Serve(ctx, executorbackend.Options{ID: id, Host: host, Cores: cores, Config: options.Config}, stream)
			})
		})
	}
	submit := func(function string, tasks, cpus int, preferring bool, pool string) {
		job := driver.TaskSet{Name: "chaos", Function: function, CPUs: cpus, MaxFailures: 1000, Pool: pool, Barrier: function == "flaky meeting"}
		for i := range tasks {
			spec := driver.Task{Input: number(uint64(i))}
			if preferring {
				spec.Hosts = hosts[i%3 : i%3+1]
			}
			job.Tasks = append(job.Tasks, spec)
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
	}

	t.Repeat(map[string]func(*rapid.T){
		"submit": func(t *rapid.T) {
			submit("flaky square", rapid.IntRange(0, 200).Draw(t, "tasks"), rapid.IntRange(1, 2).Draw(t, "cpus"),
				rapid.Bool().Draw(t, "preferring"), rapid.SampledFrom([]string{"", "one", "two", "three"}).Draw(t, "pool"))
		},
		"submit short ones": func(t *rapid.T) {
			submit("short square", rapid.IntRange(500, 3000).Draw(t, "tasks"), rapid.IntRange(1, 2).Draw(t, "cpus"),
				rapid.Bool().Draw(t, "preferring"), rapid.SampledFrom([]string{"", "one", "two"}).Draw(t, "pool"))
			time.Sleep(time.Millisecond) // until some tasks are queued at executors
		},
		"gather": func(t *rapid.T) {
			if managed { // otherwise, the driver fails a barrier set that the present executors cannot run
				submit("flaky meeting", rapid.IntRange(1, 4).Draw(t, "tasks"), 1, rapid.Bool().Draw(t, "preferring"), "one")
			}
		},
		"join": func(t *rapid.T) {
			join(rapid.IntRange(1, 4).Draw(t, "cores"), rapid.SampledFrom(hosts).Draw(t, "host"))
		},
		"kill": func(t *rapid.T) {
			if len(ids) > 0 {
				kills[rapid.SampledFrom(ids).Draw(t, "id")]()
			}
		},
		"lose": func(t *rapid.T) {
			if len(ids) > 0 {
				loss := driver.Loss{Reason: "was taken away", CountsAsFailure: rapid.Bool().Draw(t, "counts")}
				d.ExecutorLost(rapid.SampledFrom(ids).Draw(t, "id"), loss)
			}
		},
		"decommission": func(t *rapid.T) {
			if len(ids) > 0 {
				notice := driver.DecommissionNotice{Reason: "will be taken away"}
				if rapid.Bool().Draw(t, "soon") {
					notice.Deadline = time.Now().Add(time.Duration(rapid.IntRange(-100, 1000).Draw(t, "deadline")) * time.Millisecond)
				}
				d.Decommission([]string{rapid.SampledFrom(ids).Draw(t, "id")}, notice)
			}
		},
		"wait": func(t *rapid.T) {
			time.Sleep(time.Duration(rapid.IntRange(1, 3000).Draw(t, "milliseconds")) * time.Millisecond)
		},
		"look": func(t *rapid.T) {
			status := d.Status()
			for _, e := range status.Executors {
				require.LessOrEqual(t, e.Running, e.Cores)
			}
			for _, job := range status.Jobs {
				require.LessOrEqual(t, job.Done+job.Running, job.Total+job.SpeculativeCopies)
			}
		},
	})

	join(4, "a1") // with this executor, every job can be completed
	jobs.Wait()
	totals := d.Status().Totals
	require.NoError(t, d.Stop(context.Background()))
	executors.Wait()
	for _, cancel := range kills {
		cancel()
	}
	options.Events.Close()
	requireRecorded(t, totals, options.Events.Snapshot())
}

// requireRecorded checks that the recorded events of jobs that have all succeeded agree with the
// driver's status, and that each attempt that began has ended.
func requireRecorded(t require.TestingT, totals driver.Totals, s *events.Snapshot) {
	require.Equal(t, totals.Jobs, s.Totals.Jobs)
	require.Zero(t, s.Totals.JobsRunning)
	require.Equal(t, totals.Done, s.Totals.Done)
	require.Equal(t, totals.Done, s.Totals.Tasks)
	require.Zero(t, s.Totals.Running)
	require.Empty(t, s.RunningAttempts())
	require.Zero(t, s.Totals.Registered)
	for _, job := range s.Jobs {
		require.Equal(t, events.StateSucceeded, job.State)
		require.Equal(t, job.Counts.Tasks, job.Counts.Done)
		require.Zero(t, job.Counts.Running)
	}
	for _, e := range s.Executors {
		require.Equal(t, events.ExecutorStateLost, e.State)
		require.Zero(t, e.Counts.Running, "executor %s", e.ID)
	}
	launched := 0
	for _, n := range s.Totals.Sums.Localities {
		launched += n
	}
	ended := s.Totals.Done + s.Totals.FailedAttempts + s.Totals.LostAttempts + s.Totals.KilledAttempts
	require.Equal(t, launched, ended)
}
