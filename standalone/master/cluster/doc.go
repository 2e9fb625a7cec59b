// Package cluster decides what runs where in a standalone cluster. It is the state
// machine of a master.
//
// A [Cluster] is a plain value, as scheduler.Scheduler is: it starts no goroutine,
// takes no lock, does no I/O and reads no clock. Its owner is one goroutine, which
//
//  1. calls a method for each event, with its time: a worker attached, an
//     application asked for executors;
//  2. calls [Cluster.Schedule];
//  3. calls [Cluster.Take], writes the changes of the [Effects] to the store, and then
//     sends the orders to workers and applications.
//
// # Order
//
// Drivers are launched first, in the order of their submission, each on the next of
// the shuffled workers that has room. Applications follow, first in, first out: the
// first gets all that it requests if there is room, then the second, and so on. An
// application's executors are spread over as many workers as possible, or packed
// onto few (Options.SpreadOut), never beyond its cores.max nor beyond its request.
// Workers on hosts that waiting tasks prefer come first, and workers on which
// executors of the application have failed come last. This follows Spark's
// standalone master (Master.scala of Spark 3, startExecutorsOnWorkers); preferred
// hosts and failures are additions.
//
// # Loss
//
// A worker or an application that attaches, which means that it opens a stream to
// the master, reports its executors. The cluster adds those that it does not know.
// Executors that it expects on a worker and that the worker does not report are
// launched again or marked as lost. A disconnected worker or application gets
// nothing new, and is lost after Options.ReconnectTimeout. A connected worker that
// sends nothing is lost after Options.WorkerTimeout.
//
// After [Cluster.Recover] nothing is launched until all workers and applications from
// the store have attached, or Options.RecoveryTimeout has passed. An application that
// is not in the store, because the store was lost, is added when it attaches.
package cluster
