package driver_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// epoch is the initial time of the fake clock of package synctest.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// late receives the error of a call that a goroutine of a task makes after the task's end.
var late = make(chan error, 1)

// meetings counts the tasks that have arrived at each of the three barriers of the function
// "meet".
var meetings [3]atomic.Int64

func init() {
	function.Register("meet", func(ctx context.Context, call function.Call) ([]byte, error) {
		peers := len(call.Driver.Peers())
		for i := range meetings {
			meetings[i].Add(1)
			if err := call.Driver.Barrier(ctx); err != nil {
				return nil, err
			}
			if n := int(meetings[i].Load()); n%peers != 0 {
				return nil, fmt.Errorf("passed barrier %d when %d of %d had come", i, n, peers)
			}
		}
		return []byte(call.Driver.Peers()[call.Index].ExecutorID), nil
	})
	function.Register("meet and fail", func(ctx context.Context, call function.Call) ([]byte, error) {
		if call.AttemptNumber == 0 && call.Index == 1 {
			return nil, errors.New("not this time")
		}
		return nil, call.Driver.Barrier(ctx)
	})
	function.Register("stay away", func(ctx context.Context, call function.Call) ([]byte, error) {
		if call.Index == 1 {
			return nil, nil
		}
		return nil, call.Driver.Barrier(ctx)
	})
	function.Register("come twice", func(ctx context.Context, call function.Call) ([]byte, error) {
		if call.Index == 1 {
			time.Sleep(5 * time.Second)
			return nil, call.Driver.Barrier(ctx)
		}
		first := make(chan error, 1)
		go func() { first <- call.Driver.Barrier(ctx) }()
		time.Sleep(time.Second)
		if err := call.Driver.Barrier(ctx); err == nil || time.Since(epoch) > 3*time.Second {
			return nil, errors.New("it may wait twice at once")
		}
		return nil, <-first
	})
	function.Register("ask too late", func(ctx context.Context, call function.Call) ([]byte, error) {
		go func() {
			<-ctx.Done() // the context ends with the task
			_, err := call.Driver.CanCommit(context.Background())
			late <- err
		}()
		return nil, nil
	})
	function.Register("leave early", func(ctx context.Context, call function.Call) ([]byte, error) {
		if call.Index == 0 {
			limited, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			if err := call.Driver.Barrier(limited); err == nil {
				return nil, errors.New("nobody had come")
			}
			return nil, call.Driver.Barrier(ctx)
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
}

func TestTasksOfABarrierSetPassSeveralBarriers(t *testing.T) {
	for i := range meetings {
		meetings[i].Store(0)
	}
	d := start(t, driver.Options{})
	attach(t, d, executorbackend.Options{ID: "1", Cores: 3})
	attach(t, d, executorbackend.Options{ID: "2", Cores: 2})
	await(t, d, func(s driver.Status) bool { return s.Totals.Executors == 2 })
	results, err := outcome(t.Context(), d, driver.TaskSet{Function: "meet", Tasks: tasks(5), Barrier: true})
	require.NoError(t, err)
	for index, result := range results {
		require.Equal(t, result.ExecutorID, string(result.Value), "where task %d is", index)
	}
	require.Len(t, results, 5)
	require.EqualValues(t, 5, meetings[2].Load())
}

func TestAllTasksOfABarrierSetAreRetried(t *testing.T) {
	d := start(t, driver.Options{})
	attach(t, d, executorbackend.Options{ID: "1", Cores: 4})
	results, err := outcome(t.Context(), d, driver.TaskSet{Function: "meet and fail", Tasks: tasks(4), Barrier: true})
	require.NoError(t, err)
	require.Len(t, results, 4)
	for index, result := range results {
		require.Positive(t, result.AttemptNumber, "task %d", index)
	}
	require.Equal(t, 1, d.Status().Totals.FailedAttempts, "those that were killed are not to blame")

	_, err = outcome(t.Context(), d, driver.TaskSet{Function: "meet and fail", Tasks: tasks(4), Barrier: true, MaxFailures: 1})
	require.ErrorContains(t, err, "not this time")
	await(t, d, func(s driver.Status) bool { return s.Totals.Running == 0 })
}

func TestABarrierFailsIfATaskEndsBeforeIt(t *testing.T) {
	d := start(t, driver.Options{})
	attach(t, d, executorbackend.Options{ID: "1", Cores: 2})
	_, err := outcome(t.Context(), d, driver.TaskSet{Function: "stay away", Tasks: tasks(2), Barrier: true, MaxFailures: 2})
	require.ErrorContains(t, err, "task 1 has ended after 0 barriers: all tasks of the set must come to the same barriers")

	_, err = outcome(t.Context(), d, driver.TaskSet{Function: "meet", Tasks: tasks(1), MaxFailures: 1})
	require.Error(t, err, "its tasks have no peers")
}

func TestABarrierEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{})
		attach(t, d, executorbackend.Options{ID: "1", Cores: 2})
		_, err := outcome(t.Context(), d, driver.TaskSet{Function: "leave early", Tasks: tasks(2), Barrier: true, MaxFailures: 1})
		require.ErrorContains(t, err, "the task's barrier was left before all had come: context deadline exceeded")
	})
}

func TestATaskWaitsAtOneBarrierAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{})
		attach(t, d, executorbackend.Options{ID: "1", Cores: 2})
		_, err := outcome(t.Context(), d, driver.TaskSet{Function: "come twice", Tasks: tasks(2), Barrier: true, MaxFailures: 1})
		require.NoError(t, err)
	})
}

func TestAnEndedTaskCannotCallTheDriver(t *testing.T) {
	d := start(t, driver.Options{})
	attach(t, d, executorbackend.Options{ID: "1"})
	_, err := outcome(t.Context(), d, driver.TaskSet{Function: "ask too late", Tasks: tasks(1)})
	require.NoError(t, err)
	require.ErrorIs(t, <-late, context.Canceled)
}

func TestALostExecutorStartsItsBarrierSetAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{})
		one, other := join(t, d, "1", "a", 1), join(t, d, "2", "b", 1)
		done := running(t, d, driver.TaskSet{Tasks: tasks(2), Barrier: true})
		first, lost := one.launches(1)[0], other.launches(1)[0]
		one.finish(first, "does not count")
		synctest.Wait()
		require.Zero(t, d.Status().Totals.Done)
		other.send(&wire.ExecutorMessage{BarrierArrivals: []*wire.BarrierArrival{{Attempt: lost.GetAttempt()}}})
		require.Contains(t, other.recv().GetBarrierReleases()[0].GetError(), "has ended after 0 barriers")
		other.leave()

		synctest.Wait()
		third := join(t, d, "3", "c", 1)
		again, new := one.launches(1)[0], third.launches(1)[0]
		require.EqualValues(t, 1, again.GetAttemptNumber())
		for _, p := range []*puppet{one, third} {
			launch := map[*puppet]*wire.Launch{one: again, third: new}[p]
			p.send(&wire.ExecutorMessage{BarrierArrivals: []*wire.BarrierArrival{{Attempt: launch.GetAttempt()}}})
		}
		for _, p := range []*puppet{one, third} {
			passes := p.recv().GetBarrierReleases()
			require.Len(t, passes, 1)
			require.Empty(t, passes[0].GetError())
		}
		one.finish(again, "counts")
		third.finish(new, "counts")
		end := <-done
		require.NoError(t, end.err)
		require.Equal(t, "counts", string(end.results[0].Value))
		require.Equal(t, "counts", string(end.results[1].Value))
	})
}

func TestABarrierJobThatNeverFitsFailsAtOnce(t *testing.T) {
	for name, bound := range map[string]map[string]string{
		"fixed number":       {"executor.instances": "2", "executor.cores": "2"},
		"dynamic allocation": {"dynamicAllocation.enabled": "true", "dynamicAllocation.maxExecutors": "2", "executor.cores": "2"},
	} {
		t.Run(name, func(t *testing.T) { neverFits(t, bound) })
	}
}

func neverFits(t *testing.T, bound map[string]string) {
	d := start(t, driver.Options{Config: settings(t, bound), Manager: &manager{}})
	_, err := outcome(t.Context(), d, driver.TaskSet{Name: "wide", Tasks: tasks(5), Barrier: true})
	require.ErrorIs(t, err, driver.ErrUnschedulable)
	require.ErrorContains(t, err, `job "wide": its tasks can run nowhere: its 5 tasks must run at once, and there is room for 4 on as many executors as there may be (2)`)
}

func TestABarrierJobTooLargeForThisProcessFails(t *testing.T) {
	d := start(t, driver.Options{})
	done := running(t, d, driver.TaskSet{Tasks: tasks(3), Barrier: true})
	join(t, d, "1", "a", 2)
	require.ErrorContains(t, (<-done).err, "its 3 tasks must run at once, and there is room for 2 on as many executors as there may be (1)")
}

func TestACancelledBarrierJobLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{})
		one := join(t, d, "1", "a", 2)
		done := running(t, d, driver.TaskSet{Tasks: tasks(2), Barrier: true})
		launches := one.launches(2)
		one.finish(launches[0], "held")
		synctest.Wait()
		require.True(t, d.CancelJob(1, "enough"))
		require.ErrorIs(t, (<-done).err, driver.ErrCancelled)
		require.Equal(t, launches[1].GetAttempt(), one.kill().GetAttempt())
		one.finish(launches[1], "too late")
		synctest.Wait()
		require.Zero(t, d.Status().Totals.Running)
	})
}
