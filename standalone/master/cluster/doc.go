// Package cluster decides which executors and drivers run on which workers of a standalone
// cluster. It is the state machine of a master.
//
// A [Cluster] is a plain value, like scheduler.Scheduler: it starts no goroutine, takes no
// lock, does no I/O and reads no clock. Its owner is one goroutine, which repeats these steps:
//
//  1. It calls a method for each event, with the event's time, for example when a worker
//     has attached or an application has requested executors.
//  2. It calls [Cluster.Schedule].
//  3. It calls [Cluster.Take], writes the changes of the [Actions] to the store, and then
//     sends the orders to workers and applications.
//
// # Order
//
// Drivers are launched first, in the order of submission. The workers are shuffled, and each
// driver is launched on the next worker with enough free resources. Then executors are
// launched for applications in the order of registration: the first application gets all
// executors that it requests if they fit, then the second, and so on. An application's
// executors are spread over many workers, or packed onto few (Options.SpreadOut), within
// cores.max and the application's request. Workers on hosts that waiting tasks prefer come
// first, and workers on which executors of the application have failed come last. This follows
// Spark's standalone master (Master.scala of Spark 3, startExecutorsOnWorkers), except for
// preferred hosts and failures.
//
// # Loss
//
// A worker or an application that attaches (opens a stream to the master) reports its
// executors. The cluster adds the executors that it does not know. Executors that the worker
// does not report are launched again or considered lost. Nothing is launched on a disconnected
// worker or for a disconnected application, and it is considered lost after
// Options.ReconnectTimeout. A worker that is connected but sends nothing is considered lost
// after Options.WorkerTimeout.
//
// After [Cluster.Recover], nothing is launched until all workers and applications from the
// store have attached, or Options.RecoveryTimeout has passed. If the store was lost, an
// application that is not in the store is added when it attaches.
package cluster
