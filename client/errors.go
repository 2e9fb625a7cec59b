package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// Exit statuses of yarn-submit.
const (
	ExitSuccess = 0
	ExitFailed  = 1 // the application failed or was killed
	ExitUsage   = 2 // invalid flags, configuration, program or arguments
	ExitCluster = 3 // the cluster does not answer, or has refused the request
)

// exitError is an error with an exit status for the process.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// FailedError gives err the exit status ExitFailed. If err is nil or already has an exit status,
// FailedError returns err.
func FailedError(err error) error { return withCode(ExitFailed, err) }

// UsageError gives err the exit status ExitUsage. If err is nil or already has an exit status,
// UsageError returns err.
func UsageError(err error) error { return withCode(ExitUsage, err) }

// RefusedError gives err the exit status ExitCluster. If err is nil or already has an exit status,
// RefusedError returns err.
func RefusedError(err error) error { return withCode(ExitCluster, err) }

func withCode(code int, err error) error {
	var already *exitError
	if err == nil || errors.As(err, &already) {
		return err
	}
	return &exitError{code: code, err: err}
}

// UsageErrorf formats an error and passes it to UsageError.
func UsageErrorf(format string, args ...any) error { return UsageError(fmt.Errorf(format, args...)) }

// RefusedErrorf formats an error and passes it to RefusedError.
func RefusedErrorf(format string, args ...any) error {
	return RefusedError(fmt.Errorf(format, args...))
}

// examinableError is an error whose cause [RunDoctor] may find.
type examinableError struct{ error }

func (e *examinableError) Unwrap() error { return e.error }

// Java exceptions of servers that do not accept the method of authentication, or that do not admit
// the user.
const (
	saslException          ipc.ErrorClass = "javax.security.sasl.SaslException"
	authorizationException ipc.ErrorClass = "org.apache.hadoop.security.authorize.AuthorizationException"
)

// MayDoctorExplain reports whether [RunDoctor] (yarn-submit doctor) may find the cause of err. This
// is so if a login has failed, or if a daemon does not answer or does not accept the user.
func MayDoctorExplain(err error) bool {
	if _, found := errors.AsType[*examinableError](err); found {
		return true
	}
	if silent, found := errors.AsType[*yarnrest.UnavailableError](err); found {
		return silent.Service == "ResourceManager" && silent.Context == nil
	}
	if _, answered := errors.AsType[*ipc.RemoteError](err); answered {
		return errors.Is(err, saslException) || errors.Is(err, authorizationException) || errors.Is(err, ipc.InvalidToken)
	}
	_, failed := errors.AsType[*ipc.CallError](err)
	return failed && !errors.Is(err, context.Canceled)
}

// ExitCode returns the exit status of err: ExitSuccess if err is nil, and ExitFailed if err has no
// exit status.
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

// InterruptedError returns err. If err is not nil and ctx has ended, it instead returns the cause
// of ctx with the exit status ExitFailed.
func InterruptedError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return FailedError(context.Cause(ctx))
	}
	return err
}
