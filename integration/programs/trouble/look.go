package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/storage"
)

// lookInput is the input of a task that writes the contents of files and environment variables
// to a file in Directory. Names are the arguments NAME of look.
type lookInput struct {
	Directory string
	Names     []string
}

var lookTask = bobbin.Func("look", func(task *bobbin.Task, input lookInput) (int, error) {
	return 0, input.report(task, task.Files(), fmt.Sprintf("task-%d", task.Index()))
})

// look makes the driver and two tasks write the contents of files and environment variables in
// their containers to files in DIRECTORY: driver, task-0 and task-1.
//
//	trouble look DIRECTORY NAME…
//
// Each NAME is the path of a file, or $VARIABLE for an environment variable.
func look(ctx context.Context, arguments []string) error {
	if len(arguments) < 2 {
		return errors.New("want a directory and names")
	}
	input := lookInput{Directory: arguments[0], Names: arguments[1:]}
	return inSession(ctx, func(session *bobbin.Session) error {
		if err := input.report(ctx, session.Files(), "driver"); err != nil {
			return err
		}
		_, err := lookTask.Run(ctx, session, []lookInput{input, input})
		return err
	})
}

// report writes a line NAME=content for each of s.Names to a file in s.Directory. The parameter
// "as" is the file's name.
func (s lookInput) report(ctx context.Context, files *storage.Files, as string) error {
	var seen strings.Builder
	for _, name := range s.Names {
		content, err := lookAt(name)
		if err != nil {
			content = "error: " + err.Error()
		}
		fmt.Fprintf(&seen, "%s=%s\n", name, strings.TrimSpace(content))
	}
	file, err := files.Create(ctx, strings.TrimRight(s.Directory, "/")+"/"+as)
	if err != nil {
		return err
	}
	if _, err := file.WriteString(seen.String()); err != nil {
		return errors.Join(err, file.Abort())
	}
	return file.Close()
}

func lookAt(name string) (string, error) {
	if variable, ok := strings.CutPrefix(name, "$"); ok {
		return os.Getenv(variable), nil
	}
	content, err := os.ReadFile(name)
	return string(content), err
}
