package driver_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func TestAJobIsCancelledByItsIDWithAReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{})
		one := join(t, d, "1", "a", 2)
		unwanted := running(t, d, driver.TaskSet{Name: "unwanted", Tasks: tasks(3)})
		synctest.Wait()
		wanted := running(t, d, driver.TaskSet{Name: "wanted", Tasks: tasks(1)})
		launches := one.launches(2)
		require.False(t, d.CancelJob(7, "no such job"))
		require.True(t, d.CancelJob(1, "nobody wants it"))
		require.False(t, d.CancelJob(1, "again"))
		err := (<-unwanted).err
		require.ErrorIs(t, err, driver.ErrCancelled)
		require.EqualError(t, err, `job "unwanted" was cancelled: nobody wants it`)
		kills := one.recv().GetKills()
		require.Len(t, kills, 2)
		for i, kill := range kills {
			require.Equal(t, launches[i].GetAttempt(), kill.GetAttempt())
			require.Contains(t, kill.GetReason(), "was cancelled: nobody wants it")
			one.update(launches[i], &wire.TaskUpdate{State: wire.TaskState_TASK_STATE_KILLED})
		}
		one.finish(one.launches(1)[0], "")
		require.NoError(t, (<-wanted).err)
		jobs := d.Status().Jobs
		require.Equal(t, driver.JobStateCancelled, jobs[0].State)
		require.Equal(t, driver.JobStateSucceeded, jobs[1].State)
	})
}

func TestAGroupIsCancelledAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{})
		attach(t, d, executorbackend.Options{ID: "1", Cores: 4})
		job := driver.TaskSet{Function: "wait", Tasks: tasks(2), Group: "reports", Description: "the month's"}
		one, two := running(t, d, job), running(t, d, job)
		synctest.Wait()
		job.Group = "other"
		other := running(t, d, job)
		synctest.Wait()
		require.Equal(t, "reports", d.Status().Jobs[0].Group)
		require.Equal(t, "the month's", d.Status().Jobs[0].Description)
		require.Zero(t, d.CancelGroup("none", "x"))
		require.Equal(t, 2, d.CancelGroup("reports", "the month is over"))
		require.ErrorIs(t, (<-one).err, driver.ErrCancelled)
		require.ErrorIs(t, (<-two).err, driver.ErrCancelled)
		synctest.Wait()
		require.Equal(t, 2, d.Status().Totals.Running)
		require.Equal(t, 1, d.CancelGroup("other", "enough"))
		require.ErrorIs(t, (<-other).err, driver.ErrCancelled)
	})
}
