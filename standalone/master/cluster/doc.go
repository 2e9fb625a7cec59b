// Package cluster decides what runs where in a standalone cluster. It is the state
// machine of a master.
//
// A [Cluster] is a plain value, like scheduler.Scheduler: it starts no goroutine,
// takes no lock, does no I/O and reads no clock. Its owner is one goroutine, which
//
//  1. calls a method for each event, with its time: a worker attached, an
//     application asked for executors;
//  2. calls [Cluster.Schedule];
//  3. calls [Cluster.Take], writes the changes of the [Actions] to the store, and then
//     sends the orders to workers and applications.
//
// # Order
//
// Drivers are launched first, in the order of submission, each on the next of the
// shuffled workers that has room. Applications follow, first in, first out: the
// first gets all that it requests if there is room, then the second, and so on. Its
// executors are spread over many workers, or packed onto few (Options.SpreadOut),
// within cores.max and its request. Workers on hosts that waiting tasks prefer come
// first, and workers on which its executors have failed come last. This follows
// Spark's standalone master (Master.scala of Spark 3, startExecutorsOnWorkers),
// except for preferred hosts and failures.
//
// # Loss
//
// A worker or an application that attaches (opens a stream to the master) reports
// its executors. The cluster adds unknown ones. Executors that the worker does not
// report are launched again or marked as lost. A disconnected worker or application
// gets nothing new, and is lost after Options.ReconnectTimeout. A connected but
// silent worker is lost after Options.WorkerTimeout.
//
// After [Cluster.Recover] nothing is launched until all workers and applications
// from the store have attached, or Options.RecoveryTimeout has passed. An
// application that is not in the store, because the store was lost, is added when it
// attaches.
package cluster
