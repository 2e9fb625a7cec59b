package driver_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/function"
)

func init() {
	function.Register("fail on bad", func(_ context.Context, call function.Call) ([]byte, error) {
		time.Sleep(time.Second)
		if call.Host == "bad" {
			return nil, errors.New("its disk is broken")
		}
		return nil, nil
	})
}

func failsOnBad(tasks int) driver.TaskSet {
	return driver.TaskSet{Name: "picky", Function: "fail on bad", Tasks: make([]driver.Task, tasks)}
}

func TestNodesWhereTasksFailAreExcluded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &manager{}
		d := start(t, driver.Options{Manager: m, Config: settings(t, map[string]string{
			"excludeOnFailure.enabled": "true", "excludeOnFailure.application.maxFailedExecutorsPerNode": "1",
			"excludeOnFailure.killExcludedExecutors": "true", "executor.cores": "2",
		})})
		bad := attach(t, d, executorbackend.Options{ID: "1", Host: "bad"})
		attach(t, d, executorbackend.Options{ID: "2", Host: "good"})
		synctest.Wait()
		require.NoError(t, <-begin(t.Context(), d, failsOnBad(10)))
		<-bad.ended
		require.NoError(t, bad.err, "it is told to stop")
		time.Sleep(time.Second)
		require.Equal(t, []string{"1"}, m.asksToKill())
		asked := m.asked()
		require.Equal(t, []string{"bad"}, asked[len(asked)-1].ExcludedNodes)
		exclusions := d.Status().Exclusions
		require.Equal(t, []string{"", "1"}, []string{exclusions[0].ExecutorID, exclusions[1].ExecutorID})
		require.Equal(t, "bad", exclusions[0].Host)
		require.InDelta(t, time.Hour, time.Until(exclusions[0].Until), float64(time.Minute))

		time.Sleep(time.Hour)
		require.Empty(t, d.Status().Exclusions)
		asked = m.asked()
		require.Empty(t, asked[len(asked)-1].ExcludedNodes, "it is not for ever")
	})
}

func TestAnIdleExcludedExecutorIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &manager{}
		d := start(t, driver.Options{Manager: m, Config: settings(t, map[string]string{
			"excludeOnFailure.enabled": "true", "excludeOnFailure.stage.maxFailedTasksPerExecutor": "1",
		})})
		attach(t, d, executorbackend.Options{ID: "1", Host: "bad"})
		done := begin(t.Context(), d, failsOnBad(1))
		time.Sleep(time.Minute)
		require.Equal(t, []string{"1"}, m.asksToKill(), "the job cannot use it, and there is no other")
		attach(t, d, executorbackend.Options{ID: "2", Host: "good"})
		require.NoError(t, <-done)
	})
}

func TestAnUnschedulableJobFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{Config: settings(t, map[string]string{"excludeOnFailure.enabled": "true"})})
		attach(t, d, executorbackend.Options{ID: "1", Host: "bad"})
		began := time.Now()
		err := <-begin(t.Context(), d, failsOnBad(1))
		require.ErrorIs(t, err, driver.ErrUnschedulable)
		require.ErrorContains(t, err, `job "picky": its tasks can run nowhere: task 0`)
		require.InDelta(t, 2*time.Minute, time.Since(began), float64(15*time.Second))
		require.Equal(t, driver.JobStateFailed, d.Status().Jobs[0].State)
	})
}
