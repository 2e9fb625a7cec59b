package role

import (
	"context"
	"os"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/otlp"
)

// lastPushTimeout limits how long the last push to the collector may take at the application's end.
const lastPushTimeout = 5 * time.Second

// telemetry pushes an application's metrics and trace to an OpenTelemetry collector. The methods of
// a nil telemetry do nothing.
type telemetry struct {
	parent string // traceparent of the span that submitted the application; "" for none
	span   otlp.SpanContext
	pusher *otlp.Pusher
}

// newTelemetry returns the telemetry of an application; nil if no collector is configured. It also
// returns the settings for the executors, in which otlp.traceParent is the application's span.
func newTelemetry(settings *config.Config) (*telemetry, *config.Config, error) {
	parent := config.TraceParent.In(settings)
	if config.OTLPEndpoint.In(settings) == "" {
		return nil, settings, nil
	}
	t := &telemetry{parent: parent, span: otlp.NewSpan(parent)}
	settings, err := settings.With(map[string]string{config.TraceParent.Name(): t.span.String()})
	return t, settings, err
}

// start begins to push the application's metrics and trace.
func (t *telemetry) start(a *Application) {
	if t == nil {
		return
	}
	t.pusher = otlp.Start(otlp.Options{
		Endpoint: config.OTLPEndpoint.In(a.Settings),
		Headers:  config.OTLPHeaders.In(a.Settings),
		Interval: config.OTLPInterval.In(a.Settings),
		Span:     t.span,
		Parent:   t.parent,
		Metrics:  a.metrics,
		Snapshot: a.recording.recorder.Snapshot,
		Logger:   a.Logger,
	})
}

// pushLast pushes the last metrics and the trace. Further calls have no effect.
func (t *telemetry) pushLast(ctx context.Context, last *metrics.Set) {
	if t == nil || t.pusher == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastPushTimeout)
	defer cancel()
	t.pusher.Close(ctx, last)
	t.pusher = nil
}

// metrics returns the metrics of the driver and of its process; nil if the driver has stopped.
func (a *Application) metrics() *metrics.Set {
	status := a.Driver.Status()
	if status.Started.IsZero() {
		return nil
	}
	set := &metrics.Set{}
	driver.MetricTable.AddTo(set, &status)
	metrics.AddProcess(set)
	return set
}

// inheritSpan sets the environment variable TRACEPARENT, so that child processes of this process
// add their spans to the application's trace.
func inheritSpan(settings *config.Config) error {
	if parent := config.TraceParent.In(settings); parent != "" {
		return os.Setenv(otlp.Variable, parent)
	}
	return nil
}
