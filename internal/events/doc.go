// Package events records what happens in an application while it runs.
//
// A [Recorder] accepts events from the driver's event loop and from other goroutines; recording
// an event takes well under 100 ns. A goroutine of the Recorder passes the events, in a
// [Batch], to the consumers. One consumer is a [Model], which computes the state of the
// application from the events; the web UI shows this state. Another consumer writes the event
// log (package eventlog). A Model of an application that has ended is computed from the events
// in its log, so it has the state that the application had when it ended.
//
// There are events and rows. An [Event] is rare, and each kind of event has its own type, such
// as [JobSubmitted]. Rows are frequent records, such as the starts and ends of task attempts
// ([Attempt]): they have no pointers, and the log stores them by columns. If more than
// [MaxRows] attempts start in a second, only some of these attempts have rows: a sample, all
// that failed, and all that took at least [LongAttempt]. The other attempts are counted in
// [Omitted], so that sums are exact.
//
// Consumers process all events of a batch before its rows, even if the rows are older. So a row
// may belong to a job or an executor that has ended already.
package events
