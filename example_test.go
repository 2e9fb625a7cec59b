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

// Functions are registered in package variables, so that executors have them
// without running the driver.
var square = bobbin.Func("example.square", func(_ *bobbin.Task, n int) (int, error) { return n * n, nil })

// A program hands its driver function to Main; here RunLocal stands for it, as
// in a test of such a program.
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

// Results can be taken as they come, in any order.
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

// A run can ask for executors of its own kind: here those whose containers have
// a GPU, on nodes with that label. On a local master there is one executor, which
// runs everything.
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

// step is a task of a computation in steps: none begins the next one before all
// have ended the one before.
var step = bobbin.Func("example.step", func(task *bobbin.Task, n int) (int, error) {
	for range 3 {
		n *= 2 // would exchange something with task.BarrierTasks() here
		if err := task.Barrier(task); err != nil {
			return 0, err
		}
	}
	return n, nil
})

// The tasks of such a run are started all at once, and can wait for one another.
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

// write writes a file. Of the attempts of a task, a copy of a slow one among
// them, one may give the file its name.
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

// forever runs until it is told to stop.
var forever = bobbin.Func("example.forever", func(task *bobbin.Task, _ int) (int, error) {
	<-task.Done()
	return 0, context.Cause(task)
})

// Runs that belong together have a group, by which they are cancelled together.
// Those of a nightly job would share the executors as the pool "night" says.
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
			continue // it has not begun
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

// What task functions add to a counter is summed up by the driver, which may read
// the sum at any time; each task counts once, however often it was tried.
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
