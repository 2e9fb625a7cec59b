// Package otlp sends an application's metrics and its trace to an OpenTelemetry collector,
// by OTLP over HTTP.
//
// A [Pusher] sends metrics from time to time, and once more when it is closed, with the
// trace: the spans of the application, its steps, jobs and stages, and of its failed and
// slowest task attempts. A [SpanContext] is a place in a trace, as the environment variable
// TRACEPARENT has it.
package otlp
