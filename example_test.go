package bobbin_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/bobbin-yarn/bobbin"
)

// Functions are registered in package variables, so that executors, which do not run the
// driver function, register them too.
var square = bobbin.Func("example.square", func(_ *bobbin.Task, n int) (int, error) { return n * n, nil })

// A program passes its driver function to Main; a test passes it to RunLocal.
func Example() {
	err := bobbin.RunLocal(context.Background(), "local[2]", func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		if err != nil {
			return err
		}
		defer session.Close()
		squares, err := square.Run(ctx, session, []int{1, 2, 3, 4})
		if err != nil {
			return err
		}
		fmt.Println(squares)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: [1 4 9 16]
}

// Stream yields results in the order of their arrival, not of the inputs.
func ExampleFunction_Stream() {
	err := bobbin.RunLocal(context.Background(), "local[*]", func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		if err != nil {
			return err
		}
		defer session.Close()
		sum := 0
		for result, err := range square.Stream(ctx, session, []int{1, 2, 3, 4}) {
			if err != nil {
				return err
			}
			sum += result.Value
		}
		fmt.Println(sum)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 30
}

// A job can request executors of its own: in this example containers with a GPU, on nodes with a
// label. A local master ignores the request and runs all tasks on its only executor.
func ExampleOnExecutors() {
	err := bobbin.RunLocal(context.Background(), "local[2]", func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		if err != nil {
			return err
		}
		defer session.Close()
		squares, err := square.Run(ctx, session, []int{5, 6}, bobbin.OnExecutors(bobbin.ResourceProfile{
			Memory:    "8g",
			Cores:     4,
			Resources: map[string]int64{"yarn.io/gpu": 1},
			NodeLabel: "gpu",
		}))
		if err != nil {
			return err
		}
		fmt.Println(squares)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: [25 36]
}

// step doubles its input three times. No task begins the next doubling before all tasks have ended
// the current one.
var step = bobbin.Func("example.step", func(task *bobbin.Task, n int) (int, error) {
	for range 3 {
		n *= 2 // a real task would exchange data with task.BarrierTasks() here
		if err := task.Barrier(task); err != nil {
			return 0, err
		}
	}
	return n, nil
})

// All tasks of a barrier job start together, and [Task.Barrier] waits until all have called it.
func ExampleBarrier() {
	err := bobbin.RunLocal(context.Background(), "local[4]", func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		if err != nil {
			return err
		}
		defer session.Close()
		results, err := step.Run(ctx, session, []int{1, 2, 3}, bobbin.Barrier())
		if err != nil {
			return err
		}
		fmt.Println(results)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: [8 16 24]
}

// write writes a file. A task may have several attempts, for example a speculative copy. Only one
// attempt renames its draft to path.
var write = bobbin.Func("example.write", func(task *bobbin.Task, path string) (string, error) {
	draft := fmt.Sprintf("%s.%d", path, task.Attempt())
	if err := os.WriteFile(draft, []byte("text"), 0o600); err != nil {
		return "", err
	}
	defer os.Remove(draft)
	return filepath.Base(path), task.CommitOutput(func() error { return os.Rename(draft, path) })
})

func ExampleTask_CommitOutput() {
	directory, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(directory)
	err = bobbin.RunLocal(context.Background(), "local", func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		if err != nil {
			return err
		}
		defer session.Close()
		names, err := write.Run(ctx, session, []string{filepath.Join(directory, "part")})
		if err != nil {
			return err
		}
		fmt.Println(names)
		return nil
	})
	if err != nil {
		log.Print(err)
	}
	// Output: [part]
}

// forever runs until it is killed.
var forever = bobbin.Func("example.forever", func(task *bobbin.Task, _ int) (int, error) {
	<-task.Done()
	return 0, context.Cause(task)
})

// The jobs of a group can be cancelled together. If scheduler.mode were FAIR, the pool "night"
// would give the nightly jobs their share of the executors.
func ExampleGroup() {
	err := bobbin.RunLocal(context.Background(), "local[2]", func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		if err != nil {
			return err
		}
		defer session.Close()
		nightly := bobbin.InPool(bobbin.Group(ctx, "nightly", "the night's numbers"), "night")
		ended := make(chan error)
		go func() {
			_, err := forever.Run(nightly, session, []int{1, 2})
			ended <- err
		}()
		for session.CancelGroup("nightly", "the night is over") == 0 {
			continue // the job is not submitted yet
		}
		err = <-ended
		fmt.Println(err, errors.Is(err, bobbin.ErrCancelled))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: job "example.forever" was cancelled: the night is over true
}

var (
	words = bobbin.NewCounter("example.words")
	count = bobbin.Func("example.count", func(task *bobbin.Task, text string) (int, error) {
		n := len(strings.Fields(text))
		words.Add(task, int64(n))
		return n, nil
	})
)

// The driver sums the additions of task functions to a counter. It counts one attempt of each task,
// however many attempts the task has.
func ExampleCounter() {
	err := bobbin.RunLocal(context.Background(), "local[2]", func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		if err != nil {
			return err
		}
		defer session.Close()
		if _, err := count.Run(ctx, session, []string{"to be or not", "to be"}); err != nil {
			return err
		}
		fmt.Println(session.Counter(words))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 6
}
