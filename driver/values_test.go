package driver_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func init() {
	// count adds its input to a counter in two steps, with a pause between them. If the input is
	// divisible by three, the first attempt fails.
	function.Register("count", func(ctx context.Context, call function.Call) ([]byte, error) {
		n := int64(binary.BigEndian.Uint64(call.Input))
		call.Values.Add("sum", n-1)
		call.Values.Set("level", n)
		select {
		case <-time.After(time.Duration(n) * time.Second):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		call.Values.Add("sum", 1)
		if n%3 == 0 && call.AttemptNumber == 0 {
			return nil, errors.New("not yet")
		}
		return make([]byte, n), nil
	})
}

// countsOf returns a job that adds each of the values to a counter in one task.
func countsOf(values ...int) driver.TaskSet {
	job := driver.TaskSet{Name: "counts", Function: "count"}
	for _, n := range values {
		job.Tasks = append(job.Tasks, driver.Task{Input: number(uint64(n))})
	}
	return job
}

func TestCountersAndGaugesWhileTasksRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{})
		attach(t, d, executorbackend.Options{ID: "1", Cores: 4})
		require.Empty(t, d.Values().Counters)
		ctx, cancel := context.WithCancelCause(context.Background())
		ended := make(chan error)
		go func() {
			_, err := outcome(ctx, d, countsOf(1, 15, 1000, 7000))
			ended <- err
		}()
		time.Sleep(11 * time.Second) // until a heartbeat has arrived
		level := driver.GaugeStatus{Attempts: 3, Sum: 8015, Min: 15, Max: 7000, Peak: 7000}
		want := driver.Values{Counters: map[string]int64{"sum": 1 + 14 + 999 + 6999}, Gauges: map[string]driver.GaugeStatus{"level": level}}
		require.Equal(t, want, d.Values())
		job := d.Status().Jobs[0]
		require.Equal(t, want, driver.Values{Counters: job.Counters, Gauges: job.Gauges})
		time.Sleep(15 * time.Second) // until task 1 has failed, runs again, and the executor has reported its values
		require.Equal(t, int64(1+14+999+6999), d.Values().Counters["sum"])
		time.Sleep(16 * time.Second)
		require.Equal(t, int64(1+15+999+6999), d.Values().Counters["sum"])
		cancel(errTest)
		require.ErrorIs(t, <-ended, errTest)
		level = driver.GaugeStatus{Peak: 7000}
		want = driver.Values{Counters: map[string]int64{"sum": 16}, Gauges: map[string]driver.GaugeStatus{"level": level}}
		require.Equal(t, want, d.Values(), "the others are taken back")
		job = d.Status().Jobs[0]
		require.Equal(t, want, driver.Values{Counters: job.Counters, Gauges: job.Gauges})
		_, err := outcome(context.Background(), d, countsOf(3, 4))
		require.NoError(t, err)
		require.Equal(t, int64(16+7), d.Values().Counters["sum"])
		require.Equal(t, int64(7), d.Status().Jobs[1].Counters["sum"])
	})
}

// TestEachTaskCountsOnce runs counting jobs on executors that end at random.
func TestEachTaskCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { rapid.Check(noDeadline{t}, countingChaos) })
}

func countingChaos(t *rapid.T) {
	c := settings(t, map[string]string{
		"task.maxDirectResultSize": rapid.SampledFrom([]string{"0", "1m"}).Draw(t, "direct"),
		"executor.cores":           "4", "executor.heartbeatInterval": "700ms",
		"speculation": "true", "speculation.quantile": "0.3", "speculation.multiplier": "1",
	})
	d, err := driver.New(driver.Options{Config: c, Manager: &manager{}})
	require.NoError(t, err)
	var executors, jobs sync.WaitGroup
	var kills []context.CancelFunc
	join := func() {
		id := fmt.Sprint(len(kills))
		ctx, cancel := context.WithCancel(context.Background())
		kills = append(kills, cancel)
		executors.Go(func() {
			_ = d.AttachLocal(ctx, func(ctx context.Context, stream wire.ExecutorSide) error {
				return executorbackend.Serve(ctx, executorbackend.Options{ID: id, Host: "host" + id, Cores: 4, Config: c}, stream)
			})
			d.ExecutorLost(id, driver.Loss{Reason: "was killed"})
		})
	}
	var sum int64
	t.Repeat(map[string]func(*rapid.T){
		"submit": func(t *rapid.T) {
			values := rapid.SliceOfN(rapid.IntRange(1, 30), 1, 30).Draw(t, "values")
			for _, n := range values {
				sum += int64(n)
			}
			jobs.Go(func() {
				if results, err := outcome(context.Background(), d, countsOf(values...)); err != nil || len(results) != len(values) {
					t.Errorf("%d of %d results, error %v", len(results), len(values), err)
				}
			})
		},
		"join": func(*rapid.T) { join() },
		"kill": func(t *rapid.T) {
			if len(kills) > 0 {
				kills[rapid.IntRange(0, len(kills)-1).Draw(t, "executor")]()
			}
		},
		"wait": func(t *rapid.T) {
			time.Sleep(time.Duration(rapid.IntRange(1, 20_000).Draw(t, "milliseconds")) * time.Millisecond)
		},
		"look": func(t *rapid.T) {
			var all int64
			for _, job := range d.Status().Jobs {
				all += job.Counters["sum"]
			}
			require.LessOrEqual(t, all, 2*sum, "each, and its copy")
			require.GreaterOrEqual(t, all, int64(0))
		},
	})
	join() // with this executor, every job can be completed
	jobs.Wait()
	require.Equal(t, sum, d.Values().Counters["sum"])
	require.NoError(t, d.Stop(context.Background()))
	executors.Wait()
	for _, cancel := range kills {
		cancel()
	}
}
