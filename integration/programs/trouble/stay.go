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

// stayed is a directory, and the file that a task waits for.
type stayed struct{ Directory, Signal string }

// stayTask leaves the id of its process in a file, and ends when there is another.
var stayTask = bobbin.Func("stay", func(task *bobbin.Task, input stayed) (int, error) {
	name := path.Join(input.Directory, fmt.Sprintf("process-%d-%d", task.Index(), task.Attempt()))
	if err := writeFile(task, task.Files(), name, strconv.Itoa(os.Getpid())); err != nil {
		return 0, err
	}
	return task.Attempt(), awaitFile(task, task.Files(), input.Signal)
})

// stay runs two tasks that say in files of a directory, process-TASK-ATTEMPT, which
// process they run in, until there is another file. It fails where one was tried
// again.
//
//	trouble stay DIRECTORY FILE
func stay(ctx context.Context, arguments []string) error {
	if len(arguments) != 2 {
		return errors.New("want a directory and a file")
	}
	input := stayed{arguments[0], arguments[1]}
	return inSession(ctx, func(session *bobbin.Session) error {
		attempts, err := stayTask.Run(ctx, session, []stayed{input, input})
		for i, attempt := range attempts {
			if attempt != 0 {
				err = errors.Join(err, fmt.Errorf("task %d succeeded in attempt %d", i, attempt))
			}
		}
		return err
	})
}
