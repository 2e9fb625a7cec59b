package client

import (
	"context"
	"errors"
	"fmt"
)

// What yarn-submit exits with.
const (
	ExitSuccess = 0
	ExitFailed  = 1 // the application failed or was killed
	ExitUsage   = 2 // flags, configuration, program or arguments are wrong
	ExitCluster = 3 // the cluster could not be reached, or refused
)

// exitError gives an error the status that the process exits with.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// Failed marks an error as the application's: ExitCode gives ExitFailed for it.
// Like Usage, it keeps an exit code that err already has.
func Failed(err error) error { return withCode(ExitFailed, err) }

// Usage marks an error as one of usage: ExitCode gives ExitUsage for it. nil
// stays nil, and an error that has its exit code already keeps it.
func Usage(err error) error { return withCode(ExitUsage, err) }

// Refused marks an error as the cluster's: ExitCode gives ExitCluster for it.
// Like Usage, it keeps an exit code that err already has.
func Refused(err error) error { return withCode(ExitCluster, err) }

func withCode(code int, err error) error {
	var already *exitError
	if err == nil || errors.As(err, &already) {
		return err
	}
	return &exitError{code: code, err: err}
}

// Usagef is Usage of a formatted error.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// Refusedf is Refused of a formatted error.
func Refusedf(format string, args ...any) error { return Refused(fmt.Errorf(format, args...)) }

// ExitCode is the status with which a process ends that got err: ExitSuccess
// for nil, ExitFailed for an error that is not known to be anything else.
func ExitCode(err error) int {
	if err == nil {
		return ExitSuccess
	}
	var coded *exitError
	if errors.As(err, &coded) {
		return coded.code
	}
	return ExitFailed
}

// Interrupted returns the cause of ctx's end in place of err if ctx has ended.
func Interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return Failed(context.Cause(ctx))
	}
	return err
}
