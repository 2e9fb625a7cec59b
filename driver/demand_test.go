package driver_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

func TestDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &manager{}
		d := start(t, driver.Options{Config: settings(t, map[string]string{"executor.instances": "3"})})
		synctest.Wait()
		d.SetManager(m)
		synctest.Wait()
		// The first request is sent at once.
		require.Equal(t, []driver.Demand{{Profile: profile.Default(config.Default()), Total: 3}}, demands(m))

		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		job := driver.TaskSet{Function: "wait", Tasks: []driver.Task{
			{Hosts: []string{"a", "b"}}, {Hosts: []string{"b"}}, {}, {Hosts: []string{"b", "c"}},
		}}
		for range 2 {
			go func() { _, _ = outcome(ctx, d, job); ended <- struct{}{} }()
		}
		time.Sleep(time.Second)
		// The two jobs cause only one further request.
		require.Len(t, m.asked(), 2)
		require.Equal(t, driver.Demand{Profile: profile.Default(config.Default()), Total: 3,
			HostTasks: map[string]int{"a": 2, "b": 6, "c": 2}, LocalityAwareTasks: 6}, demands(m)[1])

		attach(t, d, executorbackend.Options{ID: "1", Host: "b", Cores: 2})
		time.Sleep(time.Second)
		require.Len(t, m.asked(), 3)
		require.Equal(t, 4, demands(m)[2].LocalityAwareTasks)

		cancel()
		<-ended
		<-ended
		time.Sleep(time.Second)
		asked := m.asked()
		require.Equal(t, driver.Demand{Profile: profile.Default(config.Default()), Total: 3}, demands(m)[len(asked)-1])
		for i := 1; i < len(m.at); i++ {
			require.GreaterOrEqual(t, m.at[i].Sub(m.at[i-1]), 100*time.Millisecond)
		}

		// A change that does not change the request sends no request.
		for range 50 {
			_, err := outcome(t.Context(), d, squares(2))
			require.NoError(t, err)
			time.Sleep(50 * time.Millisecond)
		}
		require.Len(t, m.asked(), len(asked))
	})
}

// demands returns the default profile's demand in each request.
func demands(m *manager) []driver.Demand {
	var demands []driver.Demand
	for _, request := range m.asked() {
		demand := request.Demands[0]
		if len(demand.HostTasks) == 0 {
			demand.HostTasks = nil
		}
		demands = append(demands, demand)
	}
	return demands
}

func TestManagerOfTheOptionsGetsARequestAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &manager{}
		d, err := driver.New(driver.Options{Manager: m})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, 2, m.asked()[0].Total())
		require.NoError(t, d.Stop(t.Context()))
	})
}
