package role

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

const givenSpan = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestAShortLocalRunIsPushed(t *testing.T) {
	t.Setenv("TRACEPARENT", "of the test") // Setenv restores the variable, which RunLocal changes, after the test
	var metrics []*metricspb.MetricsData
	var trace []*tracepb.Span
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		switch r.URL.Path {
		case "/v1/metrics":
			message := &metricspb.MetricsData{}
			err = proto.Unmarshal(body, message)
			metrics = append(metrics, message)
		case "/v1/traces":
			message := &tracepb.TracesData{}
			err = proto.Unmarshal(body, message)
			trace = message.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}))
	defer collector.Close()
	settings, err := config.FromMap(map[string]string{"master": "local[2]", "app.name": "count", "otlp.endpoint": collector.URL, "otlp.traceParent": givenSpan})
	require.NoError(t, err)
	own := ""
	require.NoError(t, RunLocal(t.Context(), settings, func(ctx context.Context) error {
		FromContext(ctx).SessionCreated()
		own = os.Getenv("TRACEPARENT")
		for _, err := range FromContext(ctx).Driver.Run(ctx, driver.TaskSet{Name: "words", Function: "succeed", Tasks: make([]driver.Task, 3)}) {
			if err != nil {
				return err
			}
		}
		return nil
	}))
	require.Len(t, metrics, 1, "the run is shorter than otlp.interval")
	done := 0.
	for _, metric := range metrics[0].GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics() {
		if metric.GetName() == "bobbin_tasks_completed_total" {
			done = metric.GetSum().GetDataPoints()[0].GetAsDouble()
		}
	}
	require.Equal(t, 3., done)
	require.Equal(t, "count", trace[0].GetName())
	require.Equal(t, givenSpan[3:35], own[3:35], "tasks belong to the trace")
	require.NotEqual(t, givenSpan, own, "tasks belong to the application's span")
	names := map[string]int{}
	for _, span := range trace {
		names[span.GetName()]++
	}
	require.Equal(t, map[string]int{"count": 1, "job words": 1, "task 0": 1, "task 1": 1, "task 2": 1}, names)

	// Without a collector, the application creates no spans, and TRACEPARENT is the span in
	// otlp.traceParent.
	settings, err = config.FromMap(map[string]string{"master": "local[2]", "otlp.traceParent": givenSpan})
	require.NoError(t, err)
	require.NoError(t, RunLocal(t.Context(), settings, func(ctx context.Context) error {
		FromContext(ctx).SessionCreated()
		own = os.Getenv("TRACEPARENT")
		return nil
	}))
	require.Equal(t, givenSpan, own)
}
