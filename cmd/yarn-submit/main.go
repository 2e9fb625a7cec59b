// Command yarn-submit submits programs and commands to a YARN cluster, and
// tells what became of them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/command"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

func main() {
	// The executors of yarn-submit run are this same binary, and so is what
	// launches them in client mode: what they do comes from the driver, not from a
	// command line.
	switch launch.Role(os.Getenv(launch.EnvRole)) {
	case launch.RoleExecutor, launch.RoleLauncher:
		command.Main(command.Options{})
	}
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs one command line and returns the exit status.
func execute(args []string, stdout, stderr io.Writer) int {
	console := client.NewConsole(stderr)
	ctx, stop := interruptible(console)
	defer stop()
	root := newRoot(terminal{stdout: stdout, console: console, sameScreen: isTerminal(stdout) && isTerminal(stderr)})
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	console.Close()
	if err == nil {
		return client.ExitSuccess
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(stderr, "yarn-submit: %s\n", strings.TrimRight(line, "\n"))
	}
	var carried *carriedStatus
	if errors.As(err, &carried) {
		return carried.status
	}
	return client.ExitCode(err)
}

// sameSignal is within what time a second signal is taken for the first one:
// timeout(1) and others signal a process and then its whole group.
const sameSignal = 300 * time.Millisecond

// interruptible gives a context that ends with the first SIGINT or SIGTERM; a
// second one ends the process.
func interruptible(console *client.Console) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		var first time.Time
		for {
			select {
			case <-done:
				return
			case received := <-signals:
				switch {
				case first.IsZero():
					first = time.Now()
					cancel(interrupted(received))
				case time.Since(first) > sameSignal:
					console.Close()
					os.Exit(client.ExitFailed)
				}
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		<-ended
		cancel(nil)
	}
}

func interrupted(received os.Signal) error {
	if received == os.Interrupt {
		return errors.New("interrupted (Ctrl-C)")
	}
	return fmt.Errorf("interrupted (%v)", received)
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
