package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"

	"github.com/bobbin-yarn/bobbin"
)

// stayInput is the input of a task. The task writes its process id to the file Process, and
// then waits until the file AwaitedFile exists; "" means not to wait.
type stayInput struct{ Process, AwaitedFile string }

var stayTask = bobbin.Func("stay", func(task *bobbin.Task, input stayInput) (int, error) {
	if err := writeFile(task, task.Files(), input.Process, strconv.Itoa(os.Getpid())); err != nil {
		return 0, err
	}
	if input.AwaitedFile == "" {
		return task.Attempt(), nil
	}
	return task.Attempt(), awaitFile(task, task.Files(), input.AwaitedFile)
})

// stay runs two tasks that wait until FILE exists, and then two tasks that do not wait. The
// tasks write their process ids to the files first-0, first-1, second-0 and second-1 in
// DIRECTORY. stay fails if a task needs more than one attempt.
//
//	trouble stay DIRECTORY FILE
func stay(ctx context.Context, arguments []string) error {
	if len(arguments) != 2 {
		return errors.New("want a directory and a file")
	}
	return inSession(ctx, func(session *bobbin.Session) error {
		for _, run := range []struct{ name, signal string }{{"first", arguments[1]}, {"second", ""}} {
			inputs := make([]stayInput, 2)
			for i := range inputs {
				inputs[i] = stayInput{path.Join(arguments[0], fmt.Sprintf("%s-%d", run.name, i)), run.signal}
			}
			attempts, err := stayTask.Run(ctx, session, inputs)
			if err != nil {
				return err
			}
			if attempts[0]+attempts[1] > 0 {
				return fmt.Errorf("the tasks of the %s run succeeded in attempts %v", run.name, attempts)
			}
		}
		return nil
	})
}
