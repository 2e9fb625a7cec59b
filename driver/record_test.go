package driver_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func TestWhatExecutorsReportIsRecorded(t *testing.T) {
	recorder := events.NewRecorder(events.Limits{})
	defer recorder.Close()
	d := start(t, driver.Options{Events: recorder})
	p := join(t, d, "1", "host1", 1)
	done := make(chan error, 1)
	go func() {
		_, err := outcome(context.Background(), d, resultsOf(1))
		done <- err
	}()
	launch := p.launches(1)[0]
	for range 2 {
		p.send(&wire.ExecutorMessage{Heartbeat: &wire.Heartbeat{ResidentBytes: 900, HeapProfiled: true}})
	}
	p.send(&wire.ExecutorMessage{Updates: []*wire.TaskUpdate{{Attempt: launch.GetAttempt(), State: wire.TaskState_TASK_STATE_FAILED,
		Failure: &wire.Failure{Message: "no such file", Log: "opening part-7\n"}}}})
	p.finish(p.launches(1)[0], "x")
	require.NoError(t, <-done)
	p.leave()
	recorder.Close()
	s := recorder.Snapshot()
	require.Equal(t, "opening part-7\n", s.Failures[0].Samples[0].Log)
	require.WithinDuration(t, time.Now(), s.Executors[0].HeapProfiled, time.Minute)
	profiled := 0
	for _, event := range s.Recent {
		if e, ok := event.(*events.ExecutorHeapProfiled); ok {
			profiled++
			require.EqualValues(t, 900, e.Resident)
		}
	}
	require.Equal(t, 1, profiled, "once, however many heartbeats say so")
}
