// Package scheduler decides which task runs on which executor and when.
//
// A [Scheduler] is a plain value: it starts no goroutine, takes no lock, does
// no input or output and has no clock. Its owner, one goroutine, tells it what
// happened (an executor joined, a task set was submitted, an attempt ended),
// carries out the events that it answers with, and calls [Scheduler.Offer]
// with the time to learn which attempts to launch.
//
// # Profiles
//
// An executor has a resource profile, and a task set runs on executors of its
// profile only. Sets of different profiles never compete, so each profile is
// scheduled for itself, and all that is said below holds within one.
//
// # Order
//
// Task sets are served by their priority, first in, first out: a free core goes to
// the first set that has a task for it. With [FAIR] sharing it goes to the pool that is
// furthest below its share, counted in cores that its attempts hold: first to
// pools below their minimum share, then by weight; and so on down the tree, one
// task at a time. A pool or set that takes nothing of what is free leaves its
// turn to the next. Within a set, tasks that come back after a failure or a loss
// go first, then tasks in the order of their index. Tasks spread over the
// executors: the one with the most free cores gets the next, the one that has
// been waiting longest among equals.
//
// A barrier set starts with all its tasks or not at all. Until it can, others
// take the cores; after Config.BarrierReserveDelay it goes first, and cores that
// become free are kept for it.
//
// # Locality
//
// A free core takes the most local task of a set: process-local, then
// node-local, then one without preference, then rack-local, then any. A task
// with preferences is not given to a less local core at once: the set leaves
// that core unused (to later sets, or idle) while a better place may become
// free. This is delay scheduling, with one wait for each level (see [Config]).
//
// The wait works by a budget, which is where this departs from Spark. A set's
// clock starts when the set leaves a core that it could have taken, stops when
// it takes all that it is offered, and is never set back. Each level that is
// live (an executor is there that some waiting task of the set prefers, or such
// a host is waited for: see [Scheduler.ExpectExecutors]) costs its wait; when the clock has run for the waits of all the live levels before a
// level, that level is open to the set. So a set leaves cores unused for no
// longer than its waits in all, and while it is offered nothing, because its
// executors are yet to come or an earlier set takes all, it loses nothing of
// its chance of a local place. Spark sets its timer back whenever a task is
// launched locally (since 3.1: whenever an offer of all free cores left none
// unused), so that a few busy hosts with much data can keep all others idle
// again and again (SPARK-18886).
//
// # Failures
//
// A task whose attempt failed is tried again until it has failed as often as
// its set allows. It stays away from the host of its latest failure as long as
// an executor on another host is alive that is large enough for it, and from
// that executor as long as there is another one at all; or, where [Exclusion] is
// enabled, from the executors and nodes that are excluded for the task, for its
// set or for the application. Attempts that end for reasons that are not the
// task's (its executor was preempted, its node lost, it was killed) are made
// again and don't count.
//
// With [Speculation] an attempt that takes long is copied; copies go after all
// that waits in their set, and wait for no locality.
//
// # Windows
//
// An executor that runs short tasks queues some beyond its cores: it grants a
// window for a task set ([Scheduler.SetWindow]). Free cores are given out first; then
// windows are filled with tasks that never ran, of the set that takes the next
// free core in any case. Queued tasks hold no core, take no part in speculation,
// and have not failed when their executor is lost. They are recalled where their
// executor is to run no more of them, or another set has a right to the core that
// they wait for. What is given back waits for a core of its own.
//
// # Cost
//
// The work of an event doesn't grow with the number of executors or tasks: a
// freed core looks at the sets with waiting tasks in order, at each one in
// constant time, and finds the next of n pools or sets in O(log n). Only when a set is new, has a task back or has a level opened
// does it look at all free executors or at all places that it prefers,
// whichever are fewer. A waiting task takes 1 byte; one with preferences takes
// 4 more, and 8 for each place.
package scheduler
