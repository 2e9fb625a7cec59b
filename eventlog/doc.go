// Package eventlog writes the events of an application to a file and reads them back.
//
// A [Log] is a consumer of an events.Recorder: it encodes what it gets, and a goroutine
// of its own compresses and writes that. If the file system is slow, the log gets gaps; if
// a write fails, the log ends there. Neither delays or fails the application.
//
// [List] finds logs, [Load] reads one into an events.Model, and [LoadSummary] what its end
// says of the application without reading the rest. docs/event-log.md describes the
// format.
package eventlog
