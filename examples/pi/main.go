// Command pi estimates π from random points in a square. It reads no data.
//
//	pi [TASKS]
//
// TASKS is the number of tasks.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"

	"github.com/bobbin-yarn/bobbin"
)

// pointsPerTask keeps a core busy for about a tenth of a second.
const pointsPerTask = 10_000_000

// countInside is the task function. It draws random points in the unit square and returns how
// many of them are inside the quarter circle.
var countInside = bobbin.Func("inside", func(task *bobbin.Task, points int) (int, error) {
	random := rand.New(rand.NewPCG(uint64(task.Index()), 0))
	hits := 0
	for i := range points {
		if i%(1<<20) == 0 && task.Err() != nil {
			return 0, context.Cause(task)
		}
		x, y := random.Float64(), random.Float64()
		if x*x+y*y <= 1 {
			hits++
		}
	}
	return hits, nil
})

func main() { bobbin.Main(run) }

func run(ctx context.Context) error {
	tasks := 16
	if len(os.Args) > 1 {
		n, err := strconv.Atoi(os.Args[1])
		if err != nil || n < 1 {
			return fmt.Errorf("usage: pi [TASKS]: %q is not a number of tasks", os.Args[1])
		}
		tasks = n
	}
	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()

	inputs := make([]int, tasks)
	for i := range inputs {
		inputs[i] = pointsPerTask
	}
	hits, err := countInside.Run(ctx, session, inputs)
	if err != nil {
		return err
	}
	total := 0
	for _, n := range hits {
		total += n
	}
	fmt.Printf("Pi is roughly %.6f\n", 4*float64(total)/float64(tasks*pointsPerTask))
	return nil
}
