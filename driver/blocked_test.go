package driver_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
)

func TestTheReasonWhyAJobWaitsIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		d := start(t, driver.Options{Logger: log.logger()})
		done := running(t, d, driver.TaskSet{Name: "count", Tasks: tasks(1)})
		time.Sleep(14 * time.Second)
		require.Empty(t, d.Status().Notes)
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{"job 1 (count) waits: no executor of its resource profile (0) has registered"}, d.Status().Notes)
		require.Contains(t, log.String(), `msg="job waits" job=1 name=count reason="no executor`)

		one := join(t, d, "1", "a", 1)
		one.launches(1)
		require.Empty(t, d.Status().Notes, "it runs")
		large := running(t, d, driver.TaskSet{Name: "large", Tasks: tasks(1), Resources: map[string]float64{"gpu": 1}})
		synctest.Wait()
		busy := running(t, d, driver.TaskSet{Name: "busy", Tasks: tasks(1)})
		time.Sleep(31 * time.Second)
		require.Equal(t, []string{"job 2 (large) waits: each task takes 1 core and 1 of gpu, more than any executor has; there is 1 executor"}, d.Status().Notes,
			"that other tasks run is no news")
		require.NotEmpty(t, d.Status().Jobs[1].WaitReason)
		require.Equal(t, 3, d.CancelGroup("", "enough"))
		require.Error(t, (<-done).err)
		require.Error(t, (<-large).err)
		require.Error(t, (<-busy).err)
		require.Empty(t, d.Status().Notes)
	})
}
