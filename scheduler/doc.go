// Package scheduler decides which task runs on which executor and when.
//
// A [Scheduler] is a state machine: it starts no goroutine, takes no lock, does no
// I/O and reads no clock. Only one goroutine, its owner, calls it, whenever an executor, a
// task set or an attempt changes.
//
// # What the owner does
//
//  1. Call [Scheduler.AddExecutor], [Scheduler.DecommissionExecutor] and
//     [Scheduler.RemoveExecutor] when an executor registers, begins to decommission
//     or is lost.
//  2. Call [Scheduler.Submit] for each task set, and [Scheduler.Cancel] to end one.
//  3. Call [Scheduler.Advance] with the time, then [Scheduler.Finished] for each
//     attempt that ended, and [Scheduler.ResultPending] if an attempt ended whose
//     result is still at its executor.
//  4. Act on the events that these calls return, in their order: for example, kill
//     an attempt, or request that an executor returns its queued attempts.
//  5. Then call [Scheduler.Offer], act on its events, and send the launches that it
//     returns to their executors.
//  6. Repeat steps 3 to 5 after each change, and at the time of
//     [Scheduler.NextDeadline] at the latest. Call [Scheduler.CheckSpeculation] about
//     every 100 ms if speculation is enabled.
//
// # Where to look
//
// The parts with state of their own are packages: pool (which task set gets the
// next free core), exclusion (which executors and nodes are excluded after failures),
// resource (addresses of GPUs and the like), speculation (how long an attempt may
// run) and commit (which attempt may commit its output; the scheduler does not use
// package commit). In this package, cluster.go has the executors by host, rack and free cores.
// backlog.go and pending.go have the tasks of one set by preferred location.
// locality.go implements delay scheduling, offer.go matches tasks to executors,
// retry.go is the retry policy, and attempt.go accounts for the running attempts.
//
// # Words
//
//   - Task set: tasks that run the same function with different inputs. A task is
//     identified by its index. A set is over, or has ended, when all its tasks have
//     results, or when it has failed, or was aborted or cancelled.
//   - Attempt: one launch of a task. It is running, queued (waits at its executor
//     for a core), dequeued (was queued, and uses a core now) or result pending (has
//     run and uses no core; its result has not been fetched). It ends with its outcome.
//   - Profile: the resource profile of an executor. A set runs on executors of its
//     profile only, so each profile is scheduled separately.
//   - Offer: one call of [Scheduler.Offer], which offers all free cores to task sets.
//   - Location: an executor or a host that a task prefers. Level: how local an
//     executor is for a task.
//   - Available: an executor on which tasks may be launched, because it is neither
//     decommissioning nor excluded for the application.
//   - Window: how many attempts of a set an executor may queue. Recall: the request
//     to an executor to return its queued attempts.
//   - Failure: a failed attempt that counts towards TaskSet.MaxFailures. Killed and recalled
//     attempts do not count, and neither do attempts whose executor was preempted.
//   - Straggler: an attempt that has run much longer than others of its set. Copy: a
//     speculative second attempt that is launched while a straggler still runs.
//   - Blocked: a set that cannot continue with the present executors.
//
// # Order
//
// The tree of pools determines the order in which task sets get free cores; see package
// pool. A set that can use none of the free cores is skipped. Within a set, tasks to be
// retried are launched first, then all other tasks in the order of their indexes. The
// executor with the most free cores gets the next task. If several have equally many, the
// executor whose number of free cores has not changed for the longest time gets it.
//
// A barrier set launches all its tasks at once or none. After
// Config.BarrierReserveDelay, free cores are reserved for it.
//
// # Locality
//
// On a free core, a set launches its most local task. A task with preferences is not
// launched on a less local core at once: for some time, the set leaves that core to
// other sets. This is delay scheduling, with one wait for each level.
//
// Spark resets its timer whenever a task is launched locally (since 3.1, whenever
// an offer of all free cores left none unused). So a few busy hosts with much data can
// keep all other hosts idle again and again (SPARK-18886). In this scheduler, the waits are a
// budget. The delay clock of a set runs while the set leaves cores unused, and
// is never reset. A level is live if some waiting task of the set prefers a location
// of that level that has an available executor. NodeLocal is also live while executors are
// expected to register. A level opens when the clock has run for the waits of all live levels
// before it. So a set leaves cores unused for the sum of its waits at most. While
// it is offered no core, it uses up nothing of that budget.
//
// # Cost
//
// The work of an event does not grow with the number of executors or tasks. A
// freed core is offered to the sets with waiting tasks in order, to each in
// constant time, and a FAIR pool finds the next of n children in O(log n). Only for a
// set that is new, has a task to retry or has a newly opened level, an offer tries all
// free executors, or all preferred locations of the set if these are fewer. A
// waiting task takes 1 byte of memory; a task with preferences takes 4 bytes more, and
// 8 bytes for each preferred location.
package scheduler
