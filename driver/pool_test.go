package driver_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler/pool"
)

func TestPoolsShareTheExecutors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{
			Config: settings(t, map[string]string{"scheduler.mode": "FAIR"}),
			Pools:  []pool.Pool{{Name: "heavy", Weight: 3}, {Name: "light", Weight: 1}},
		})
		_ = running(t, d, driver.TaskSet{Name: "light", Tasks: tasks(8), Pool: "light"})
		synctest.Wait()
		_ = running(t, d, driver.TaskSet{Name: "heavy", Tasks: tasks(8), Pool: "heavy"})
		synctest.Wait()
		_ = running(t, d, driver.TaskSet{Name: "none", Tasks: tasks(0)})
		synctest.Wait()
		join(t, d, "1", "a", 4)
		synctest.Wait()
		jobs := d.Status().Jobs
		require.Equal(t, "light", jobs[0].Pool)
		require.Equal(t, 1, jobs[0].Running)
		require.Equal(t, 3, jobs[1].Running)
		require.Equal(t, "default", jobs[2].Pool)
		d.CancelGroup("", "enough")
	})
}

func TestPoolsAreChecked(t *testing.T) {
	_, err := driver.New(driver.Options{Pools: []pool.Pool{{Name: "a"}, {Name: "a"}}})
	require.ErrorContains(t, err, "pool a: there are two of this name")
}

func TestTasksGetAddressesOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{Config: settings(t, map[string]string{"task.resource.gpu.amount": "1"})})
		p := attachPuppet(t, d)
		p.send(&wire.ExecutorMessage{Register: &wire.Register{
			ExecutorId: "1", Host: "a", Cores: 4, Version: wire.Version, Resources: wire.ResourcesOf(map[string][]string{"gpu": {"3", "7"}}),
		}})
		done := running(t, d, driver.TaskSet{Tasks: tasks(3)})
		launches := p.launches(2)
		require.Equal(t, map[string][]string{"gpu": {"3"}}, wire.FromResources(launches[0].GetResources()))
		require.Equal(t, map[string][]string{"gpu": {"7"}}, wire.FromResources(launches[1].GetResources()))
		p.finish(launches[1], "")
		last := p.launches(1)[0]
		require.Equal(t, map[string][]string{"gpu": {"7"}}, wire.FromResources(last.GetResources()))
		p.finish(last, "")
		p.finish(launches[0], "")
		require.NoError(t, (<-done).err)
	})
}

func TestTasksThatTakeMoreThanAnExecutorHasFailAtOnce(t *testing.T) {
	d := start(t, driver.Options{Config: settings(t, map[string]string{"executor.resource.gpu.amount": "2", "executor.cores": "4"}), Manager: &manager{}})
	for _, amounts := range []map[string]float64{{"gpu": 3}, {"fpga": 1}} {
		_, err := outcome(t.Context(), d, driver.TaskSet{Tasks: tasks(1), Resources: amounts})
		require.ErrorIs(t, err, driver.ErrUnschedulable)
		require.ErrorContains(t, err, "its executors have 2 gpu")
	}
}
