// Package bobbin runs Go programs on a Hadoop YARN cluster, on a standalone
// cluster of its own, or on the cores of one machine.
//
// A program gives its driver function to [Main]. Started by a person, it runs on
// this machine. Started by yarn-submit, the same binary is the ApplicationMaster
// with the driver in one container and the executors in others; in client mode the
// driver stays where it was started. The setting master decides which of these it
// is; the program is the same:
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
// [Function.Run] is a job: one task for each input. Each task runs on an executor
// as close as possible to the hosts that its input prefers, and again elsewhere if
// it fails or its executor is lost. Functions are registered by name in package
// variables, so that every process of the same binary has them.
//
// Jobs that run at the same time share the executors: first in, first out, or as
// their pools say ([Pool], scheduler.mode). The jobs of a [Group] can be cancelled
// together. With speculation a slow task gets a second attempt elsewhere, and
// [Task.CommitOutput] lets only one of the two commit its output. [Barrier] starts
// tasks together that exchange data with one another.
//
// A job can have executors of its own, with more memory or a GPU each: see
// [OnExecutors]. With dynamicAllocation.enabled executors are started while tasks
// wait for them, and stopped when they are idle.
package bobbin
