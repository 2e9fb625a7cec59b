package namenode

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
)

// meanings are those of the NameNode's exceptions that package os has words for.
var meanings = map[ipc.ErrorClass]error{
	"java.io.FileNotFoundException":                                fs.ErrNotExist,
	"org.apache.hadoop.fs.FileAlreadyExistsException":              fs.ErrExist,
	"org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException": fs.ErrExist,
	"org.apache.hadoop.fs.PathIsNotEmptyDirectoryException":        syscall.ENOTEMPTY,
	"org.apache.hadoop.fs.ParentNotDirectoryException":             syscall.ENOTDIR,
	ipc.AccessControlException:                                     fs.ErrPermission,
}

// PathError is the error of an operation on a URI. It wraps fs.ErrNotExist and
// the like where the NameNode's exception means that, and what the context
// ended for, if it has ended.
func PathError(ctx context.Context, op, uri string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	if cause := context.Cause(ctx); cause != nil {
		if !errors.Is(err, cause) {
			err = cause // what broke because the context ended does not matter
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

// meant is an exception with a meaning of package os's.
type meant struct {
	meaning error
	cause   *ipc.RemoteError
}

func (m *meant) Error() string {
	if m.meaning == fs.ErrPermission {
		// The text names the user, the access, and whose the path is.
		return m.meaning.Error() + ": " + m.cause.Message
	}
	return m.meaning.Error()
}

func (m *meant) Unwrap() []error { return []error{m.meaning, m.cause} }
