package metrics

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

func TestHandler(t *testing.T) {
	odd := Family{Name: "odd_bytes", Type: Gauge, Help: "With \\ and\nlines.", Labels: []string{"name", "of"}}
	ask := func(failure error) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		Handler(func(_ context.Context, set *Set) error {
			set.Add(&odd, 1.5e300, "a\"b\\c\nd\xff", "ä")
			return failure
		}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, Path, nil))
		return answer
	}
	answer := ask(nil)
	require.Equal(t, "text/plain; version=0.0.4; charset=utf-8", answer.Header().Get("Content-Type"))
	held := make([]byte, 1<<20)
	problems, err := promlint.New(answer.Body).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(ask(nil).Body)
	require.NoError(t, err)
	require.Equal(t, "With \\ and\nlines.", families["odd_bytes"].GetHelp())
	got := families["odd_bytes"].GetMetric()[0]
	require.Equal(t, 1.5e300, got.GetGauge().GetValue())
	require.Equal(t, "a\"b\\c\nd\uFFFD", got.GetLabel()[0].GetValue())
	require.Equal(t, "ä", got.GetLabel()[1].GetValue())
	value := func(name string) float64 {
		metric := families[name].GetMetric()[0]
		return metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
	}
	require.InDelta(t, float64(time.Now().Unix()), value("process_start_time_seconds"), 3600)
	require.Positive(t, value("go_goroutines"))
	require.Positive(t, value("process_cpu_seconds_total"))
	require.Greater(t, value("go_memstats_heap_alloc_bytes"), float64(len(held)))
	runtime.KeepAlive(held)

	answer = ask(errors.New("no state yet"))
	require.Equal(t, http.StatusServiceUnavailable, answer.Code)
	require.Equal(t, "no state yet\n", answer.Body.String())
}
