package namenode

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
)

// errorByClass maps the NameNode's exception classes to errors of packages fs and syscall.
var errorByClass = map[ipc.ErrorClass]error{
	"java.io.FileNotFoundException":                                fs.ErrNotExist,
	"org.apache.hadoop.fs.FileAlreadyExistsException":              fs.ErrExist,
	"org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException": fs.ErrExist,
	"org.apache.hadoop.fs.PathIsNotEmptyDirectoryException":        syscall.ENOTEMPTY,
	"org.apache.hadoop.fs.ParentNotDirectoryException":             syscall.ENOTDIR,
	ipc.AccessControlException:                                     fs.ErrPermission,
}

// PathError wraps err, the error of operation op on uri, in an *fs.PathError. It returns nil if
// err is nil. If err is an exception whose class is in errorByClass, the result also wraps the
// error in errorByClass. If ctx has ended, the result wraps the context's cause instead of err.
func PathError(ctx context.Context, op, uri string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	if cause := context.Cause(ctx); cause != nil {
		if !errors.Is(err, cause) {
			err = cause // err is a consequence of the end of ctx
		}
		return &fs.PathError{Op: op, Path: uri, Err: err}
	}
	if remote, ok := errors.AsType[*ipc.RemoteError](err); ok {
		if meaning, ok := errorByClass[remote.Class]; ok {
			err = &translatedError{meaning: meaning, cause: remote}
		}
	}
	return &fs.PathError{Op: op, Path: uri, Err: err}
}

// translatedError is an exception of the NameNode with its error in errorByClass.
type translatedError struct {
	meaning error
	cause   *ipc.RemoteError
}

func (m *translatedError) Error() string {
	if m.meaning == fs.ErrPermission {
		// The exception's message contains the user, the access and the path's owner.
		return m.meaning.Error() + ": " + m.cause.Message
	}
	return m.meaning.Error()
}

func (m *translatedError) Unwrap() []error { return []error{m.meaning, m.cause} }
