package driver_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
)

// localTasks runs a job of short tasks that prefer hosts a and b alternately. It returns how
// many attempts ran on a preferred host.
func localTasks(t *testing.T, d *driver.Driver, tasks int) int {
	job := driver.TaskSet{Name: "naps", Function: "nap"}
	for i := range tasks {
		job.Tasks = append(job.Tasks, driver.Task{Input: number(uint64(time.Millisecond)), Hosts: []string{[]string{"a", "b"}[i%2]}})
	}
	_, err := outcome(t.Context(), d, job)
	require.NoError(t, err)
	return d.Status().Totals.Locality.NodeLocal
}

func TestTasksWaitForAnExecutorOnTheirHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{Manager: &manager{}})
		attach(t, d, executorbackend.Options{ID: "1", Host: "a", Cores: 1})
		time.AfterFunc(2*time.Second, func() { attach(t, d, executorbackend.Options{ID: "2", Host: "b", Cores: 1}) })
		require.Equal(t, 100, localTasks(t, d, 100))
	})
}

func TestTasksDoNotWaitLongForAMissingExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{Manager: &manager{}})
		attach(t, d, executorbackend.Options{ID: "1", Host: "a", Cores: 1})
		began := time.Now()
		require.Equal(t, 50, localTasks(t, d, 100))
		require.Less(t, time.Since(began), 4*time.Second, "no longer than locality.wait")
		time.Sleep(30 * time.Second)
		began = time.Now()
		localTasks(t, d, 100)
		require.Less(t, time.Since(began), time.Second, "later it is not waited for at all")
	})
}
