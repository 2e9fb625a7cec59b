package driver_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// short runs a job on a puppet with one core. The puppet reports that the first task ended after
// a microsecond, and grants a window. short returns the message with which the driver queues
// tasks in the window.
func short(t *testing.T, d *driver.Driver, job driver.TaskSet, window uint32) (p *puppet, done <-chan ended, queued *wire.DriverMessage) {
	p = join(t, d, "1", "h", 1)
	done = running(t, d, job)
	first := p.launches(1)[0]
	require.False(t, first.GetQueued())
	p.send(&wire.ExecutorMessage{Successes: successes(single(&wire.DriverMessage{Launches: []*wire.Launch{first}})),
		Window: &wire.Window{TaskSet: first.GetTaskSet(), Tasks: window}})
	return p, done, p.recv()
}

// successes reports the success of attempts after a microsecond, with their inputs as results.
func successes(launches []*wire.Launch) *wire.Successes {
	var b wire.SuccessBuilder
	for _, launch := range launches {
		b.Add(&wire.TaskUpdate{
			Attempt: launch.GetAttempt(), State: wire.TaskState_TASK_STATE_FINISHED, Result: launch.Input(0), Metrics: &wire.Metrics{RunNanos: 1000},
		})
	}
	return b.Take()
}

func TestAttemptsThatAreAlikeShareALaunch(t *testing.T) {
	job := squares(100)
	p, done, message := short(t, start(t, driver.Options{}), job, 1000)
	require.Len(t, message.GetLaunches(), 2)
	require.Len(t, message.GetLaunches()[0].GetIndexes(), 1, "it has a core")
	queued := message.GetLaunches()[1]
	require.True(t, queued.GetQueued())
	require.Len(t, queued.GetIndexes(), 98)
	for i, index := range queued.GetIndexes() {
		require.Equal(t, job.Tasks[index].Input, queued.Input(i))
	}

	launches := p.launches(99)
	failed := launches[50]
	p.send(&wire.ExecutorMessage{
		Successes: successes(append(launches[:50:50], launches[51:]...)),
		Updates: []*wire.TaskUpdate{{Attempt: failed.GetAttempt(), State: wire.TaskState_TASK_STATE_FAILED,
			Failure: &wire.Failure{Message: "not yet"}}},
	})
	again := p.launches(1)[0]
	require.Equal(t, failed.GetIndexes(), again.GetIndexes())
	require.EqualValues(t, 1, again.GetAttemptNumber())
	p.send(&wire.ExecutorMessage{Successes: successes([]*wire.Launch{again})})
	end := <-done
	require.NoError(t, end.err)
	require.Len(t, end.results, 100)
	for index, result := range end.results {
		require.Equal(t, job.Tasks[index].Input, result.Value)
	}
	p.leave()
}

func TestAnExecutorThatSendsUnreadableSuccessesIsLost(t *testing.T) {
	d := start(t, driver.Options{})
	p := join(t, d, "1", "h", 1)
	done := running(t, d, squares(1))
	cut := successes(p.launches(1))
	cut.RunNanos = cut.RunNanos[:1]
	p.send(&wire.ExecutorMessage{Successes: cut})
	_, err := p.stream.Recv()
	require.Error(t, err)

	other := join(t, d, "2", "h", 1)
	again := other.launches(1)[0]
	require.EqualValues(t, 1, again.GetAttemptNumber(), "it has failed once")
	other.finish(again, "all of it")
	end := <-done
	require.NoError(t, end.err)
	require.Equal(t, "all of it", string(end.results[0].Value))
	require.Contains(t, d.Status().Executors[1].LossReason, "cannot be read")
	other.leave()
}

// When an executor is decommissioned, its queued tasks are recalled. A recall is not a failure
// of these tasks, and they are launched on the next free core of another executor.
func TestQueuedTasksAreRecalled(t *testing.T) {
	d := start(t, driver.Options{})
	p, done, _ := short(t, d, squares(100), 10)
	launches := p.launches(11)
	d.Decommission([]string{"1"}, driver.DecommissionNotice{Reason: "its node goes"})
	for !p.recv().GetRecall() {
	}
	var back []*wire.TaskUpdate
	for _, launch := range launches[1:] {
		require.True(t, launch.GetQueued())
		back = append(back, &wire.TaskUpdate{Attempt: launch.GetAttempt(), State: wire.TaskState_TASK_STATE_RECALLED})
	}
	p.send(&wire.ExecutorMessage{Updates: back})
	// Wait until the driver has handled these updates, because it may handle the messages of two
	// executors in any order.
	await(t, d, func(status driver.Status) bool { return status.Jobs[0].Running == 1 })
	other := join(t, d, "2", "h", 1)
	for i := range 98 {
		again := other.launches(1)[0]
		require.False(t, again.GetQueued())
		require.Zero(t, again.GetAttemptNumber(), "it was not begun")
		if i < 10 {
			require.Equal(t, launches[1+i].GetIndexes(), again.GetIndexes(), "what came back goes first")
		}
		other.finish(again, "")
	}
	p.finish(launches[0], "")
	end := <-done
	require.NoError(t, end.err)
	require.Len(t, end.results, 100)
	other.leave()
}

// A job of another pool gets the cores for which queued tasks wait.
func TestQueuedTasksAreRecalledForAnotherPool(t *testing.T) {
	d := start(t, driver.Options{Config: settings(t, map[string]string{"scheduler.mode": "FAIR"})})
	p, done, _ := short(t, d, squares(100), 10)
	launches := p.launches(11)
	second := squares(1)
	second.Pool = "second"
	other := running(t, d, second)
	require.True(t, p.recv().GetRecall())
	message := &wire.ExecutorMessage{Successes: successes(launches[:1])}
	for _, launch := range launches[1:] {
		message.Updates = append(message.Updates, &wire.TaskUpdate{Attempt: launch.GetAttempt(), State: wire.TaskState_TASK_STATE_RECALLED})
	}
	p.send(message)
	for range 99 {
		for len(p.received) == 0 {
			p.recv()
		}
		p.finish(p.received[0], "")
		p.received = p.received[1:]
	}
	require.NoError(t, (<-other).err)
	require.NoError(t, (<-done).err)
	p.leave()
}

func TestLargeInputsAreSentInSeveralMessages(t *testing.T) {
	job := driver.TaskSet{Name: "large", Tasks: make([]driver.Task, 20)}
	for i := range job.Tasks {
		job.Tasks[i].Input = make([]byte, wire.MaxPart/3+i)
	}
	p, done, message := short(t, start(t, driver.Options{}), job, 1000)
	messages := []*wire.DriverMessage{message}
	for len(p.received) < 19 {
		messages = append(messages, p.recv())
	}
	for _, message := range messages {
		size := 0
		for _, launch := range message.GetLaunches() {
			require.Less(t, launch.Size(), 2*wire.MaxPart)
			size += launch.Size()
		}
		require.Less(t, size, 3*wire.MaxPart)
	}
	p.send(&wire.ExecutorMessage{Successes: successes(p.launches(19))})
	end := <-done
	require.NoError(t, end.err)
	for index, result := range end.results {
		require.Len(t, result.Value, len(job.Tasks[index].Input))
	}
	p.leave()
}

func TestForgettingASetNeedsNoMessageOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{})
		p := join(t, d, "1", "h", 1)
		run := func(common int) *wire.DriverMessage {
			job := squares(1)
			job.Shared = make([]byte, common)
			done := running(t, d, job)
			message := p.recv()
			p.finish(p.launches(1)[0], "")
			require.NoError(t, (<-done).err)
			return message
		}
		require.Empty(t, run(0).GetForget())
		require.Equal(t, []uint64{1}, run(200<<10).GetForget(), "it goes with what comes next")
		time.Sleep(time.Minute)
		require.Equal(t, []uint64{2}, run(0).GetForget(), "however late that is")
		run(1 << 20)
		require.Equal(t, []uint64{4}, p.recv().GetForget(), "what is large is not kept")
		p.leave()
	})
}
