package main

import (
	"context"
	"errors"
	"os"

	"github.com/bobbin-yarn/bobbin"
)

// returnError is a driver function that opens a session and returns an error.
func returnError(ctx context.Context, text string) error {
	return inSession(ctx, func(*bobbin.Session) error { return errors.New(text) })
}

func panicInDriver(_ context.Context, text string) error { panic(text) }

// exit ends the process with the given exit status, without reporting an error.
func exit(_ context.Context, status int) error {
	os.Exit(status)
	return nil
}

// crash panics in a second goroutine, so that the Go runtime ends the process.
func crash(ctx context.Context, _ []string) error {
	go func() {
		var nothing *int
		*nothing = 1
	}()
	<-ctx.Done()
	return nil
}

// noSession creates no session and waits until its context ends.
func noSession(ctx context.Context, _ []string) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// failFirstAttempt creates a file and ends the process with status 1. If the file exists,
// it runs tasks that succeed.
func failFirstAttempt(ctx context.Context, name string) error {
	if _, err := os.Stat(name); err == nil {
		return succeed(ctx, 4)
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		return err
	}
	os.Exit(1)
	return nil
}
