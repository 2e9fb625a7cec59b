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
	ExitUsage   = 2 // flags, configuration, program or arguments are wrong
	ExitCluster = 3 // the cluster could not be reached, or refused the request
)

// exitError is an error that determines the exit status of the process.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// FailedError gives err the exit status ExitFailed, unless it is nil or has a status.
func FailedError(err error) error { return withCode(ExitFailed, err) }

// UsageError gives err the exit status ExitUsage, unless it is nil or has a status.
func UsageError(err error) error { return withCode(ExitUsage, err) }

// RefusedError gives err the exit status ExitCluster, unless it is nil or has a status.
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

// examinableError is an error whose cause RunDoctor may find.
type examinableError struct{ error }

func (e *examinableError) Unwrap() error { return e.error }

// Java exceptions by which a server says that it does not accept the method of
// authentication, or does not admit the user.
const (
	saslException          ipc.ErrorClass = "javax.security.sasl.SaslException"
	authorizationException ipc.ErrorClass = "org.apache.hadoop.security.authorize.AuthorizationException"
)

// MayDoctorExplain reports whether RunDoctor (yarn-submit doctor) may find the cause of err.
// It may if a login failed, or if a daemon does not answer or does not accept the user.
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

// ExitCode returns the exit status for err, ExitFailed for an error without a status.
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

// InterruptedError returns err. But if ctx has ended and err is not nil, it returns the
// cause of ctx as a FailedError.
func InterruptedError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return FailedError(context.Cause(ctx))
	}
	return err
}
