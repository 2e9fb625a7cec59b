// Package events has what is recorded of an application while it runs.
//
// A [Recorder] takes events from the driver's event loop and from other goroutines, in
// well under 100 ns each, and passes them in a [Batch] to its consumers in a goroutine of
// its own. One consumer is a [Model], the state that the events describe: it is what
// pages show. Another is the event log (package eventlog). A log that is read
// gives the same batches, so that a Model shows an ended application as it showed the
// running one.
//
// Two kinds of things are recorded. An [Event] is rare and has a type of its own, such as
// [JobSubmitted]. What there is of every task attempt is a row, such as [Attempt]: rows
// have no pointers, and the log stores them by columns. Of more than [MaxRows] attempts in
// a second a sample has rows, with all failures and all long attempts. The others are
// counted in [Omitted], so that sums are exact.
//
// Within a batch, events come before rows. So consumers have to accept rows of jobs and
// executors that have ended.
package events
