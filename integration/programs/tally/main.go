// Command tally computes a sum of squares with one slow task for each number, so that tests can
// inject faults while it runs.
//
//	tally PAUSE TASKS [OUT]
//
// Each of the TASKS tasks takes at least the duration PAUSE. The sum is printed and, if OUT is
// given, written to this local file.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin"
)

// squareInput is the input of one task, which squares Value and takes at least Pause.
type squareInput struct {
	Value int64
	Pause time.Duration
}

var square = bobbin.Func("square", func(task *bobbin.Task, n squareInput) (int64, error) {
	select {
	case <-time.After(n.Pause):
		return n.Value * n.Value, nil
	case <-task.Done():
		return 0, context.Cause(task)
	}
})

func main() {
	bobbin.Main(func(ctx context.Context) error { return run(ctx, os.Args[1:]) })
}

func run(ctx context.Context, arguments []string) error {
	if len(arguments) != 2 && len(arguments) != 3 {
		return errors.New("usage: tally PAUSE TASKS [OUT]")
	}
	pause, err := time.ParseDuration(arguments[0])
	if err != nil {
		return err
	}
	tasks, err := strconv.Atoi(arguments[1])
	if err != nil {
		return err
	}
	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	numbers := make([]squareInput, tasks)
	for i := range numbers {
		numbers[i] = squareInput{int64(i), pause}
	}
	squares, err := square.Run(ctx, session, numbers)
	if err != nil {
		return err
	}
	sum := int64(0)
	for _, n := range squares {
		sum += n
	}
	fmt.Println(sum)
	if len(arguments) < 3 {
		return nil
	}
	draft := arguments[2] + ".draft"
	return errors.Join(os.WriteFile(draft, fmt.Appendln(nil, sum), 0o644), os.Rename(draft, arguments[2]))
}
