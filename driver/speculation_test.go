package driver_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// running starts a job, and returns a channel for the job's end.
func running(t *testing.T, d *driver.Driver, job driver.TaskSet) <-chan ended {
	done := make(chan ended, 1)
	go func() {
		results, err := outcome(t.Context(), d, job)
		done <- ended{results, err}
	}()
	return done
}

type ended struct {
	results map[int]driver.Result
	err     error
}

func tasks(count int) []driver.Task { return make([]driver.Task, count) }

// ask sends a commit request for an attempt, and returns the reply.
func (p *puppet) ask(launch *wire.Launch) bool {
	p.send(&wire.ExecutorMessage{CommitRequests: []uint64{launch.GetAttempt()}})
	for {
		if replies := p.recv().GetCommitReplies(); len(replies) > 0 {
			require.Len(p.t, replies, 1)
			require.Equal(p.t, launch.GetAttempt(), replies[0].GetAttempt())
			return replies[0].GetAllowed()
		}
	}
}

// kill receives messages until it receives a kill, and returns the kill.
func (p *puppet) kill() *wire.KillTask {
	for {
		if kills := p.recv().GetKills(); len(kills) > 0 {
			require.Len(p.t, kills, 1)
			return kills[0]
		}
	}
}

func (p *puppet) update(launch *wire.Launch, update *wire.TaskUpdate) {
	update.Attempt = launch.GetAttempt()
	p.send(&wire.ExecutorMessage{Updates: []*wire.TaskUpdate{update}})
}

func TestASlowTaskIsCopiedAndTheLoserKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{Config: settings(t, map[string]string{"speculation": "true", "speculation.quantile": "0.5"})})
		slow, fast := join(t, d, "1", "a", 2), join(t, d, "2", "b", 2)
		done := running(t, d, driver.TaskSet{Name: "copied", Tasks: tasks(4)})
		at := map[uint32]*wire.Launch{}
		for _, launch := range slow.launches(2) {
			at[launch.GetIndexes()[0]] = launch
		}
		straggler := at[0]
		for index, launch := range at {
			if index != straggler.GetIndexes()[0] {
				slow.finish(launch, "slow")
			}
		}
		for _, launch := range fast.launches(2) {
			fast.finish(launch, "fast")
		}
		began := time.Now()
		launched := fast.launches(1)[0]
		require.InDelta(t, 200*time.Millisecond, time.Since(began), float64(100*time.Millisecond), "speculation.minTaskRuntime and speculation.interval")
		require.Equal(t, straggler.GetIndexes()[0], launched.GetIndexes()[0])
		require.NotEqual(t, straggler.GetAttemptNumber(), launched.GetAttemptNumber(), "each attempt has a number of its own")

		require.True(t, fast.ask(launched))
		require.False(t, slow.ask(straggler), "one commits its output")
		fast.finish(launched, "the copy's")
		kill := slow.kill()
		require.Equal(t, straggler.GetAttempt(), kill.GetAttempt())
		require.Equal(t, "another attempt of the task was faster", kill.GetReason())
		require.False(t, slow.ask(straggler), "its output is committed")
		slow.finish(straggler, "too late")

		end := <-done
		require.NoError(t, end.err)
		require.Len(t, end.results, 4)
		require.Equal(t, "the copy's", string(end.results[int(straggler.GetIndexes()[0])].Value))
		status := d.Status()
		require.Equal(t, 4, status.Totals.Done)
		require.Zero(t, status.Totals.FailedAttempts)
		require.Equal(t, 1, status.Jobs[0].SpeculativeCopies)
	})
}

func TestWithoutSpeculationNothingIsCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{})
		one, other := join(t, d, "1", "a", 1), join(t, d, "2", "b", 1)
		done := running(t, d, driver.TaskSet{Tasks: tasks(2)})
		straggler := one.launches(1)[0]
		other.finish(other.launches(1)[0], "")
		time.Sleep(time.Minute)
		require.Zero(t, d.Status().Jobs[0].SpeculativeCopies)
		one.finish(straggler, "")
		require.NoError(t, (<-done).err)
	})
}

func TestAnotherAttemptMayCommitAfterTheFirstFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{})
		one, other := join(t, d, "1", "a", 1), join(t, d, "2", "b", 1)
		done := running(t, d, driver.TaskSet{Tasks: []driver.Task{{Hosts: []string{"a"}}}})
		first := one.launches(1)[0]
		require.True(t, one.ask(first))
		require.True(t, one.ask(first), "it may ask again")
		require.False(t, other.ask(&wire.Launch{Attempt: 99}), "an attempt that nobody knows")
		require.False(t, other.ask(first), "an attempt of another executor")
		one.update(first, &wire.TaskUpdate{State: wire.TaskState_TASK_STATE_FAILED, Failure: &wire.Failure{Message: "the disk is full"}})
		second := other.launches(1)[0]
		require.False(t, one.ask(first), "it has ended")
		require.True(t, other.ask(second))
		other.leave() // the executor of the attempt that may commit is lost during the commit
		third := one.launches(1)[0]
		require.True(t, one.ask(third))
		one.finish(third, "")
		require.NoError(t, (<-done).err)
	})
}

func TestADeniedCommitDoesNotCountAsFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{})
		one := join(t, d, "1", "a", 1)
		done := running(t, d, driver.TaskSet{Tasks: tasks(1), MaxFailures: 1})
		denied := &wire.Failure{Message: "another attempt commits", Uncounted: true}
		one.update(one.launches(1)[0], &wire.TaskUpdate{State: wire.TaskState_TASK_STATE_FAILED, Failure: denied})
		one.finish(one.launches(1)[0], "")
		require.NoError(t, (<-done).err)
	})
}
