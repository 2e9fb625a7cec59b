// Package stage decides which stages run, with which tasks, and stores the locations of map
// outputs. It corresponds to Spark's DAGScheduler and MapOutputTracker.
//
// A [Graph] is a state machine: it starts no goroutine, takes no lock, does no I/O and reads no
// clock. One goroutine, the owner, reports events by calling the methods of the Graph. Each
// call returns a list of actions, which the owner carries out in their order.
//
// # Terms
//
//   - A shuffle consists of the outputs of a map stage, one for each map task. The result stage
//     of a job is its last stage, whose tasks return the results of the job.
//   - The parents of a stage are the map stages whose outputs it reads. A stage is complete if
//     all its tasks have results; the result of a map task is its output.
//   - A stage attempt runs those tasks of a stage that have no result, as one task set.
//   - A job needs its result stage. If a job needs a stage that is not complete, it also needs
//     the parents of this stage that are not complete.
//
// # Duties of the owner
//
//  1. Call [Graph.Submit] to start a job, and [Graph.Cancel] to cancel it. The last action of each
//     job is [JobDone] or [JobFailed].
//  2. On [Plan], choose the number of tasks from the sizes of the outputs that the stage reads,
//     and call [Graph.Planned].
//  3. On [Run], submit a task set with the given tasks, which read the shuffles from the
//     locations that [Graph.Outputs] returns. When a task succeeds, call [Graph.TaskDone], which
//     reports whether the result is used. When a task cannot fetch its input, call
//     [Graph.FetchFailed]; the task set must not retry this task. The task set retries tasks
//     after other failures. When the task set has ended, call [Graph.SetEnded]. If two
//     speculative copies of a task in one attempt run on the same executor, the output of one
//     must not overwrite the output of the other, because the outputs may differ.
//  4. On [Drain], start no more tasks of the task set. On [Abort], cancel the task set.
//  5. Call [Graph.ExecutorsLost] when executors are lost; report executors that are lost together
//     in one call. Call [Graph.Relocated] for each output that a stopping executor has copied to
//     another one.
//  6. Call [Graph.Release] for each shuffle that no job will read any more.
//
// # Rules
//
//   - Outputs of stages outlive jobs. A job skips the stages whose outputs exist, and the
//     stages whose outputs only the skipped stages read. Jobs that need the same stage share
//     its attempts.
//   - Only tasks without a result run. If outputs of a running stage are lost with their
//     executor, another attempt computes them again at once. Other tasks that must run again
//     wait until the current attempt has ended.
//   - If outputs that a running stage reads are lost, its attempt drains, and the lost outputs
//     are computed again at once. Then the tasks without a result run in a new attempt. Results
//     of the old attempt still count, even while the new attempt runs.
//   - If MaxFetchFailures attempts of a stage in a row have a fetch failure, without any result
//     in between, the jobs that need the stage fail. A fetch failure does not count if the
//     output has been replaced or relocated since. It does not count either if another executor
//     of the same host did not respond in these attempts, because the host may be lost.
//   - If a map task runs again and its output has a different checksum than before, everything
//     that was computed from the shuffle is dropped, and computed again if a job needs it. A
//     job that has received results computed from the shuffle fails. If the checksum is the
//     same, nothing is dropped.
//
// # Files
//
// graph.go contains the jobs and the known stages. schedule.go decides what runs, report.go
// handles the ends of tasks, output.go contains the locations of outputs, rollback.go handles
// outputs that have changed, and action.go contains the actions.
package stage
