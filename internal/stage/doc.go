// Package stage decides which stages of which jobs run, with which tasks, and where
// the outputs of map tasks are.
//
// A [Graph] is a state machine: it starts no goroutine, takes no lock, does no I/O
// and reads no clock. One goroutine, its owner, calls it with what happened, and acts
// on the actions that each call returns, in their order.
//
// # Words
//
//   - Shuffle: the outputs of a map stage, one of each map task. Result stage: the
//     last stage of a job, whose tasks have the results of the job.
//   - Parents of a stage: the map stages whose outputs it reads. A stage is complete
//     if all its tasks have results.
//   - Attempt: one run of the tasks of a stage that have no result, as one task set.
//   - A job needs its result stage. Of each stage that it needs and that is not
//     complete, it also needs the parents that are not complete.
//
// # What the owner does
//
//  1. Call [Graph.Submit] for a job; [Graph.Cancel] ends one. [JobDone] or
//     [JobFailed] is the last action of each job.
//  2. On [Plan], decide the number of tasks from the sizes of the outputs that the
//     stage reads, and call [Graph.Planned].
//  3. On [Run], submit a task set with these tasks, which read the [Graph.Outputs]
//     of the shuffles. For each task call [Graph.TaskDone], whose first result says
//     whether the task's result is used, or [Graph.FetchFailed]. After a fetch
//     failure, the task set must not retry the task; it retries tasks after failures
//     of other kinds. At last, call [Graph.SetEnded]. Two copies of a task in one
//     attempt may write different output. If both run on the same executor, the
//     output of one must not replace the output of the other.
//  4. On [Drain], start no more tasks of the set; on [Abort], cancel the set.
//  5. Call [Graph.ExecutorsLost] for lost executors, together for those that are lost
//     together, and [Graph.Relocated] for each output that a stopping executor has
//     handed over.
//  6. Call [Graph.Release] for each shuffle that no job will read any more.
//
// # Rules
//
//   - Stages live longer than jobs. A job skips the stages whose outputs are there,
//     and the stages that it needs only to make these outputs. Jobs share attempts.
//   - Only tasks without a result run. If outputs of a running stage are lost with
//     their executor, another attempt makes them again at once. Other tasks that have to
//     run again wait until the attempt has ended.
//   - If outputs are lost that a running stage reads, its attempt drains, the lost
//     outputs are made again at once, and then the tasks without a result run in a new
//     attempt. Results of the old attempt still count, even when the new one runs.
//   - If MaxFetchFailures attempts of a stage in a row have a fetch failure, without
//     any result in between, the jobs that need the stage fail. A failure does not
//     count if the output was replaced or relocated since, or if another executor of
//     the host did not answer in these attempts: the host may be lost.
//   - If a map task runs again and its output has another checksum than before, all
//     that was computed from the shuffle is dropped, and computed again if it is
//     needed. A job that has received results computed from the shuffle fails. If
//     the checksum is the same, nothing is dropped.
//
// # Where to look
//
// graph.go has the jobs and the known stages. schedule.go decides what runs, report.go
// handles the ends of tasks, output.go has the locations of outputs, rollback.go handles
// output that has changed, and action.go has the actions.
package stage
