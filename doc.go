// Package bobbin runs Go programs on a Hadoop YARN cluster, on bobbin's own standalone cluster, or
// on the cores of one machine.
//
// A program passes its driver function to [Main]. If a person starts the program, it runs on this
// machine. If yarn-submit submits the program, the same binary runs on the cluster: one container
// has the ApplicationMaster with the driver, and the other containers have the executors. In client
// mode the driver runs in the submitting process. The setting master selects the cluster. The
// program is the same for all clusters:
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
// A call of [Function.Run] is a job with one task for each input. Each task runs on an executor as
// close as possible to the hosts that its input prefers. If the task fails or its executor is lost,
// the driver retries the task. Functions are registered by name in package variables, so that every
// process of the program registers them.
//
// Concurrent jobs share the executors, either first in, first out or by the weights of their pools
// ([Pool], scheduler.mode). The jobs of a [Group] can be cancelled together. With speculation, the
// driver starts a second attempt of a slow task on another executor, and [Task.CommitOutput] lets
// only one attempt commit its output. [Barrier] starts all tasks of a job together, so that the
// tasks can exchange data.
//
// A job can request executors of a different size, for example with more memory or a GPU: see
// [OnExecutors]. With dynamicAllocation.enabled, the driver requests executors while tasks are
// pending, and stops idle executors.
package bobbin
