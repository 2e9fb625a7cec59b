package storage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// localSystem is the fileSystem of the local disk.
type localSystem struct{}

func (localSystem) close() error { return nil }

func (localSystem) open(ctx context.Context, path string) (File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, localError("open", path, err)
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("is a directory")
	}
	if err != nil {
		_ = file.Close()
		return nil, localError("open", path, err)
	}
	return &localFile{ctx: ctx, file: file, info: localInfo(path, info)}, nil
}

func (localSystem) create(ctx context.Context, path string, settings createSettings) (sink, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if settings.overwrite {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	if !settings.noParents {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, localError("create", path, err)
		}
	}
	file, err := os.OpenFile(path, flags, settings.perm)
	if err != nil {
		return nil, localError("create", path, err)
	}
	return &localSink{ctx: ctx, file: file, path: path}, nil
}

func (localSystem) stat(_ context.Context, path string, _ bool) (entry, error) {
	info, err := os.Stat(path)
	if err != nil {
		return entry{}, localError("stat", path, err)
	}
	return entry{Info: localInfo(path, info)}, nil
}

func (localSystem) list(ctx context.Context, path string, _ bool) ([]entry, error) {
	found, err := os.ReadDir(path)
	if err != nil {
		return nil, localError("list", path, err)
	}
	entries := make([]entry, 0, len(found))
	for _, e := range found {
		if err := context.Cause(ctx); err != nil {
			return nil, localError("list", path, err)
		}
		name := filepath.Join(path, e.Name())
		// list returns the Info of a symbolic link's target. If the target does not exist, it
		// returns the Info of the link, so that the error occurs when the entry is opened.
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			info, err = os.Lstat(name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since ReadDir
		}
		if err != nil {
			return nil, localError("list", name, err)
		}
		entries = append(entries, entry{Info: localInfo(name, info)})
	}
	return entries, nil
}

func (localSystem) mkdirAll(_ context.Context, path string, perm fs.FileMode) error {
	return localError("mkdir", path, os.MkdirAll(path, perm))
}

func (localSystem) rename(_ context.Context, from, to string) error {
	return localError("rename", from, renameNoReplace(from, to))
}

func (localSystem) remove(ctx context.Context, path string, recursive bool) error {
	if !recursive {
		return localError("remove", path, os.Remove(path))
	}
	if _, err := os.Lstat(path); err != nil {
		return localError("remove", path, err)
	}
	// If another process creates files meanwhile, such as a task of a cancelled job, RemoveAll can
	// find a directory not empty.
	err := os.RemoveAll(path)
	for errors.Is(err, syscall.ENOTEMPTY) && ctx.Err() == nil {
		err = os.RemoveAll(path)
	}
	return localError("remove", path, err)
}

func (localSystem) setTimes(_ context.Context, path string, accessed, modified time.Time) error {
	// os.Chtimes does not set a zero time.
	return localError("set times of", path, os.Chtimes(path, accessed, modified))
}

func localInfo(path string, info fs.FileInfo) Info {
	i := Info{
		Path:       localRoot + path,
		Name:       filepath.Base(path),
		ModTime:    info.ModTime(),
		AccessTime: accessTime(info),
		Dir:        info.IsDir(),
		Mode:       info.Mode(),
		Owner:      owner(info),
	}
	if !i.Dir {
		i.Size = info.Size()
	}
	return i
}

// localError returns an error of package os as an *fs.PathError with the operation op and
// the full URI of path, so that errors look the same as those of HDFS.
func localError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var link *os.LinkError
	var pathError *fs.PathError
	if errors.As(err, &link) {
		err = link.Err
		if errors.Is(err, fs.ErrExist) {
			path = link.New
		}
	} else if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return &fs.PathError{Op: op, Path: localRoot + path, Err: err}
}

// localFile is a File on the local disk. When ctx has ended, reads return ctx's error.
type localFile struct {
	ctx  context.Context
	file *os.File
	info Info
}

func (f *localFile) Stat() Info { return f.info }

func (f *localFile) Read(p []byte) (int, error) {
	if err := context.Cause(f.ctx); err != nil {
		return 0, f.wrapError(err)
	}
	n, err := f.file.Read(p)
	return n, f.wrapError(err)
}

func (f *localFile) ReadAt(p []byte, offset int64) (int, error) {
	if err := context.Cause(f.ctx); err != nil {
		return 0, f.wrapError(err)
	}
	n, err := f.file.ReadAt(p, offset)
	return n, f.wrapError(err)
}

func (f *localFile) Seek(offset int64, whence int) (int64, error) {
	n, err := f.file.Seek(offset, whence)
	return n, f.wrapError(err)
}

func (f *localFile) Close() error { return f.wrapError(f.file.Close()) }

func (f *localFile) wrapError(err error) error {
	if err == nil || isEOF(err) {
		return err
	}
	return localError("read", f.info.Path[len(localRoot):], err)
}

// localSink is a sink on the local disk. When ctx has ended, writes return ctx's error.
type localSink struct {
	ctx  context.Context
	file *os.File
	path string
}

func (s *localSink) Write(p []byte) (int, error) {
	if err := context.Cause(s.ctx); err != nil {
		return 0, localError("write", s.path, err)
	}
	n, err := s.file.Write(p)
	return n, localError("write", s.path, err)
}

func (s *localSink) Close() error {
	if err := context.Cause(s.ctx); err != nil {
		return localError("write", s.path, err)
	}
	return localError("write", s.path, s.file.Close())
}

func (s *localSink) Flush() error { return localError("write", s.path, context.Cause(s.ctx)) }

func (s *localSink) Abandon() error { return localError("write", s.path, s.file.Close()) }

func (s *localSink) Abort() error {
	_ = s.file.Close() // the file is removed, so this error does not matter
	return localError("remove", s.path, os.Remove(s.path))
}

// renameIfAbsent renames a file or directory if the destination does not exist. The check and
// the rename are not one atomic step.
func renameIfAbsent(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(from, to)
}
