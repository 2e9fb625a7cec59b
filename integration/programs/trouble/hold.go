package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/bobbin-yarn/bobbin"
)

// hold runs TASKS tasks, which wait until FIRST-FILE exists. Then the driver waits until
// SECOND-FILE exists.
//
//	trouble hold TASKS FIRST-FILE SECOND-FILE
func hold(ctx context.Context, arguments []string) error {
	if len(arguments) != 3 {
		return errors.New("want a number of tasks and two files")
	}
	tasks, err := strconv.Atoi(arguments[0])
	if err != nil {
		return err
	}
	paths := make([]string, tasks)
	for i := range paths {
		paths[i] = arguments[1]
	}
	return inSession(ctx, func(session *bobbin.Session) error {
		if _, err := awaitFileTask.Run(ctx, session, paths); err != nil {
			return err
		}
		return awaitFile(ctx, session.Files(), arguments[2])
	})
}
