package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

const (
	// pushTimeout is the timeout of one push of metrics.
	pushTimeout = 10 * time.Second
	// retryInterval is the pause between attempts of the last pushes, which Close makes.
	retryInterval = 500 * time.Millisecond
	// maxResponse is the maximum number of bytes that are read of a collector's response.
	maxResponse = 1 << 10
)

// scope identifies the software that produces the metrics and spans.
var scope = &commonpb.InstrumentationScope{Name: "github.com/bobbin-yarn/bobbin"}

// Options configure a Pusher.
type Options struct {
	Endpoint string            // base URL of the collector, such as http://collector:4318
	Headers  map[string]string // HTTP headers of each request
	Interval time.Duration     // time between pushes of metrics
	Span     SpanContext       // the span of the application
	Parent   string            // traceparent of the parent of the application's span; "" if it has no parent
	// Metrics returns the current metrics. If it returns nil, because the application has
	// ended, nothing is pushed.
	Metrics func() *metrics.Set
	// Snapshot returns the current state of the application.
	Snapshot func() *events.Snapshot
	Logger   *slog.Logger
}

// Pusher periodically pushes metrics of an application until Close is called.
type Pusher struct {
	options Options
	client  *http.Client
	began   time.Time
	stop    context.CancelFunc
	running sync.WaitGroup
	failing bool // whether the latest push of metrics failed
}

// Start starts a Pusher. The caller must call Close.
func Start(o Options) *Pusher {
	ctx, stop := context.WithCancel(context.Background())
	p := &Pusher{options: o, client: &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}, began: time.Now(), stop: stop}
	p.running.Go(func() { p.run(ctx) })
	return p
}

func (p *Pusher) run(ctx context.Context) {
	ticks := time.NewTicker(p.options.Interval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		pushing, cancel := context.WithTimeout(ctx, pushTimeout)
		err := p.pushMetrics(pushing, p.options.Metrics())
		cancel()
		if err != nil && !p.failing && ctx.Err() == nil {
			p.options.Logger.Warn("metrics cannot be pushed: see otlp.endpoint", "error", err)
		}
		p.failing = err != nil
	}
}

// Close pushes the last metrics of the application, and its trace. The application must have
// ended, because the trace contains its end. If a push fails temporarily, Close retries it
// until ctx ends. It logs errors.
func (p *Pusher) Close(ctx context.Context, last *metrics.Set) {
	p.stop()
	p.running.Wait()
	defer p.client.CloseIdleConnections()
	err := errors.Join(
		retry(ctx, func() error { return p.pushMetrics(ctx, last) }),
		retry(ctx, func() error { return p.pushTrace(ctx) }))
	if err != nil {
		p.options.Logger.Warn("the last metrics and the trace cannot be pushed: see otlp.endpoint", "error", err)
	}
}

// retry calls push until it succeeds, until ctx ends, or until it fails with an error that is
// not temporary.
func retry(ctx context.Context, push func() error) error {
	for {
		err := push()
		var refused *statusError
		if err == nil || errors.As(err, &refused) && !refused.temporary() {
			return err
		}
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
			return err
		}
	}
}

func (p *Pusher) pushMetrics(ctx context.Context, set *metrics.Set) error {
	if set == nil {
		return nil
	}
	state := p.options.Snapshot()
	return p.post(ctx, "/v1/metrics", &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{{
		Resource:     resourceOf(state.Application),
		ScopeMetrics: []*metricspb.ScopeMetrics{{Scope: scope, Metrics: metricsOf(set, p.began, time.Now())}},
	}}})
}

func (p *Pusher) pushTrace(ctx context.Context) error {
	state := p.options.Snapshot()
	return p.post(ctx, "/v1/traces", &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource:   resourceOf(state.Application),
		ScopeSpans: []*tracepb.ScopeSpans{{Scope: scope, Spans: spansOf(state, p.options.Span, p.options.Parent)}},
	}}})
}

// statusError is the error for a collector's response with a status other than 200.
type statusError struct {
	status int
	text   string
}

func (r *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the collector answered %d %s: %s", r.status, http.StatusText(r.status), r.text))
}

// temporary reports whether a client should retry after this response, according to OTLP.
func (r *statusError) temporary() bool {
	switch r.status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// post sends a message to the given URL path of the collector. OTLP defines the type of the
// message for each path. A message of another type may be sent if it is encoded in the same way:
// MetricsData is encoded like ExportMetricsServiceRequest.
func (p *Pusher) post(ctx context.Context, path string, message proto.Message) error {
	body, err := proto.Marshal(message)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(p.options.Endpoint, "/")+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	for name, value := range p.options.Headers {
		request.Header.Set(name, value)
	}
	answer, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxResponse))
	if answer.StatusCode != http.StatusOK {
		return &statusError{status: answer.StatusCode, text: strings.ToValidUTF8(string(content), "\uFFFD")}
	}
	return err
}
