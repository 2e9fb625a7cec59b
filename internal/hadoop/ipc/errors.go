package ipc

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/pb"
)

// ErrClosed is the error of calls on a closed Client.
var ErrClosed = errors.New("the client is closed")

// ErrorClass is the Java class name of a server's exception. It is an error so
// that errors.Is finds it in a RemoteError:
//
//	errors.Is(err, ipc.StandbyException)
type ErrorClass string

// Classes to which every caller of Hadoop's servers reacts.
const (
	// StandbyException means that the server is the passive one of a pair.
	StandbyException ErrorClass = "org.apache.hadoop.ipc.StandbyException"
	// RetriableException means that the server is not ready or too busy.
	RetriableException ErrorClass = "org.apache.hadoop.ipc.RetriableException"
	// InvalidToken means that the token is unknown to the server or has expired.
	InvalidToken ErrorClass = "org.apache.hadoop.security.token.SecretManager$InvalidToken"
	// AccessControlException means that the user may not do this.
	AccessControlException ErrorClass = "org.apache.hadoop.security.AccessControlException"
)

// Error returns the class name without its package.
func (c ErrorClass) Error() string { return string(c[strings.LastIndexByte(string(c), '.')+1:]) }

// ErrorDetail is the server's classification of an error.
type ErrorDetail int32

// String returns the protocol's name for it.
func (d ErrorDetail) String() string { return pb.ResponseHeader_ErrorCode(d).String() }

// RemoteError is an exception that the server threw.
type RemoteError struct {
	// Class is the exception's Java class name.
	Class ErrorClass
	// Message is its text, without class name and stack.
	Message string
	// Stack is the server's stack trace, empty if the server does not send it.
	Stack string
	// Detail says in which part of the server the error arose.
	Detail ErrorDetail
	// Fatal is set if the server closed the connection because of it.
	Fatal bool
}

// NewRemoteError makes a RemoteError of a class name and a text as Java's
// servers send them: the exception's description and perhaps its stack.
func NewRemoteError(class, text string) *RemoteError {
	message, stack := text, ""
	if at := strings.Index(text, "\n\tat "); at >= 0 {
		message, stack = text[:at], text[at+1:]
	}
	message = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(message, class), ":"))
	return &RemoteError{Class: ErrorClass(class), Message: message, Stack: stack}
}

// remoteError returns the exception that a header carries, nil for success.
func remoteError(header *pb.ResponseHeader) *RemoteError {
	if header.GetStatus() == pb.ResponseHeader_SUCCESS {
		return nil
	}
	remote := NewRemoteError(header.GetExceptionClass(), header.GetErrorMessage())
	remote.Detail = ErrorDetail(header.GetErrorCode())
	remote.Fatal = header.GetStatus() == pb.ResponseHeader_FATAL
	return remote
}

// Error returns "ShortClass: message".
func (e *RemoteError) Error() string {
	class := e.Class.Error()
	if class == "" {
		class = e.Detail.String()
	}
	if e.Message == "" {
		return class
	}
	return class + ": " + e.Message
}

// Is matches an ErrorClass that is the exception's.
func (e *RemoteError) Is(target error) bool {
	class, ok := target.(ErrorClass)
	return ok && class == e.Class
}

// ConnectionError says that a connection could not be made or was lost.
type ConnectionError struct {
	// Address is the server's host:port.
	Address string
	// Sent is set if the call may have reached the server: it is not known
	// whether it was processed.
	Sent bool
	// Err is the cause.
	Err error
}

func (e *ConnectionError) Error() string {
	if e.Sent {
		return "connection lost, and the call may have been processed: " + e.Err.Error()
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *ConnectionError) Unwrap() error { return e.Err }

// CallError is the error of every failed call: what was called where, and for
// how long it was tried. The cause is a *RemoteError, a *ConnectionError, the
// context's error or ErrClosed.
type CallError struct {
	// Method is the protocol's simple name and the method's:
	// "ApplicationMasterProtocolPB.allocate".
	Method string
	// Address is the host:port that was tried last, or all of them if none was reached.
	Address string
	// Attempts counts how often it was tried, and Elapsed for how long.
	Attempts int
	Elapsed  time.Duration
	Err      error
}

func (e *CallError) Error() string {
	tries := ""
	if e.Attempts > 1 {
		tries = fmt.Sprintf(" in %d tries", e.Attempts)
	}
	return fmt.Sprintf("call %s at %s failed after %s%s: %v", e.Method, e.Address, e.Elapsed.Round(time.Millisecond), tries, e.Err)
}

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }
