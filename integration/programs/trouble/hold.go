package main

import (
	"context"
	"errors"
	"runtime"
	"strconv"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
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

var numbers = dataset.Define("numbers", func(p *dataset.Plan, n int64) *dataset.Of[int64] { return dataset.Range(p, 0, n, 4) })

// cached runs as hold does, while executors store a data set in their memory.
//
//	trouble cached TASKS FIRST-FILE SECOND-FILE
func cached(ctx context.Context, arguments []string) error {
	return inSession(ctx, func(session *bobbin.Session) error {
		stored := numbers.With(session, 100_000).Cache(dataset.Memory)
		defer runtime.KeepAlive(stored)
		if _, err := stored.Len(ctx); err != nil {
			return err
		}
		return hold(ctx, arguments)
	})
}
