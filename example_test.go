package bobbin_test

import (
	"context"
	"fmt"
	"log"

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
