// Command steady uses HDFS repeatedly, with new connections to the NameNodes in each round, so
// that tests can let delegation tokens expire between the rounds.
//
//	steady DIR,... ROUNDS PAUSE [GATE]
//
// In each round, the driver and two tasks each write a file below each DIR and read it again.
// The executors of the last round start only then. PAUSE is the time between two rounds. It
// must be longer than 10 s, after which idle connections are closed. The last round also waits
// until the file GATE exists on the driver's host.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/storage"
)

var copyTask = bobbin.Func("copy", func(task *bobbin.Task, names []string) (string, error) {
	return task.ExecutorID(), copyAll(task, names)
})

// copyAll writes each of the files and reads it again.
func copyAll(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := copyOnce(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// copyOnce writes a file and reads it again.
func copyOnce(ctx context.Context, name string) error {
	files := storage.From(ctx)
	writer, err := files.Create(ctx, name, storage.Overwrite()) // an earlier attempt may have written the file
	if err != nil {
		return err
	}
	if _, err := io.WriteString(writer, name); err != nil {
		return errors.Join(err, writer.Abort())
	}
	if err := writer.Close(); err != nil {
		return err
	}
	file, err := files.Open(ctx, name)
	if err != nil {
		return err
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err == nil && string(content) != name {
		err = fmt.Errorf("%s has the content %q", name, content)
	}
	return err
}

func main() {
	bobbin.Main(func(ctx context.Context) error { return run(ctx, os.Args[1:]) })
}

func run(ctx context.Context, arguments []string) error {
	if len(arguments) != 3 && len(arguments) != 4 {
		return errors.New("usage: steady DIR,... ROUNDS PAUSE [GATE]")
	}
	rounds, err := strconv.Atoi(arguments[1])
	if err != nil {
		return err
	}
	pause, err := time.ParseDuration(arguments[2])
	if err != nil {
		return err
	}
	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	for round := 1; round <= rounds; round++ {
		names := func(who string) (all []string) {
			for dir := range strings.SplitSeq(arguments[0], ",") {
				all = append(all, fmt.Sprintf("%s/%d-%s", dir, round, who))
			}
			return all
		}
		if err := copyAll(ctx, names("driver")); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		var options []bobbin.Option
		if round == rounds {
			options = append(options, bobbin.OnExecutors(bobbin.ResourceProfile{Cores: 2}))
		}
		executors, err := copyTask.Run(ctx, session, [][]string{names("a"), names("b")}, options...)
		if err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		fmt.Println("round", round, "on executors", executors)
		if round == rounds {
			break
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		if round == rounds-1 && len(arguments) == 4 {
			if err := awaitFile(ctx, arguments[3]); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitFile waits until a file exists.
func awaitFile(ctx context.Context, path string) error {
	for {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
