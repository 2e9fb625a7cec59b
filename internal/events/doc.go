// Package events records what happens in an application while it runs.
//
// A [Recorder] takes events from the driver's event loop and from other goroutines, in
// well under 100 ns each, and passes them in a [Batch] to its consumers in a goroutine of
// its own. One consumer is a [Model], the state that the events describe, which pages
// show. Another is the event log (package eventlog). Reading a log yields the same
// batches, so that a Model of an ended application has the same state as while it ran.
//
// There are events and rows. An [Event] is rare and has a type of its own, such as
// [JobSubmitted]. Frequent records, such as one for each task [Attempt], are rows: they
// have no pointers, and the log stores them by columns. If more than [MaxRows] attempts
// start in a second, only a sample of them, all failures and all long attempts have rows.
// The others are counted in [Omitted], so that sums are exact.
//
// Within a batch, events come before rows. So consumers must accept rows of jobs and
// executors that have ended.
package events
