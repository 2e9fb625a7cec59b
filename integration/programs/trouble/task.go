package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/storage"
)

var double = bobbin.Func("double", func(_ *bobbin.Task, n int) (int, error) { return 2 * n, nil })

var fail = bobbin.Func("fail", func(task *bobbin.Task, text string) (int, error) {
	return 0, fmt.Errorf("%s (try %d)", text, task.Attempt())
})

var panicTask = bobbin.Func("panic", func(_ *bobbin.Task, text string) (int, error) { panic(text) })

// flaky fails in the given number of attempts and then succeeds.
var flaky = bobbin.Func("flaky", func(task *bobbin.Task, failures int) (int, error) {
	if task.Attempt() < failures {
		return 0, errors.New("not yet")
	}
	return task.Attempt(), nil
})

// waitTask runs until it is killed.
var waitTask = bobbin.Func("wait", func(task *bobbin.Task, _ int) (int, error) {
	<-task.Done()
	return 0, context.Cause(task)
})

// awaitFileTask ends when the file at path exists.
var awaitFileTask = bobbin.Func("until", func(task *bobbin.Task, path string) (int, error) {
	return 0, awaitFile(task, task.Files(), path)
})

func awaitFile(ctx context.Context, files *storage.Files, path string) error {
	for {
		there, err := files.Exists(ctx, path)
		if there || err != nil {
			return err
		}
		select {
		case <-time.After(untilInterval):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

const untilInterval = 100 * time.Millisecond

// succeed runs the given number of tasks, which succeed.
func succeed(ctx context.Context, tasks int) error {
	return inSession(ctx, func(session *bobbin.Session) error {
		doubled, err := double.Run(ctx, session, indices(tasks))
		for i, n := range doubled {
			if n != 2*i {
				return fmt.Errorf("task %d gave %d", i, n)
			}
		}
		return err
	})
}

func taskError(ctx context.Context, text string) error {
	return inSession(ctx, func(session *bobbin.Session) error {
		_, err := fail.Run(ctx, session, []string{text})
		return err
	})
}

func taskPanic(ctx context.Context, text string) error {
	return inSession(ctx, func(session *bobbin.Session) error {
		_, err := panicTask.Run(ctx, session, []string{text})
		return err
	})
}

// runFlaky runs one task that fails the given number of times and then succeeds.
func runFlaky(ctx context.Context, failures int) error {
	return inSession(ctx, func(session *bobbin.Session) error {
		attempts, err := flaky.Run(ctx, session, []int{failures})
		if err != nil {
			return err
		}
		fmt.Println("succeeded in try", attempts[0])
		return nil
	})
}

// runWait runs the given number of tasks, which end only when they are killed.
func runWait(ctx context.Context, tasks int) error {
	return inSession(ctx, func(session *bobbin.Session) error {
		_, err := waitTask.Run(ctx, session, indices(tasks))
		return err
	})
}

// runUntil runs two tasks that end when the file at path exists.
func runUntil(ctx context.Context, path string) error {
	return inSession(ctx, func(session *bobbin.Session) error {
		_, err := awaitFileTask.Run(ctx, session, []string{path, path})
		return err
	})
}

func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
