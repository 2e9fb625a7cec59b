package driver_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/identity"
)

// benchDriver is a driver with two executors of two cores each, over gRPC and
// TLS on loopback. It records events if recorder is not nil.
func benchDriver(b *testing.B, recorder *events.Recorder) *driver.Driver {
	id, err := identity.New()
	require.NoError(b, err)
	d, err := driver.New(driver.Options{Identity: id, BindAddress: "127.0.0.1:0", Events: recorder})
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

// BenchmarkTasks measures how many empty tasks run in a second, in sets of 20,000, without
// and with a recorder of events.
func BenchmarkTasks(b *testing.B) {
	for _, recorded := range []bool{false, true} {
		b.Run(fmt.Sprintf("recorded=%v", recorded), func(b *testing.B) {
			const tasks = 20_000
			var recorder *events.Recorder
			if recorded {
				recorder = events.NewRecorder(events.LiveLimits)
				defer recorder.Close()
			}
			d := benchDriver(b, recorder)
			runNoops(b, d, tasks)
			for b.Loop() {
				runNoops(b, d, tasks)
			}
			b.ReportMetric(float64(b.N)*tasks/b.Elapsed().Seconds(), "tasks/s")
		})
	}
}

// BenchmarkRoundTrip measures a task set of one task, from Run to its result.
func BenchmarkRoundTrip(b *testing.B) {
	d := benchDriver(b, nil)
	for b.Loop() {
		runNoops(b, d, 1)
	}
}
