package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/storage"
)

// slowFirst writes a part file of an output. The first attempt of task 0 waits until it is
// killed, and then still tries to commit its part file.
var slowFirst = bobbin.Func("slow first", func(task *bobbin.Task, _ int) (int, error) {
	output, err := bobbin.SharedValue[storage.Output](task)
	if err != nil {
		return 0, err
	}
	// Use a context that the kill does not cancel, so that the killed attempt has a part file
	// to commit.
	part, err := output.Part(context.WithoutCancel(task), task.Index(), task.Attempt())
	if err != nil {
		return 0, err
	}
	defer func() { _ = part.Abort() }()
	if _, err := fmt.Fprintln(part, "written by attempt", task.Attempt()); err != nil {
		return 0, err
	}
	if task.Index() == 0 && task.Attempt() == 0 {
		<-task.Done()
	}
	return task.Attempt(), task.CommitOutput(part.Commit)
})

// straggle writes an output with six tasks. The first attempt of task 0 ends only when it is
// killed, so a speculative copy must succeed.
//
//	trouble straggle OUT
func straggle(ctx context.Context, out string) error {
	return inSession(ctx, func(session *bobbin.Session) error {
		output, err := session.Files().NewOutput(ctx, out, session.ApplicationID())
		if err != nil {
			return err
		}
		const tasks = 6
		attempts, err := slowFirst.Run(ctx, session, indices(tasks), bobbin.Shared(output))
		if err != nil {
			return errors.Join(err, output.Abort(ctx))
		}
		if attempts[0] == 0 {
			return errors.New("the attempt that does not end has a result")
		}
		return output.Commit(ctx, tasks)
	})
}

// writeReason waits until the task is killed, and then writes the reason to a file in
// directory.
var writeReason = bobbin.Func("farewell", func(task *bobbin.Task, directory string) (int, error) {
	<-task.Done()
	name := farewellName(directory, task.Index())
	return 0, errors.Join(context.Cause(task), writeFile(context.WithoutCancel(task), task.Files(), name, context.Cause(task).Error()))
})

func farewellName(directory string, task int) string {
	return path.Join(directory, fmt.Sprintf("task-%d", task))
}

// writeFile creates a file atomically.
func writeFile(ctx context.Context, files *storage.Files, name, text string) error {
	const unfinished = ".unfinished"
	file, err := files.Create(ctx, name+unfinished, storage.Overwrite())
	if err != nil {
		return err
	}
	if _, err := file.Write([]byte(text)); err != nil {
		return errors.Join(err, file.Abort())
	}
	if err := file.Close(); err != nil {
		return err
	}
	return files.Rename(ctx, name+unfinished, name)
}

// cancelJob runs a job of two tasks that end only when the job is cancelled. It cancels the
// job, and runs other tasks on the same cores. It returns when both killed tasks have written
// their files to DIRECTORY.
//
//	trouble cancel DIRECTORY
func cancelJob(ctx context.Context, directory string) error {
	return inSession(ctx, func(session *bobbin.Session) error {
		ended := make(chan error, 1)
		go func() {
			_, err := writeReason.Run(bobbin.Group(ctx, "unwanted", "nobody waits for it"), session, []string{directory, directory})
			ended <- err
		}()
		for len(session.Jobs()) == 0 || session.Jobs()[0].Running < 2 {
			select {
			case <-time.After(untilInterval):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if n := session.CancelGroup("unwanted", "nobody wants it any more"); n != 1 {
			return fmt.Errorf("%d jobs were cancelled", n)
		}
		if err := <-ended; !errors.Is(err, bobbin.ErrCancelled) {
			return fmt.Errorf("the cancelled job ended with %w", err)
		}
		if _, err := double.Run(ctx, session, indices(8)); err != nil {
			return err
		}
		for task := range 2 {
			if err := awaitFile(ctx, session.Files(), farewellName(directory, task)); err != nil {
				return err
			}
		}
		return nil
	})
}

var sleepTask = bobbin.Func("nap", func(task *bobbin.Task, millis int) (int, error) {
	select {
	case <-time.After(time.Duration(millis) * time.Millisecond):
		return 0, nil
	case <-task.Done():
		return 0, context.Cause(task)
	}
})

// share runs one job in each of the pools heavy and light, and cancels both jobs when FILE
// exists.
//
//	trouble share FILE
func share(ctx context.Context, file string) error {
	return inSession(ctx, func(session *bobbin.Session) error {
		naps := make([]int, 2000)
		for i := range naps {
			naps[i] = 100
		}
		ended := make(chan error, 2)
		for _, pool := range []string{"light", "heavy"} {
			go func() {
				_, err := sleepTask.Run(bobbin.InPool(bobbin.Group(ctx, "naps", ""), pool), session, naps, bobbin.Name(pool))
				ended <- err
			}()
		}
		if err := awaitFile(ctx, session.Files(), file); err != nil {
			return err
		}
		session.CancelGroup("naps", "it has been seen")
		for range 2 {
			if err := <-ended; !errors.Is(err, bobbin.ErrCancelled) {
				return err
			}
		}
		return nil
	})
}

var device = bobbin.Func("device", func(task *bobbin.Task, _ int) (string, error) {
	return fmt.Sprint(task.ExecutorID(), task.Resources()["gpu"]), nil
})

// devices runs the given number of tasks. For each task it prints the executor's id and the
// GPUs that are assigned to the task.
func devices(ctx context.Context, tasks int) error {
	return inSession(ctx, func(session *bobbin.Session) error {
		got, err := device.Run(ctx, session, indices(tasks))
		fmt.Printf("devices %q\n", got)
		return err
	})
}

var barrierTask = bobbin.Func("meet", func(task *bobbin.Task, _ int) (int, error) {
	for range 10 {
		if err := task.Barrier(task); err != nil {
			return 0, err
		}
	}
	return len(task.BarrierTasks()), nil
})

// runBarrier runs a barrier set with the given number of tasks. The tasks wait for each other
// ten times.
func runBarrier(ctx context.Context, tasks int) error {
	return inSession(ctx, func(session *bobbin.Session) error {
		peers, err := barrierTask.Run(ctx, session, indices(tasks), bobbin.Barrier())
		for _, n := range peers {
			if n != tasks {
				return fmt.Errorf("a task knows of %d", n)
			}
		}
		return err
	})
}
