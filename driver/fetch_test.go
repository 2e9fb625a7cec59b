package driver_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func init() {
	function.Register("bytes", func(_ context.Context, call function.Call) ([]byte, error) {
		return content(call.Index, int(binary.BigEndian.Uint64(call.Input))), nil
	})
}

// content returns a result of the given size, which contains the task's index.
func content(index, size int) []byte {
	return bytes.Repeat(number(uint64(index)+1), size/8+1)[:size]
}

// resultsOf returns a job whose tasks return results of the given sizes in bytes.
func resultsOf(sizes ...int) driver.TaskSet {
	job := driver.TaskSet{Name: "results", Function: "bytes"}
	for _, size := range sizes {
		job.Tasks = append(job.Tasks, driver.Task{Input: number(uint64(size))})
	}
	return job
}

const mib = 1 << 20

func repeat(count, size int) []int {
	sizes := make([]int, count)
	for i := range sizes {
		sizes[i] = size
	}
	return sizes
}

func TestResultsOfAnySizeArriveComplete(t *testing.T) {
	sizes := []int{0, 1, 1023, 1024, 1025, mib - 1, mib, mib + 1, 3*mib + 17, 2 * mib, 70 * mib}
	for name, values := range map[string]map[string]string{
		"as set":       nil,
		"all are held": {"task.maxDirectResultSize": "0"},
		"few are held": {"task.maxDirectResultSize": "1g"},
		"no limit":     {"driver.maxResultSize": "0"},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, driver.Options{Config: settings(t, values)})
			for _, id := range []string{"1", "2"} {
				attach(t, d, executorbackend.Options{ID: id, Config: settings(t, values)})
			}
			for _, barrier := range []bool{false, true} {
				job := resultsOf(sizes...)
				if job.Barrier = barrier; barrier {
					job.Tasks = job.Tasks[7:]
				}
				results, err := outcome(context.Background(), d, job)
				require.NoError(t, err)
				require.Len(t, results, len(job.Tasks))
				for index, result := range results {
					size := int(binary.BigEndian.Uint64(job.Tasks[index].Input))
					require.True(t, bytes.Equal(content(index, size), result.Value), "task %d", index)
				}
			}
		})
	}
}

// TestConsumedResultsAreFreed receives large results while another job runs, and checks
// that no received result stays in memory.
func TestConsumedResultsAreFreed(t *testing.T) {
	d := start(t, driver.Options{Config: settings(t, nil)})
	attach(t, d, executorbackend.Options{ID: "1", Cores: 2, Config: settings(t, nil)})
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error, 1)
	go func() {
		_, err := outcome(ctx, d, driver.TaskSet{Function: "wait", Tasks: make([]driver.Task, 1)})
		waits <- err
	}()
	defer func() {
		cancel()
		require.ErrorIs(t, <-waits, context.Canceled)
	}()
	require.Eventually(t, func() bool { return d.Status().Totals.Running == 1 }, 10*time.Second, time.Millisecond)
	for _, barrier := range []bool{false, true} {
		job := resultsOf(repeat(20, 2*mib)...)
		if job.Barrier = barrier; barrier {
			job.Tasks = job.Tasks[:1]
		}
		var values []weak.Pointer[byte]
		for result, err := range d.Run(ctx, job) {
			require.NoError(t, err)
			values = append(values, weak.Make(&result.Value[0]))
		}
		require.Len(t, values, len(job.Tasks))
		require.Eventually(t, func() bool {
			runtime.GC()
			return !slices.ContainsFunc(values, func(value weak.Pointer[byte]) bool { return value.Value() != nil })
		}, 10*time.Second, 10*time.Millisecond)
	}
	require.Equal(t, 1, d.Status().Totals.Running)
}

func TestResultsBeyondTheLimitEndTheirJob(t *testing.T) {
	for name, c := range map[string]struct {
		collect bool
		sizes   []int
		results int // number of results that together are too large; 0 if the job succeeds
		bytes   int
	}{
		"as much as there may be":     {collect: true, sizes: repeat(4, mib)},
		"large ones together":         {collect: true, sizes: []int{3 * mib, 2 * mib}, results: 2, bytes: 5 * mib},
		"small ones together":         {collect: true, sizes: repeat(9, mib/2), results: 9, bytes: 9 * mib / 2},
		"one alone":                   {sizes: []int{4*mib + 1}, results: 1, bytes: 4*mib + 1},
		"a stream of large ones":      {sizes: repeat(30, 3*mib)},
		"a stream of small ones":      {sizes: repeat(300, mib/4)},
		"one alone, collected":        {collect: true, sizes: []int{5 * mib}, results: 1, bytes: 5 * mib},
		"nothing is no result at all": {collect: true, sizes: repeat(100, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			c4 := settings(t, map[string]string{"driver.maxResultSize": "4m"})
			d := start(t, driver.Options{Config: c4})
			attach(t, d, executorbackend.Options{ID: "1", Cores: 1, Config: c4})
			job := resultsOf(c.sizes...)
			job.KeepsAllResults = c.collect
			results, err := outcome(context.Background(), d, job)
			if c.results == 0 {
				require.NoError(t, err)
				require.Len(t, results, len(c.sizes))
				return
			}
			var tooLarge *driver.ResultSizeError
			require.ErrorAs(t, err, &tooLarge)
			require.Equal(t, &driver.ResultSizeError{Job: "results", Results: c.results, Bytes: int64(c.bytes), Limit: 4 * mib}, tooLarge)
			require.ErrorContains(t, err, fmt.Sprintf("%d bytes", c.bytes))
			require.ErrorContains(t, err, "may have 4194304 (4m)")
			require.ErrorContains(t, err, "driver.maxResultSize")
			jobs := d.Status().Jobs
			require.Equal(t, driver.JobStateFailed, jobs[len(jobs)-1].State)
			requireSquares(t, context.Background(), d, 10) // the driver still works
		})
	}
}

// TestResultsThatAreNotConsumedStayAtExecutors uses a slow consumer while another
// job runs on the same cores.
func TestResultsThatAreNotConsumedStayAtExecutors(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 30)) // so that an executor stores up to 128 MiB of blocks in memory
	directory := t.TempDir()
	t.Setenv("TMPDIR", directory)
	d := start(t, driver.Options{Config: settings(t, map[string]string{"driver.maxResultSize": "8m"})})
	e := attach(t, d, executorbackend.Options{ID: "1", Cores: 2})
	ctx := context.Background()
	count := 0
	for result, err := range d.Run(ctx, resultsOf(repeat(100, 2*mib)...)) {
		require.NoError(t, err)
		if count++; count == 1 {
			await(t, d, func(s driver.Status) bool { return s.Totals.Waiting == 0 && s.Jobs[0].Running == 0 })
			requireSquares(t, ctx, d, 100)
			require.Less(t, d.Status().Jobs[0].Done, 6, "there is room for four of them")
			kept, err := filepath.Glob(filepath.Join(directory, "bobbin-blocks-*", "*"))
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(kept), 100-64-4, "64 are in memory, and some have been fetched")
			require.LessOrEqual(t, len(kept), 100-64)
		}
		require.True(t, bytes.Equal(content(result.Index, 2*mib), result.Value))
	}
	require.Equal(t, 100, count)
	for _, err := range d.Run(ctx, resultsOf(repeat(100, 2*mib)...)) {
		require.NoError(t, err)
		break // do not consume the remaining results
	}
	await(t, d, func(s driver.Status) bool {
		kept, err := filepath.Glob(filepath.Join(directory, "bobbin-blocks-*", "*"))
		require.NoError(t, err)
		return s.Totals.Running == 0 && len(kept) == 0
	})
	e.kill()
	<-e.ended
	left, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Empty(t, left)
}

// reportStored reports that the puppet stores a result.
func (p *puppet) reportStored(launch *wire.Launch, size int) {
	p.send(&wire.ExecutorMessage{Updates: []*wire.TaskUpdate{
		{Attempt: launch.GetAttempt(), State: wire.TaskState_TASK_STATE_STORED, StoredBytes: uint64(size)}}})
}

func TestAResultThatIsLostIsComputedAgainAndDoesNotCount(t *testing.T) {
	d := start(t, driver.Options{Manager: &manager{}})
	first, second := join(t, d, "1", "host1", 1), join(t, d, "2", "host2", 1)
	job := resultsOf(1)
	job.MaxFailures = 1
	done := make(chan struct{})
	var results map[int]driver.Result
	var err error
	go func() {
		defer close(done)
		results, err = outcome(context.Background(), d, job)
	}()
	var launch *wire.Launch
	lost, other := first, second
	for launch == nil {
		status := await(t, d, func(s driver.Status) bool { return s.Totals.Running == 1 })
		for _, e := range status.Executors {
			if e.Running == 1 && e.ID == "2" {
				lost, other = second, first
			}
		}
		launch = lost.launches(1)[0]
	}
	lost.reportStored(launch, 2*mib)
	for len(lost.recv().GetFetches()) == 0 {
	}
	lost.send(&wire.ExecutorMessage{Updates: []*wire.TaskUpdate{
		{Attempt: launch.GetAttempt(), State: wire.TaskState_TASK_STATE_PART, Result: make([]byte, mib)}}})
	lost.leave()
	d.ExecutorLost(map[*puppet]string{first: "1", second: "2"}[lost], driver.Loss{Reason: "was lost", CountsAsFailure: true})
	again := other.launches(1)[0]
	require.Equal(t, uint32(1), again.GetAttemptNumber())
	other.finish(again, "x")
	<-done
	require.NoError(t, err)
	require.Equal(t, "x", string(results[0].Value))
}

// TestEveryResultArrivesOnce runs jobs with results of various sizes and with fast and slow
// consumers, on executors that end at random.
func TestEveryResultArrivesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { rapid.Check(noDeadline{t}, fetchChaos) })
}

func fetchChaos(t *rapid.T) {
	c := settings(t, map[string]string{
		"task.maxDirectResultSize": rapid.SampledFrom([]string{"0", "100b", "1m"}).Draw(t, "direct"),
		"driver.maxResultSize":     "300k", "executor.cores": "4",
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
				return executorbackend.Serve(ctx, executorbackend.Options{ID: id, Host: "host" + id, Cores: 2, Config: c}, stream)
			})
			d.ExecutorLost(id, driver.Loss{Reason: "was killed"})
		})
	}
	t.Repeat(map[string]func(*rapid.T){
		"submit": func(t *rapid.T) {
			job := resultsOf(rapid.SliceOfN(rapid.SampledFrom([]int{0, 50, 5000, 100_000, 250_000}), 1, 40).Draw(t, "sizes")...)
			slow := rapid.SampledFrom([]time.Duration{0, 0, time.Millisecond, 100 * time.Millisecond}).Draw(t, "slow")
			leave := rapid.SampledFrom([]int{1000, 1000, 3}).Draw(t, "leave")
			jobs.Go(func() {
				seen := map[int]bool{}
				for result, err := range d.Run(context.Background(), job) {
					size := int(binary.BigEndian.Uint64(job.Tasks[result.Index].Input))
					if err != nil || seen[result.Index] || !bytes.Equal(content(result.Index, size), result.Value) {
						t.Errorf("task %d, %d bytes, seen %v, error %v", result.Index, size, seen[result.Index], err)
						return
					}
					if seen[result.Index] = true; len(seen) == leave {
						return
					}
					time.Sleep(slow)
				}
				if len(seen) != len(job.Tasks) {
					t.Errorf("%d of %d results", len(seen), len(job.Tasks))
				}
			})
		},
		"join": func(*rapid.T) { join() },
		"kill": func(t *rapid.T) {
			if len(kills) > 0 {
				kills[rapid.IntRange(0, len(kills)-1).Draw(t, "executor")]()
			}
		},
		"kill soon": func(t *rapid.T) {
			if len(kills) > 0 {
				after := time.Duration(rapid.IntRange(0, 1000).Draw(t, "microseconds")) * time.Microsecond
				time.AfterFunc(after, kills[rapid.IntRange(0, len(kills)-1).Draw(t, "executor")])
			}
		},
		"wait": func(t *rapid.T) {
			time.Sleep(time.Duration(rapid.IntRange(1, 1000).Draw(t, "milliseconds")) * time.Millisecond)
		},
		"look": func(t *rapid.T) {
			for _, e := range d.Status().Executors {
				require.LessOrEqual(t, e.Running, e.Cores)
				require.GreaterOrEqual(t, e.Running, 0)
			}
		},
	})
	join() // with this executor, every job can be completed
	jobs.Wait()
	for _, job := range d.Status().Jobs {
		require.Contains(t, []string{driver.JobStateSucceeded, driver.JobStateCancelled}, job.State, job.Error)
		require.Zero(t, job.FailedAttempts)
	}
	require.NoError(t, d.Stop(context.Background()))
	executors.Wait()
	for _, cancel := range kills {
		cancel()
	}
}
