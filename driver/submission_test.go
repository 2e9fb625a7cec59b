package driver_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler/pool"
)

// recordingListener is a listener that records its calls.
type recordingListener struct {
	mu       sync.Mutex
	done     []driver.Result
	failures []driver.TaskFailure
	ended    chan error
}

func newRecordingListener() *recordingListener { return &recordingListener{ended: make(chan error, 1)} }

func (l *recordingListener) TaskDone(result driver.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = append(l.done, result)
}

func (l *recordingListener) TaskFailed(failure driver.TaskFailure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, failure)
}

func (l *recordingListener) Ended(err error) { l.ended <- err }

func submit(t *testing.T, d *driver.Driver, job driver.TaskSet) (*driver.Submission, *recordingListener) {
	listener := newRecordingListener()
	submission, err := d.Submit(job, listener)
	require.NoError(t, err)
	return submission, listener
}

func TestAListenerReceivesEachEnd(t *testing.T) {
	d := start(t, driver.Options{Manager: &manager{}})
	one, two := join(t, d, "1", "h1", 1), join(t, d, "2", "h2", 1)
	_, listener := submit(t, d, squares(2))
	first, second := one.launches(1)[0], two.launches(1)[0]

	one.send(&wire.ExecutorMessage{Updates: []*wire.TaskUpdate{{Attempt: first.GetAttempt(), State: wire.TaskState_TASK_STATE_FAILED,
		Failure: &wire.Failure{Message: "not yet", Stack: "here"}}}})
	await(t, d, func(s driver.Status) bool { return s.Totals.FailedAttempts == 1 })
	d.ExecutorLost("2", driver.Loss{Reason: "was preempted"})
	for range 2 {
		one.finish(one.launches(1)[0], "")
	}
	require.NoError(t, <-listener.ended)

	require.Equal(t, []driver.TaskFailure{
		{Index: int(first.GetIndexes()[0]), ExecutorID: "1", Host: "h1", Reason: driver.ReasonFunctionFailed, Message: "not yet", Stack: "here", Failures: 1},
		{Index: int(second.GetIndexes()[0]), ExecutorID: "2", Host: "h2", Reason: driver.ReasonExecutorLost, Message: "the executor was preempted"},
	}, listener.failures)
	require.Len(t, listener.done, 2)
	for _, result := range listener.done {
		require.Equal(t, 1, result.AttemptNumber)
	}
	one.leave()
}

// When outputs of a stage are lost, a new task set repeats the tasks of these outputs, with the
// original indexes and before the tasks of later sets.
func TestASetRepeatsTasksOfAnEarlierOne(t *testing.T) {
	d := start(t, driver.Options{})
	p := join(t, d, "1", "h", 1)
	submit := func(job driver.TaskSet) *recordingListener { _, listener := submit(t, d, job); return listener }
	busy := submit(driver.TaskSet{Name: "busy", Function: "noop", Tasks: make([]driver.Task, 1), Priority: pool.Priority{Job: 1}})
	running := p.launches(1)[0]
	later := submit(driver.TaskSet{Name: "later", Function: "noop", Tasks: make([]driver.Task, 1), Priority: pool.Priority{Job: 2, Stage: 1}})
	part := submit(driver.TaskSet{Name: "part", Function: "noop", Tasks: make([]driver.Task, 2), Indexes: []int{7, 3},
		Priority: pool.Priority{Job: 1, Stage: 4}})
	p.finish(running, "")
	require.NoError(t, <-busy.ended)
	for _, index := range []uint32{7, 3} {
		launch := p.launches(1)[0]
		require.Equal(t, []uint32{index}, launch.GetIndexes())
		p.finish(launch, fmt.Sprint(index))
	}
	require.NoError(t, <-part.ended)
	p.finish(p.launches(1)[0], "")
	require.NoError(t, <-later.ended)
	require.Equal(t, 7, part.done[0].Index)
	require.Equal(t, "3", string(part.done[1].Value))

	for _, wrong := range []driver.TaskSet{
		{Name: "uneven", Tasks: make([]driver.Task, 2), Indexes: []int{1}},
		{Name: "negative", Tasks: make([]driver.Task, 1), Indexes: []int{-1}},
		{Name: "barrier", Tasks: make([]driver.Task, 1), Indexes: []int{1}, Barrier: true},
	} {
		_, err := d.Submit(wrong, newRecordingListener())
		require.ErrorContains(t, err, wrong.Name)
	}
	p.leave()
}

func TestTasksPreferExecutors(t *testing.T) {
	d := start(t, driver.Options{})
	one, two := join(t, d, "1", "h", 1), join(t, d, "2", "h", 1)
	job := squares(2)
	job.Tasks[0].Executors, job.Tasks[1].Executors = []string{"2"}, []string{"1"}
	_, listener := submit(t, d, job)
	two.finish(two.launches(1)[0], "0")
	one.finish(one.launches(1)[0], "1")
	require.NoError(t, <-listener.ended)
	for _, result := range listener.done {
		require.Equal(t, fmt.Sprint(2-result.Index), result.ExecutorID)
	}
	require.Equal(t, 2, d.Status().Totals.Locality.ProcessLocal)
	one.leave()
	two.leave()
}

func TestASubmissionIsCancelledWithItsCause(t *testing.T) {
	d := start(t, driver.Options{})
	p := join(t, d, "1", "h", 1)
	submission, listener := submit(t, d, squares(1))
	p.launches(1)
	submission.Cancel(errTest)
	submission.Cancel(errors.New("too late"))
	require.ErrorIs(t, <-listener.ended, errTest)
	require.Len(t, p.recv().GetKills(), 1)
	require.Equal(t, driver.JobStateCancelled, d.Status().Jobs[0].State)
	p.leave()
}

func TestNothingIsSubmittedToAStoppedDriver(t *testing.T) {
	d, err := driver.New(driver.Options{})
	require.NoError(t, err)
	_, listener := submit(t, d, squares(1))
	require.NoError(t, d.Stop(context.Background()))
	require.ErrorIs(t, <-listener.ended, driver.ErrStopped)
	_, err = d.Submit(squares(1), newRecordingListener())
	require.ErrorIs(t, err, driver.ErrStopped)
}

// visits records executors that are added and lost.
type visits chan string

func (v visits) ExecutorAdded(e driver.ExecutorInfo) {
	v <- fmt.Sprintf("%s added on %s with %d", e.ID, e.Host, e.Cores)
}
func (v visits) ExecutorDecommissioned(driver.ExecutorInfo) bool   { return false }
func (v visits) ExecutorLost(e driver.ExecutorInfo, reason string) { v <- e.ID + " " + reason }

func TestExecutorListener(t *testing.T) {
	d := start(t, driver.Options{Manager: &manager{}})
	join(t, d, "1", "h1", 1)
	told := make(visits, 10)
	stop := d.Listen(told)
	require.Equal(t, "1 added on h1 with 1", <-told)
	join(t, d, "2", "h2", 4)
	require.Equal(t, "2 added on h2 with 4", <-told)
	d.ExecutorLost("1", driver.Loss{Reason: "was preempted"})
	require.Equal(t, "1 was preempted", <-told)
	stop()
	d.ExecutorLost("2", driver.Loss{Reason: "was preempted"})
	await(t, d, func(s driver.Status) bool { return s.Totals.Executors == 0 })
	require.Empty(t, told)
}
