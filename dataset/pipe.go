package dataset

import (
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/process"
)

// Pipe runs a command for each partition. The command gets the elements as lines on stdin,
// and the lines that it writes to stdout are the elements of the result. command is a
// program, which is found as os/exec finds it, and its arguments. An element that contains
// a line break becomes several lines.
//
// The task fails if the command cannot be started or its exit code is not 0; the error
// contains the end of its stderr. If the command exits before it has read all of its input,
// as head does, the unread input is ignored. When the task ends, the command's process
// group is killed.
func Pipe(in *Of[[]byte], command ...string) *Of[[]byte] {
	if len(command) == 0 || command[0] == "" {
		in.plan.reject("Pipe", errors.New("it needs a command"))
	}
	piped := narrow(in, "Pipe", func(x *taskContext, partition int, emit func([]byte) bool) {
		var stderr process.Tail
		p, err := process.Start(x.task, process.Command{Args: command, Stderr: &stderr}, emit)
		if err == nil {
			defer p.End()
			in.compute(x, partition, p.Write)
			if x.err != nil || p.Stopped() {
				return
			}
			err = p.Finish()
		}
		if cause := context.Cause(x.task); cause != nil {
			err = cause
		} else if message := stderr.String(); err != nil && message != "" {
			err = fmt.Errorf("%w; the end of its stderr: %s", err, message)
		}
		if err != nil {
			x.fail(fmt.Errorf("command %q: %w", command, err))
		}
	})
	piped.node.arguments = fmt.Sprintf("%q", command)
	return piped
}
