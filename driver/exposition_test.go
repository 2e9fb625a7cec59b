package driver_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// exposed returns the values of a driver's metrics, by metric name and labels.
func exposed(t *testing.T, status *driver.Status) map[string]float64 {
	t.Helper()
	set := &metrics.Set{}
	driver.MetricTable.AddTo(set, status)
	problems, err := promlint.New(bytes.NewReader(set.Bytes())).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(set.Bytes()))
	require.NoError(t, err)
	values := map[string]float64{}
	for name, family := range families {
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			key := name
			if labels != nil {
				key += "{" + strings.Join(labels, ",") + "}"
			}
			values[key] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
		}
	}
	return values
}

func TestMetricsForPrometheus(t *testing.T) {
	d := start(t, driver.Options{})
	p := join(t, d, "1", "host1", 2)
	done := make(chan error, 1)
	go func() {
		_, err := outcome(context.Background(), d, resultsOf(1, 1, 1))
		done <- err
	}()
	launches := p.launches(2)
	counted := func(n int64) *wire.TaskValues {
		return &wire.TaskValues{Counters: map[string]int64{"words": n}, Gauges: map[string]int64{"open": n}}
	}
	p.send(&wire.ExecutorMessage{Heartbeat: &wire.Heartbeat{Progress: []*wire.TaskProgress{
		{Attempt: launches[1].GetAttempt(), Metrics: distinctMetrics(1e9), Values: counted(5)},
	}}})
	p.send(&wire.ExecutorMessage{Updates: []*wire.TaskUpdate{
		{Attempt: launches[0].GetAttempt(), State: wire.TaskState_TASK_STATE_FINISHED, Metrics: distinctMetrics(2e9), Values: counted(7)},
	}})
	await(t, d, func(s driver.Status) bool { return s.Totals.Done == 1 })
	status := d.Status()
	values := exposed(t, &status)
	for series, want := range map[string]float64{
		"bobbin_executors{state=running}": 1, "bobbin_executors{state=decommissioning}": 0, "bobbin_cores": 2,
		"bobbin_tasks{state=running}": 2, "bobbin_tasks_completed_total": 1, "bobbin_task_sets_submitted_total": 1, "bobbin_task_sets_running": 1,
		"bobbin_task_attempts_launched_total{locality=no_pref}": 3, "bobbin_task_seconds_total{phase=run}": 6, "bobbin_task_read_bytes_total": 12e9,
		"bobbin_user_count_total{name=words}": 7, "bobbin_user_level{name=open,of=sum}": 5, "bobbin_user_level{name=open,of=peak}": 7,
	} {
		require.Equal(t, want, values[series], "%s of %v", series, values)
	}
	for _, launch := range append(launches[1:], p.launches(1)...) {
		p.finish(launch, "x")
	}
	require.NoError(t, <-done)
	status = d.Status()
	values = exposed(t, &status)
	require.EqualValues(t, 3, values["bobbin_tasks_completed_total"])
	require.EqualValues(t, 6, values["bobbin_task_seconds_total{phase=run}"], "the sum includes ended task sets")
	require.EqualValues(t, 7, values["bobbin_user_count_total{name=words}"])
	p.leave()
}

func TestMetricsHaveAtMost300Series(t *testing.T) {
	status := driver.Status{Started: time.Unix(1, 0), Values: driver.Values{Counters: map[string]int64{}, Gauges: map[string]driver.GaugeStatus{}}}
	for i := range 1000 {
		status.Values.Counters[fmt.Sprintf("häufig \"%d\"\\\n\xff", i)] = math.MinInt64
		status.Values.Gauges[fmt.Sprint(i)] = driver.GaugeStatus{}
		status.Executors = append(status.Executors, driver.ExecutorStatus{ID: fmt.Sprint(i), State: driver.ExecutorStateRegistered})
		status.Jobs = append(status.Jobs, driver.JobStatus{Name: fmt.Sprint(i)})
	}
	const containersAndProcess = 40
	require.LessOrEqual(t, len(exposed(t, &status)), 300-containersAndProcess)
}
