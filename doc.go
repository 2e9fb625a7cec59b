// Package bobbin runs Go programs on a Hadoop YARN cluster, on a standalone
// cluster of its own, or on the cores of one machine.
//
// A program hands its driver function to [Main]. Started by hand it runs on
// this machine; started by yarn-submit, the same binary is the ApplicationMaster
// with the driver in one container and the executors in others; in client mode
// the driver stays where it was started. Which of these it is the master says,
// and nothing in the program:
//
//	var square = bobbin.Func("square", func(task *bobbin.Task, n int) (int, error) {
//		return n * n, nil
//	})
//
//	func main() { bobbin.Main(run) }
//
//	func run(ctx context.Context) error {
//		session, err := bobbin.NewSession(ctx)
//		if err != nil {
//			return err
//		}
//		defer session.Close()
//		squares, err := square.Run(ctx, session, []int{1, 2, 3})
//		...
//	}
//
// The driver runs task functions over inputs: one task an input, each on an
// executor as close as possible to the hosts that the input prefers, and again
// elsewhere when it fails or its executor is lost. Functions are registered by
// name in package variables, so that every process of the same binary has them.
//
// Runs that go on at the same time share the executors, first in, first out, or
// as their pools say ([Pool], scheduler.mode); a [Group] of them can be cancelled
// together. With speculation a task that takes long is run once more elsewhere,
// and [Task.CommitOutput] keeps both from committing their output. Tasks that
// exchange something with one another are started together by [Barrier].
//
// A run can have executors of its own kind, with more memory or a GPU each: see
// [OnExecutors]. With dynamicAllocation.enabled executors come as tasks wait for
// them and go when they are idle.
package bobbin
