// Package eventlog writes the events of an application to a file and reads them back.
//
// A [Log] is a consumer of an events.Recorder. It encodes batches of events as lines, and a
// goroutine of the Log compresses the lines and writes them to the file. If the file system is too
// slow, the Log drops lines. If a write fails, the Log writes nothing more. In both cases, the
// application continues without a delay.
//
// [List] lists logs. [Load] reads a whole log into an events.Model. [LoadSummary] reads only the
// summary of the application at the log's end. docs/event-log.md describes the format.
package eventlog
