package otlp

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestSpanContexts(t *testing.T) {
	c, err := ParseSpanContext(parent)
	require.NoError(t, err)
	require.Equal(t, parent, c.String())
	later, err := ParseSpanContext("cc" + parent[2:] + "-what-a-later-version-adds")
	require.NoError(t, err)
	require.Equal(t, c, later)
	for _, invalid := range []string{
		"", "00", parent + "-more", parent[:len(parent)-1], "ff" + parent[2:], "0" + parent, "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
	} {
		_, err := ParseSpanContext(invalid)
		require.Error(t, err, invalid)
	}
	below := NewSpan(parent)
	require.Equal(t, c.Trace, below.Trace)
	require.NotEqual(t, c.Span, below.Span)
	first, second := NewSpan(""), NewSpan("nonsense")
	require.NotEqual(t, first.Trace, second.Trace)
	_, err = ParseSpanContext(first.String())
	require.NoError(t, err)
}

func FuzzSpanContext(f *testing.F) {
	f.Add(parent)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseSpanContext(text)
		if err != nil {
			return
		}
		again, err := ParseSpanContext(c.String())
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}

var start = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

func at(seconds float64) events.Time {
	return events.At(start.Add(time.Duration(seconds * float64(time.Second))))
}

func ended() *events.Snapshot {
	model := events.NewModel(events.Limits{})
	b := &events.Batch{Events: []events.Event{
		&events.ApplicationStarted{Time: at(0), ID: "application_1_0007", Attempt: 1, Name: "nightly \xff", User: "ann", Host: "node1"},
		&events.ExecutorRegistered{Time: at(1), Number: 1, ID: "3", Host: "node2", Cores: 2},
		&events.StepStarted{Time: at(1), Step: "load"},
		&events.JobSubmitted{Time: at(2), Job: 1, Name: "load"},
		&events.TaskSetSubmitted{Time: at(2), Set: 1, Job: 1, Name: "load", Tasks: 8},
		&events.TaskSetEnded{Time: at(20), Set: 1, State: events.StateSucceeded, Done: 8},
		&events.JobEnded{Time: at(20), Job: 1, State: events.StateSucceeded},
		&events.StepEnded{Time: at(21), Step: "load", State: events.StateSucceeded},
		&events.JobSubmitted{Time: at(30), Job: 2, Name: "count", Stages: []events.StagePlan{{Stage: 3, Name: "map"}}},
		&events.TaskSetSubmitted{Time: at(31), Set: 4, Job: 2, Stage: 3, Name: "map", Tasks: 1},
		&events.AttemptFailed{Time: at(33), Set: 4, Task: 0, Executor: 1, Message: "no such file"},
		&events.TaskSetEnded{Time: at(33), Set: 4, State: events.StateFailed},
		&events.JobEnded{Time: at(33), Job: 2, State: events.StateFailed, Error: "task 0 failed"},
		&events.ApplicationEnded{Time: at(40), State: events.StateFailed, Error: "the job failed"},
	}}
	for i := range 8 {
		b.Attempts = append(b.Attempts, events.Attempt{Set: 1, Task: uint32(i), Executor: 1, Outcome: events.OutcomeSucceeded,
			Start: events.MicrosOf(at(2).Time), End: events.MicrosOf(at(3 + float64((i*5)%8)).Time)})
	}
	b.Attempts = append(b.Attempts, events.Attempt{Set: 4, Executor: 1, Outcome: events.OutcomeFailed, Start: events.MicrosOf(at(31).Time), End: events.MicrosOf(at(33).Time)})
	model.Consume(b)
	return model.Snapshot()
}

func TestSpansOfAnApplication(t *testing.T) {
	own := NewSpan(parent)
	above, err := ParseSpanContext(parent)
	require.NoError(t, err)
	byName := map[string]*tracepb.Span{}
	ids := map[string]bool{}
	for _, span := range spansOf(ended(), own, parent) {
		require.Equal(t, own.Trace[:], span.GetTraceId())
		require.LessOrEqual(t, span.GetStartTimeUnixNano(), span.GetEndTimeUnixNano())
		ids[string(span.GetSpanId())] = true
		if span.GetName() == "task 0" {
			span.Name += " " + span.GetStatus().GetMessage()
		}
		byName[span.GetName()] = span
	}
	require.Len(t, byName, 9)
	require.Len(t, ids, 9)
	for name, below := range map[string][]byte{
		"nightly \uFFFD": above.Span[:], "step load": own.Span[:], "job load": byName["step load"].GetSpanId(), "job count": own.Span[:],
		"stage map": byName["job count"].GetSpanId(), "task 0 no such file": byName["stage map"].GetSpanId(),
		"task 3": byName["job load"].GetSpanId(), "task 6": byName["job load"].GetSpanId(), "task 1": byName["job load"].GetSpanId(),
	} {
		require.NotNil(t, byName[name], name)
		require.Equal(t, below, byName[name].GetParentSpanId(), name)
	}
	failed := byName["job count"]
	require.Equal(t, tracepb.Status_STATUS_CODE_ERROR, failed.GetStatus().GetCode())
	require.Equal(t, "task 0 failed", failed.GetStatus().GetMessage())
	require.EqualValues(t, start.Add(33*time.Second).UnixNano(), failed.GetEndTimeUnixNano())
	require.Equal(t, tracepb.Status_STATUS_CODE_UNSET, byName["job load"].GetStatus().GetCode())
	require.Contains(t, attributes(byName["task 0 no such file"].GetAttributes()), "host.name=node2")

	alone := spansOf(ended(), NewSpan(""), "")
	require.Nil(t, alone[0].GetParentSpanId())
}

func attributes(all []*commonpb.KeyValue) (texts []string) {
	for _, a := range all {
		texts = append(texts, a.GetKey()+"="+a.GetValue().GetStringValue())
	}
	return texts
}

// collector is a collector that answers the first requests with statuses other than 200.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	statuses []int
	metrics  []*metricspb.MetricsData
	traces   []*tracepb.TracesData
	got      chan struct{} // receives an element for each request
}

func newCollector(t *testing.T, statuses ...int) *collector {
	c := &collector{statuses: statuses, got: make(chan struct{}, 100)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		defer func() { c.got <- struct{}{} }()
		if len(c.statuses) > 0 {
			status := c.statuses[0]
			c.statuses = c.statuses[1:]
			http.Error(w, "not now", status)
			return
		}
		if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("Api-Key") != "hush" {
			http.Error(w, "wrong request", http.StatusBadRequest)
			return
		}
		switch r.URL.Path {
		case "/otlp/v1/metrics":
			message := &metricspb.MetricsData{}
			err = proto.Unmarshal(body, message)
			c.metrics = append(c.metrics, message)
		case "/otlp/v1/traces":
			message := &tracepb.TracesData{}
			err = proto.Unmarshal(body, message)
			c.traces = append(c.traces, message)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

var (
	done   = metrics.Family{Name: "bobbin_done_total", Type: metrics.Counter, Help: "Done."}
	memory = metrics.Family{Name: "bobbin_memory_bytes", Type: metrics.Gauge, Help: "Memory.", Labels: []string{"of"}}
	silent = slog.New(slog.DiscardHandler)
)

func values(n float64) *metrics.Set {
	set := &metrics.Set{}
	set.Add(&done, n)
	set.Add(&memory, 5, "ann\xff")
	set.Add(&memory, 6, "bob")
	return set
}

func (c *collector) options(logger *slog.Logger) Options {
	return Options{
		Endpoint: c.URL + "/otlp/", Headers: map[string]string{"Api-Key": "hush"}, Interval: time.Millisecond, Span: NewSpan(""),
		Metrics: func() *metrics.Set { return values(1) }, Snapshot: ended, Logger: logger,
	}
}

func TestPushes(t *testing.T) {
	c := newCollector(t)
	p := Start(c.options(silent))
	<-c.got
	p.Close(t.Context(), values(7))
	require.Len(t, c.traces, 1)
	require.Len(t, c.traces[0].GetResourceSpans()[0].GetScopeSpans()[0].GetSpans(), 9)
	require.GreaterOrEqual(t, len(c.metrics), 2)
	last := c.metrics[len(c.metrics)-1].GetResourceMetrics()[0]
	require.Subset(t, attributes(last.GetResource().GetAttributes()), []string{"service.name=nightly \uFFFD", "service.instance.id=application_1_0007", "bobbin.user=ann"})
	all := last.GetScopeMetrics()[0].GetMetrics()
	require.Len(t, all, 2)
	sum := all[0].GetSum()
	require.True(t, sum.GetIsMonotonic())
	require.Equal(t, metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE, sum.GetAggregationTemporality())
	require.Equal(t, 7., sum.GetDataPoints()[0].GetAsDouble())
	require.NotZero(t, sum.GetDataPoints()[0].GetStartTimeUnixNano())
	require.Equal(t, "By", all[1].GetUnit())
	points := all[1].GetGauge().GetDataPoints()
	require.Len(t, points, 2)
	require.Equal(t, []string{"of=ann\uFFFD"}, attributes(points[0].GetAttributes()))
}

func TestACollectorThatIsNotThere(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	o := newCollector(t, http.StatusServiceUnavailable, http.StatusTooManyRequests).options(logger)
	o.Interval = time.Hour
	p := Start(o)
	p.Close(t.Context(), values(1))
	require.Empty(t, log.String(), "the last push is tried again")

	refusing := newCollector(t, http.StatusUnauthorized, http.StatusBadRequest)
	o = refusing.options(logger)
	o.Interval = time.Hour
	p = Start(o)
	p.Close(t.Context(), values(1))
	require.Contains(t, log.String(), "the collector answered 401 Unauthorized: not now")
	require.Len(t, refusing.got, 2, "no further try is of any use")
	log.Reset()

	gone := newCollector(t)
	gone.Close()
	p = Start(gone.options(logger))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	p.Close(ctx, values(1))
	require.Contains(t, log.String(), "see otlp.endpoint")
}
