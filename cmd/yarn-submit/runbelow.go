package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/bobbin-yarn/bobbin/client"
)

// runBelow runs a program below this process, which hands on the signals that
// it gets and ends as the program does.
func runBelow(t terminal, path string, argv, environment []string) error {
	child := &exec.Cmd{Path: path, Args: argv, Env: append(os.Environ(), environment...), Stdin: os.Stdin, Stdout: t.stdout, Stderr: os.Stderr}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := child.Start(); err != nil {
		return client.Usage(fmt.Errorf("cannot run %s: %w", path, err))
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	for {
		select {
		case received := <-signals:
			_ = child.Process.Signal(received) // it may have ended
		case err := <-ended:
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() > 0 {
				return &carriedStatus{status: exit.ExitCode(), err: fmt.Errorf("the job failed with exit status %d", exit.ExitCode())}
			}
			return err
		}
	}
}
