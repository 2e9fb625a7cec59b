// Package eventlog writes the events of an application to a file and reads them back.
//
// A [Log] is a consumer of an events.Recorder: it encodes batches as lines, which a goroutine
// of the Log compresses and writes to the file. If the file system is too slow, the log gets
// gaps, and if a write fails, the log ends there. In neither case is the application delayed,
// nor does it fail.
//
// [List] finds logs. [Load] reads a whole log into an events.Model. [LoadSummary] reads only
// the summary of the application at the log's end. docs/event-log.md describes the format.
package eventlog
