// Package otlp sends an application's metrics and its trace to an OpenTelemetry collector,
// by OTLP over HTTP.
//
// A [Pusher] sends metrics from time to time. When it is closed, it sends the last metrics and
// the trace, which has the spans of the application, of its steps, jobs and stages, and of its
// failed and slowest task attempts. A [SpanContext] identifies a span, as the environment
// variable TRACEPARENT does.
package otlp
