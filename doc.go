// Package bobbin runs Go programs on a Hadoop YARN cluster, on a standalone
// cluster of its own, or on the cores of one machine.
//
// A program passes its driver function to [Main]. Started by hand, the program runs
// on this machine. Submitted by yarn-submit, the same binary runs on the cluster:
// as ApplicationMaster with the driver in one container, and as executors in
// others. In client mode the driver runs in the process that submits. The setting
// master selects the cluster; the program is the same for all:
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
// A call of [Function.Run] is a job with one task for each input. Each task runs on
// an executor as close as possible to the hosts that its input prefers; if the task
// fails or the executor is lost, it is retried. Functions are registered by name in
// package variables, so that every process of the program has them.
//
// Jobs that run at the same time share the executors: first in, first out, or by
// the weights of their pools ([Pool], scheduler.mode). The jobs of a [Group] can be
// cancelled together. With speculation a slow task gets a second attempt on another
// executor, and [Task.CommitOutput] lets only one of the two commit its output.
// [Barrier] starts all tasks of a job together, so that they can exchange data.
//
// A job can use executors of another size, with more memory or a GPU each: see
// [OnExecutors]. With dynamicAllocation.enabled, executors are started while tasks
// are pending, and stopped when they are idle.
package bobbin
