package driver_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/identity"
)

// benchDriver is a driver with two executors of two cores each, over gRPC and
// TLS on loopback.
func benchDriver(b *testing.B) *driver.Driver {
	id, err := identity.New()
	require.NoError(b, err)
	d, err := driver.New(driver.Options{Identity: id, BindAddress: "127.0.0.1:0"})
	require.NoError(b, err)
	served := make(chan error, 2)
	for _, executor := range []string{"1", "2"} {
		go func() {
			served <- executorbackend.Run(context.Background(),
				executorbackend.Options{ID: executor, Host: "host" + executor, Cores: 2}, d.Addr(), id.Pass())
		}()
	}
	for d.Status().Totals.Executors < 2 {
	}
	b.Cleanup(func() {
		require.NoError(b, d.Stop(context.Background()))
		require.NoError(b, <-served)
		require.NoError(b, <-served)
	})
	return d
}

func runNoops(b *testing.B, d *driver.Driver, tasks int) {
	count := 0
	for _, err := range d.Run(context.Background(), driver.TaskSet{Name: "noop", Function: "noop", Tasks: make([]driver.Task, tasks)}) {
		require.NoError(b, err)
		count++
	}
	require.Equal(b, tasks, count)
}

// BenchmarkTasks measures how many empty tasks run in a second, in sets of 20,000.
func BenchmarkTasks(b *testing.B) {
	const tasks = 20_000
	d := benchDriver(b)
	runNoops(b, d, tasks)
	for b.Loop() {
		runNoops(b, d, tasks)
	}
	b.ReportMetric(float64(b.N)*tasks/b.Elapsed().Seconds(), "tasks/s")
}

// BenchmarkRoundTrip measures a task set of one task, from Run to its result.
func BenchmarkRoundTrip(b *testing.B) {
	d := benchDriver(b)
	for b.Loop() {
		runNoops(b, d, 1)
	}
}
