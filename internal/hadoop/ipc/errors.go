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

// ErrorClass is the Java class name of a server's exception. It implements error so
// that errors.Is can test a RemoteError for it:
//
//	errors.Is(err, ipc.StandbyException)
type ErrorClass string

// Exceptions that any Hadoop server can throw.
const (
	// StandbyException means that the server is a standby, not the active one.
	StandbyException ErrorClass = "org.apache.hadoop.ipc.StandbyException"
	// RetriableException means that the server is not ready or is too busy.
	RetriableException ErrorClass = "org.apache.hadoop.ipc.RetriableException"
	// InvalidToken means that the token is unknown to the server or has expired.
	InvalidToken ErrorClass = "org.apache.hadoop.security.token.SecretManager$InvalidToken"
	// AccessControlException means that the user is not permitted to make the call.
	AccessControlException ErrorClass = "org.apache.hadoop.security.AccessControlException"
)

// Error returns the class name without its package.
func (c ErrorClass) Error() string { return string(c[strings.LastIndexByte(string(c), '.')+1:]) }

// ErrorDetail is the stage of the server's processing in which an error occurred: a value of
// the enum RpcErrorCodeProto.
type ErrorDetail int32

// String returns the name of the value in the protocol, such as "ERROR_APPLICATION".
func (d ErrorDetail) String() string { return pb.ResponseHeader_ErrorCode(d).String() }

// RemoteError is an exception that the server threw.
type RemoteError struct {
	Class   ErrorClass  // the exception's Java class name
	Message string      // the exception's text, without class name and stack trace
	Stack   string      // the server's stack trace; "" if the server does not send one
	Detail  ErrorDetail // stage of the server's processing in which the error occurred
	Fatal   bool        // the server closed the connection because of the exception
}

// NewRemoteError returns a RemoteError for an exception's class name and text, which may
// include the stack trace.
func NewRemoteError(class, text string) *RemoteError {
	message, stack := text, ""
	if at := strings.Index(text, "\n\tat "); at >= 0 {
		message, stack = text[:at], text[at+1:]
	}
	message = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(message, class), ":"))
	return &RemoteError{Class: ErrorClass(class), Message: message, Stack: stack}
}

// remoteError returns the exception in a response's header; nil if the call succeeded.
func remoteError(header *pb.ResponseHeader) *RemoteError {
	if header.GetStatus() == pb.ResponseHeader_SUCCESS {
		return nil
	}
	remote := NewRemoteError(header.GetExceptionClass(), header.GetErrorMessage())
	remote.Detail = ErrorDetail(header.GetErrorCode())
	remote.Fatal = header.GetStatus() == pb.ResponseHeader_FATAL
	return remote
}

// Error returns "Class: message", with the class name without its package.
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

// Is reports whether target is the exception's ErrorClass.
func (e *RemoteError) Is(target error) bool {
	class, ok := target.(ErrorClass)
	return ok && class == e.Class
}

// ConnectionError means that connecting failed or a connection was lost.
type ConnectionError struct {
	Address string // the server's host:port
	Sent    bool   // whether the call may have reached the server, and been processed
	Err     error  // the cause
}

func (e *ConnectionError) Error() string {
	if e.Sent {
		return "connection lost, and the call may have been processed: " + e.Err.Error()
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *ConnectionError) Unwrap() error { return e.Err }

// CallError is the error of every failed call. Err is or wraps a *RemoteError, a
// *ConnectionError, the context's error or ErrClosed.
type CallError struct {
	// Method is the protocol without its Java package, and the method, such as
	// "ApplicationMasterProtocolPB.allocate".
	Method string
	// Address is the host:port of the last attempt; all addresses if no attempt was made.
	Address string
	// Attempts is the number of attempts. Elapsed is the time from the start of Call.
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
