// Package cluster decides what runs where in a standalone cluster: it is the
// state of a master, and what follows from what happens.
//
// A [Cluster] is a plain value, as scheduler.Scheduler is: it starts no
// goroutine, takes no lock, does no input or output and has no clock. Its owner,
// one goroutine, tells it what happened and when (a worker attached, an
// application asked for executors), calls [Cluster.Schedule], and carries out
// the [Effects] that [Cluster.Take] gives: orders for workers and applications,
// and records for the store, which must be written before the orders go out.
//
// # Order
//
// Drivers go first, in the order of their submission, each to the next of the
// shuffled workers that has room. Then applications, first in, first out: the
// first is given what it wants as far as there is room, then the second, and so
// on. An application's executors are spread over as many workers as possible, or
// packed onto few (Options.SpreadOut), never beyond its cores.max nor beyond
// what it has asked for. Workers on hosts that waiting tasks prefer go first, and
// those on which executors of the application have failed last. This is what
// Spark's standalone master does (Master.scala of Spark 3, startExecutorsOnWorkers);
// preferred hosts and failures are ours.
//
// # Loss
//
// What a worker or an application says when it attaches is the truth: executors
// that it names are taken over, others are launched again or lost. One that is
// disconnected gets nothing new, and is taken for gone after
// Options.ReconnectTimeout; a worker that is connected and silent, after
// Options.WorkerTimeout. After [Cluster.Recover] nothing is launched until all
// that the store named have attached, or Options.RecoveryTimeout has passed. An
// application that no store named, because it was lost, is taken over as it is.
package cluster
