package namenode

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
)

// meanings are the errors of package fs for the NameNode's exceptions.
var meanings = map[ipc.ErrorClass]error{
	"java.io.FileNotFoundException":                                fs.ErrNotExist,
	"org.apache.hadoop.fs.FileAlreadyExistsException":              fs.ErrExist,
	"org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException": fs.ErrExist,
	"org.apache.hadoop.fs.PathIsNotEmptyDirectoryException":        syscall.ENOTEMPTY,
	"org.apache.hadoop.fs.ParentNotDirectoryException":             syscall.ENOTDIR,
	ipc.AccessControlException:                                     fs.ErrPermission,
}

// PathError returns the error of an operation on a URI. It wraps the error of
// package fs for the NameNode's exception, or the context's cause if ctx has ended.
func PathError(ctx context.Context, op, uri string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	if cause := context.Cause(ctx); cause != nil {
		if !errors.Is(err, cause) {
			err = cause // err is a consequence of the context's end
		}
		return &fs.PathError{Op: op, Path: uri, Err: err}
	}
	if remote, ok := errors.AsType[*ipc.RemoteError](err); ok {
		if meaning, ok := meanings[remote.Class]; ok {
			err = &meant{meaning: meaning, cause: remote}
		}
	}
	return &fs.PathError{Op: op, Path: uri, Err: err}
}

// meant is an exception with an error of package fs.
type meant struct {
	meaning error
	cause   *ipc.RemoteError
}

func (m *meant) Error() string {
	if m.meaning == fs.ErrPermission {
		// The text has the user, the access, and the path's owner.
		return m.meaning.Error() + ": " + m.cause.Message
	}
	return m.meaning.Error()
}

func (m *meant) Unwrap() []error { return []error{m.meaning, m.cause} }
