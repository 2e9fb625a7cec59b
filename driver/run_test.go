package driver_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func TestEveryTaskHasItsResultOnce(t *testing.T) {
	d := start(t, driver.Options{})
	attach(t, d, executorbackend.Options{ID: "1"})
	attach(t, d, executorbackend.Options{ID: "2", Cores: 3})
	await(t, d, func(s driver.Status) bool { return s.Totals.Executors == 2 })
	requireSquares(t, t.Context(), d, 500)
	requireSquares(t, t.Context(), d, 1)
	requireSquares(t, t.Context(), d, 0)

	status := d.Status()
	require.Equal(t, 501, status.Totals.Done)
	require.Equal(t, 3, status.Totals.Jobs)
	require.Equal(t, 5, status.Totals.Cores)
	require.Zero(t, status.Totals.Running+status.Totals.Waiting)
	require.Len(t, status.Jobs, 3)
	for i, job := range status.Jobs {
		require.Equal(t, uint64(i+1), job.ID)
		require.Equal(t, driver.JobStateSucceeded, job.State)
		require.Equal(t, job.Total, job.Done)
	}
	require.Equal(t, 501, status.Executors[0].Done+status.Executors[1].Done)
}

func TestJobsRunAtTheSameTime(t *testing.T) {
	d := start(t, driver.Options{})
	attach(t, d, executorbackend.Options{ID: "1"})
	var runs sync.WaitGroup
	for i := range 20 {
		runs.Go(func() { requireSquares(t, t.Context(), d, 10*i) })
	}
	runs.Wait()
}

func TestResultsStreamAsTheyFinish(t *testing.T) {
	d := start(t, driver.Options{})
	p := join(t, d, "1", "h", 3)
	job := driver.TaskSet{Name: "j", Tasks: make([]driver.Task, 3)}
	order := []int{2, 0, 1}
	var launches []*wire.Launch
	next := 0
	finishNext := func() {
		p.finish(launches[order[next]], "r")
	}
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		launches = p.launches(3)
		finishNext()
	}()
	for result, err := range d.Run(t.Context(), job) {
		<-ready
		require.NoError(t, err)
		require.Equal(t, order[next], result.Index)
		// End the next task only now: the driver must deliver a result without waiting for the
		// end of the next task.
		if next++; next < len(order) {
			finishNext()
		}
	}
	require.Equal(t, 3, next)
}

func TestASlowConsumerDelaysNoOtherJob(t *testing.T) {
	d := start(t, driver.Options{})
	attach(t, d, executorbackend.Options{ID: "1"})
	first := true
	count := 0
	for _, err := range d.Run(t.Context(), squares(5000)) {
		require.NoError(t, err)
		if first {
			first = false
			await(t, d, func(s driver.Status) bool { return s.Totals.Done == 5000 })
			requireSquares(t, t.Context(), d, 10)
		}
		count++
	}
	require.Equal(t, 5000, count)
}

func TestAFailedTaskIsRetried(t *testing.T) {
	d := start(t, driver.Options{})
	attach(t, d, executorbackend.Options{ID: "1"})
	results, err := outcome(t.Context(), d, driver.TaskSet{Name: "j", Function: "fail until", Tasks: []driver.Task{
		{Input: number(0)}, {Input: number(3)}, {Input: number(1)},
	}})
	require.NoError(t, err)
	require.Equal(t, []int{0, 3, 1}, []int{results[0].AttemptNumber, results[1].AttemptNumber, results[2].AttemptNumber})
	require.Equal(t, 4, d.Status().Totals.FailedAttempts)
	require.Equal(t, 4, d.Status().Jobs[0].FailedAttempts)
}

func TestJobFailsAfterMaxFailures(t *testing.T) {
	for name, test := range map[string]struct {
		job  driver.TaskSet
		want driver.TaskError
		text string
	}{
		"default": {
			driver.TaskSet{Name: "count", Function: "fail until", Tasks: []driver.Task{{Input: number(0)}, {Input: number(99)}}},
			driver.TaskError{Job: "count", Index: 1, Failures: 4, ExecutorID: "1", Host: "host1", Message: "try 3 went wrong"},
			`task 1 of "count" failed 4 times, last on executor 1 (host1): try 3 went wrong`,
		},
		"own": {
			driver.TaskSet{Name: "count", Function: "fail until", Tasks: []driver.Task{{Input: number(99)}}, MaxFailures: 1},
			driver.TaskError{Job: "count", Index: 0, Failures: 1, ExecutorID: "1", Host: "host1", Message: "try 0 went wrong"},
			`task 0 of "count" failed once, last on executor 1 (host1): try 0 went wrong`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, driver.Options{})
			attach(t, d, executorbackend.Options{ID: "1"})
			_, err := outcome(t.Context(), d, test.job)
			var failure *driver.TaskError
			require.ErrorAs(t, err, &failure)
			require.Equal(t, test.want, *failure)
			require.EqualError(t, err, test.text)
			status := d.Status().Jobs[0]
			require.Equal(t, driver.JobStateFailed, status.State)
			require.Equal(t, test.text, status.Error)
			requireSquares(t, t.Context(), d, 10) // the driver still works
		})
	}
}

func TestPanicIsTheJobsErrorWithItsStack(t *testing.T) {
	d := start(t, driver.Options{})
	attach(t, d, executorbackend.Options{ID: "1"})
	_, err := outcome(t.Context(), d, driver.TaskSet{Name: "p", Function: "panic", Tasks: make([]driver.Task, 1), MaxFailures: 2})
	require.ErrorContains(t, err, `task 0 of "p" failed 2 times, last on executor 1 (host1): panic: the user's mistake`+"\n")
	require.ErrorContains(t, err, "driver_test.TestMain.func")
	require.ErrorContains(t, err, "harness_test.go:")
}

func TestAPermanentFailureIsNotRetried(t *testing.T) {
	d := start(t, driver.Options{})
	attach(t, d, executorbackend.Options{ID: "1"})
	_, err := outcome(t.Context(), d, driver.TaskSet{Name: "j", Function: "no such", Tasks: make([]driver.Task, 1)})
	require.ErrorContains(t, err, `task 0 of "j" failed once, last on executor 1 (host1): this program has no function "no such"`)
}

func TestCancelKillsRunningTasks(t *testing.T) {
	d := start(t, driver.Options{})
	attach(t, d, executorbackend.Options{ID: "1"})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		await(t, d, func(s driver.Status) bool { return s.Totals.Running == 2 })
		cancel(errTest)
	}()
	_, err := outcome(ctx, d, driver.TaskSet{Name: "w", Function: "wait", Tasks: make([]driver.Task, 5)})
	require.ErrorIs(t, err, errTest)
	// The killed tasks have freed their cores.
	requireSquares(t, t.Context(), d, 10)
	status := d.Status().Jobs[0]
	require.Equal(t, driver.JobStateCancelled, status.State)
	require.Equal(t, errTest.Error(), status.Error)

	_, err = outcome(ctx, d, squares(1))
	require.ErrorIs(t, err, errTest)
	require.Len(t, d.Status().Jobs, 2, "a job whose context has ended is not submitted")
}

func TestCancelDoesNotWaitForTheConsumer(t *testing.T) {
	d := start(t, driver.Options{})
	attach(t, d, executorbackend.Options{ID: "1", Cores: 2})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	job := driver.TaskSet{Function: "fail until", Tasks: []driver.Task{{Input: number(0)}}}
	for range 50 {
		job.Tasks = append(job.Tasks, driver.Task{Input: number(1000)})
	}
	job.MaxFailures = 1 << 20
	var last error
	for _, err := range d.Run(ctx, job) {
		if last = err; err == nil {
			cancel(errTest)
			await(t, d, func(s driver.Status) bool { return s.Jobs[0].State == driver.JobStateCancelled })
		}
	}
	require.ErrorIs(t, last, errTest)
}

func TestLeavingTheLoopKillsRunningTasks(t *testing.T) {
	d := start(t, driver.Options{})
	attach(t, d, executorbackend.Options{ID: "1", Cores: 1})
	job := naps(1000, time.Millisecond)
	job.Tasks[0].Input = number(0)
	for range d.Run(t.Context(), job) {
		break
	}
	requireSquares(t, t.Context(), d, 10)
	require.Equal(t, driver.JobStateCancelled, d.Status().Jobs[0].State)
}

func TestStopEndsRuns(t *testing.T) {
	d := start(t, driver.Options{})
	e := attach(t, d, executorbackend.Options{ID: "1"})
	stopped := make(chan error, 1)
	go func() {
		await(t, d, func(s driver.Status) bool { return s.Totals.Running == 2 })
		stopped <- d.Stop(t.Context())
	}()
	_, err := outcome(t.Context(), d, driver.TaskSet{Name: "w", Function: "wait", Tasks: make([]driver.Task, 5)})
	require.ErrorIs(t, err, driver.ErrStopped)
	require.NoError(t, <-stopped)
	<-e.ended
	require.NoError(t, e.err)
	_, err = outcome(t.Context(), d, squares(1))
	require.ErrorIs(t, err, driver.ErrStopped)
	require.Equal(t, driver.Status{}, d.Status())
	d.ExecutorLost("1", driver.Loss{})
	d.SetManager(&manager{})
	require.ErrorIs(t, d.Attach(t.Context(), nil), driver.ErrStopped)
}

func TestStopWhileExecutorsRegisterAndJobsRun(t *testing.T) {
	for range 50 {
		d := start(t, driver.Options{})
		var others sync.WaitGroup
		for i := range 4 {
			others.Go(func() {
				_ = d.AttachLocal(t.Context(), func(ctx context.Context, stream wire.ExecutorSide) error {
					return executorbackend.Serve(ctx, executorbackend.Options{ID: string(rune('0' + i)), Host: "h"}, stream)
				})
			})
			others.Go(func() {
				if _, err := outcome(t.Context(), d, squares(3)); err != nil {
					assert.ErrorIs(t, err, driver.ErrStopped)
				}
			})
			others.Go(func() { assert.NoError(t, d.Stop(t.Context())) })
		}
		others.Wait()
	}
}

func TestStopWaitsABoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := driver.New(driver.Options{})
		require.NoError(t, err)
		p := join(t, d, "1", "h", 1)
		q := join(t, d, "2", "h", 1)
		go func() {
			// One executor stops. The other one does not respond until it is lost.
			for q.recv().GetStop() == nil {
			}
			q.leave()
			require.Nil(t, p.recv().GetTaskSets())
			_, err := p.stream.Recv()
			require.Error(t, err)
			p.leave()
		}()
		began := time.Now()
		require.EqualError(t, d.Stop(t.Context()), "executors 1 had not left when the driver stopped")
		require.Equal(t, 5*time.Second, time.Since(began))
		synctest.Wait()
	})
}

func TestCommonPartGoesToAnExecutorOnce(t *testing.T) {
	d := start(t, driver.Options{})
	p := join(t, d, "1", "h", 1)
	job := driver.TaskSet{Name: "j", Function: "f", Shared: bytes.Repeat([]byte("common"), 100<<10), Tasks: make([]driver.Task, 4)}
	done := make(chan error, 1)
	go func() { _, err := outcome(t.Context(), d, job); done <- err }()
	sets, tasks, forgotten := 0, 0, []uint64(nil)
	for forgotten == nil {
		message := p.recv()
		for _, set := range message.GetTaskSets() {
			sets++
			require.Equal(t, "j", set.GetName())
			require.Equal(t, "f", set.GetFunction())
			require.Equal(t, job.Shared, set.GetCommon())
		}
		for _, launch := range single(message) {
			tasks++
			p.finish(launch, "")
		}
		forgotten = message.GetForget()
	}
	require.NoError(t, <-done)
	require.Equal(t, 1, sets)
	require.Equal(t, 4, tasks)
	require.Equal(t, []uint64{1}, forgotten)
	p.leave()
}

func TestLateRepeatedAndUnknownMessagesAreHarmless(t *testing.T) {
	d := start(t, driver.Options{})
	p := join(t, d, "1", "h", 1)
	q := join(t, d, "2", "h", 1)
	done := make(chan error, 1)
	var results map[int]driver.Result
	go func() {
		var err error
		results, err = outcome(t.Context(), d, driver.TaskSet{Name: "j", Tasks: make([]driver.Task, 2)})
		done <- err
	}()
	mine, other := p.launches(1)[0], q.launches(1)[0]
	finished := func(attempt uint64, result string) *wire.TaskUpdate {
		return &wire.TaskUpdate{Attempt: attempt, State: wire.TaskState_TASK_STATE_FINISHED, Result: []byte(result)}
	}
	p.send(&wire.ExecutorMessage{})
	p.send(&wire.ExecutorMessage{
		Heartbeat: &wire.Heartbeat{ResidentBytes: 5, Progress: []*wire.TaskProgress{{Attempt: mine.GetAttempt()}, {Attempt: 77}}},
		Updates: []*wire.TaskUpdate{
			finished(12345, "unknown"),
			finished(other.GetAttempt(), "another executor's"),
			finished(mine.GetAttempt(), "right"),
			finished(mine.GetAttempt(), "twice"),
			{Attempt: mine.GetAttempt(), State: wire.TaskState_TASK_STATE_PART, Result: []byte("late")},
			{Attempt: mine.GetAttempt(), State: wire.TaskState_TASK_STATE_FAILED},
		},
	})
	p.send(&wire.ExecutorMessage{Register: &wire.Register{ExecutorId: "9", Host: "h", Cores: 1}})
	q.send(&wire.ExecutorMessage{Updates: []*wire.TaskUpdate{
		{Attempt: other.GetAttempt(), State: wire.TaskState_TASK_STATE_PART, Result: []byte("early")},
		{Attempt: other.GetAttempt(), State: wire.TaskState_TASK_STATE_STORED, StoredBytes: 14},
		{Attempt: other.GetAttempt(), State: wire.TaskState_TASK_STATE_STORED, StoredBytes: 14},
		{Attempt: other.GetAttempt(), State: wire.TaskState_TASK_STATE_PART, Result: []byte("in ")},
		{Attempt: other.GetAttempt(), State: wire.TaskState_TASK_STATE_PART, Result: []byte("three ")},
		finished(other.GetAttempt(), "parts"),
	}})
	require.NoError(t, <-done)
	require.Equal(t, "right", string(results[int(mine.GetIndexes()[0])].Value))
	require.Equal(t, "in three parts", string(results[int(other.GetIndexes()[0])].Value))
	status := await(t, d, func(s driver.Status) bool { return s.Executors[0].ResidentBytes == 5 })
	require.Len(t, status.Executors, 2)
	p.leave()
	q.leave()
}

func TestATooLargeInputFailsBeforeAnyTaskRuns(t *testing.T) {
	d := start(t, driver.Options{})
	huge := make([]byte, wire.MaxInput+1) // not written, so it occupies no memory
	_, err := outcome(t.Context(), d, driver.TaskSet{Name: "j", Tasks: []driver.Task{{}, {Input: huge}}})
	require.ErrorContains(t, err, `job "j": the input of task 1 takes 1073741825 bytes encoded, the most is 1073741824`)
	_, err = outcome(t.Context(), d, driver.TaskSet{Name: "j", Shared: huge})
	require.ErrorContains(t, err, `job "j": what its tasks share takes 1073741825 bytes`)
	require.Empty(t, d.Status().Jobs)
}
