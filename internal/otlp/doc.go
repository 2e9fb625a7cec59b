// Package otlp sends an application's metrics and its trace to an OpenTelemetry collector,
// by OTLP over HTTP.
//
// A [Pusher] periodically sends metrics. When it is closed, it sends the last metrics and the
// trace: the spans of the application, of its steps, jobs and stages, and of its failed and
// slowest task attempts. A [SpanContext] identifies a span; a process receives that of its
// parent span in the environment variable TRACEPARENT.
package otlp
