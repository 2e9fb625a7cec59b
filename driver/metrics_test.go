package driver_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// distinctMetrics returns metrics in which all numbers are different.
func distinctMetrics(n uint64) *wire.Metrics {
	return &wire.Metrics{QueueNanos: n, DecodeNanos: 2 * n, RunNanos: 3 * n, EncodeNanos: 4 * n, ResultBytes: 5 * n,
		BytesRead: 6 * n, BytesWritten: 7 * n, PeakMemoryBytes: 8 * n}
}

func TestMetricsOfAJobAreSums(t *testing.T) {
	d := start(t, driver.Options{})
	p := join(t, d, "1", "host1", 3)
	done := make(chan error, 1)
	go func() {
		_, err := outcome(context.Background(), d, resultsOf(1, 1, 1))
		done <- err
	}()
	launches := p.launches(3)
	sum := func(n, peak uint64) driver.Metrics {
		return driver.Metrics{QueueNanos: n, DecodeNanos: 2 * n, RunNanos: 3 * n, EncodeNanos: 4 * n, ResultBytes: 5 * n,
			BytesRead: 6 * n, BytesWritten: 7 * n, PeakMemoryBytes: 8 * peak}
	}
	shows := func(want driver.Metrics) {
		t.Helper()
		await(t, d, func(s driver.Status) bool { return s.Jobs[0].Metrics == want })
	}
	last := func(at int, state wire.TaskState, n uint64) {
		p.send(&wire.ExecutorMessage{Updates: []*wire.TaskUpdate{{Attempt: launches[at].GetAttempt(), State: state, Metrics: distinctMetrics(n), StoredBytes: 4}}})
	}
	for range 2 { // a repeated report replaces the earlier one
		p.send(&wire.ExecutorMessage{Heartbeat: &wire.Heartbeat{Progress: []*wire.TaskProgress{
			{Attempt: launches[0].GetAttempt(), Metrics: distinctMetrics(1)}, {Attempt: launches[1].GetAttempt(), Metrics: distinctMetrics(10)}, {Attempt: 99, Metrics: distinctMetrics(7)},
		}}})
		shows(sum(11, 10))
	}
	last(0, wire.TaskState_TASK_STATE_FINISHED, 2)
	shows(sum(12, 10))
	last(1, wire.TaskState_TASK_STATE_FAILED, 90)
	shows(sum(2, 2))
	last(2, wire.TaskState_TASK_STATE_STORED, 5)
	shows(sum(7, 5))
	p.finish(launches[2], "held") // the last update does not contain the metrics again
	again := p.launches(1)[0]
	shows(sum(7, 5))
	p.finish(again, "x")
	require.NoError(t, <-done)
	shows(sum(7, 5))
	p.leave()
}

func TestMetricsOfTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := start(t, driver.Options{})
		attach(t, d, executorbackend.Options{ID: "1", Cores: 1})
		job := driver.TaskSet{Name: "naps", Function: "nap", Tasks: []driver.Task{{Input: number(uint64(25 * time.Second))}}}
		ended := make(chan error)
		go func() {
			_, err := outcome(context.Background(), d, job)
			ended <- err
		}()
		time.Sleep(20*time.Second + 1)
		m := d.Status().Jobs[0].Metrics
		require.Greater(t, m.RunNanos, uint64(10*time.Second), "as of the latest heartbeat")
		require.LessOrEqual(t, m.RunNanos, uint64(20*time.Second))
		require.Greater(t, m.PeakMemoryBytes, uint64(100_000))
		require.NoError(t, <-ended)
		require.Equal(t, uint64(25*time.Second), d.Status().Jobs[0].Metrics.RunNanos)
		require.Zero(t, d.Status().Jobs[0].Metrics.QueueNanos)
	})
}
