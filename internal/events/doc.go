// Package events records what happens in an application while it runs.
//
// A [Recorder] takes events from the driver's event loop and from other goroutines; this takes
// well under 100 ns for each event. A goroutine of the Recorder passes the events, in a
// [Batch], to the consumers. One consumer is a [Model], which computes the state of the
// application from the events; the application's pages show this state. Another is the event
// log (package eventlog). From a log, a Model of an application that has ended gets the same
// events, and so has the same state as when the application ended.
//
// There are events and rows. An [Event] is rare, and each kind of event has its own type, such
// as [JobSubmitted]. Rows are frequent records, such as one for each task [Attempt]: they have
// no pointers, and the log stores them by columns. If more than [MaxRows] attempts start in a
// second, only some of these attempts have rows: a sample, all that failed, and all that took
// long. The others are counted in [Omitted], so that sums are exact.
//
// Within a batch, consumers get all events before all rows, even if the rows are older. So
// they must accept rows of jobs and executors that have ended.
package events
