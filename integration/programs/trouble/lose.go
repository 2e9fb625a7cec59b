package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/bobbin-yarn/bobbin"
)

// endProcess kills its executor with SIGKILL in the first attempt of task 0, like the kernel
// when memory is exhausted. It returns the attempt's number.
var endProcess = bobbin.Func("end process", func(task *bobbin.Task, _ int) (int, error) {
	if task.Index() == 0 && task.Attempt() == 0 {
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return 0, err
		}
		return 0, errors.Join(self.Kill(), errors.New("the process lives on"))
	}
	return task.Attempt(), nil
})

// loseExecutor runs the given number of tasks. The first attempt of task 0 kills its executor.
func loseExecutor(ctx context.Context, tasks int) error {
	return inSession(ctx, func(session *bobbin.Session) error {
		attempts, err := endProcess.Run(ctx, session, indices(tasks))
		if err != nil {
			return err
		}
		if attempts[0] != 1 {
			return fmt.Errorf("the first task succeeded in attempt %d", attempts[0])
		}
		return nil
	})
}
