package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Open opens a file for reading. When ctx ends, reads of the file return ctx's error.
func (f *Files) Open(ctx context.Context, path string) (File, error) {
	l, err := f.resolveFor(ctx, path)
	if err != nil {
		return nil, err
	}
	file, err := l.system.open(ctx, l.path)
	if usage := usageOf(ctx); usage != nil && err == nil {
		file = &countedFile{File: file, usage: usage}
	}
	return file, l.withLocalHint(err)
}

// Create creates a file for writing, and its missing parent directories. It fails with
// fs.ErrExist if the file exists. [Overwrite] and [ExistingParent] change this behaviour. When
// ctx ends, writes and Close return ctx's error.
func (f *Files) Create(ctx context.Context, path string, options ...CreateOption) (*Writer, error) {
	l, err := f.resolveFor(ctx, path)
	if err != nil {
		return nil, err
	}
	settings := createSettings{perm: 0o644}
	for _, option := range options {
		option(&settings)
	}
	return create(ctx, l, settings)
}

// Stat returns the Info of a file or a directory.
func (f *Files) Stat(ctx context.Context, path string) (Info, error) {
	l, err := f.resolveFor(ctx, path)
	if err != nil {
		return Info{}, err
	}
	e, err := l.system.stat(ctx, l.path, false)
	return e.Info, l.withLocalHint(err)
}

// Exists reports whether a file or a directory exists at path.
func (f *Files) Exists(ctx context.Context, path string) (bool, error) {
	_, err := f.Stat(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// List returns the entries of a directory, sorted by name.
func (f *Files) List(ctx context.Context, path string) ([]Info, error) {
	l, err := f.resolveFor(ctx, path)
	if err != nil {
		return nil, err
	}
	entries, err := l.system.list(ctx, l.path, false)
	if err != nil {
		return nil, l.withLocalHint(err)
	}
	infos := make([]Info, len(entries))
	for i, e := range entries {
		infos[i] = e.Info
	}
	slices.SortFunc(infos, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return infos, nil
}

// MkdirAll creates a directory and its missing parents with the permission bits perm. If
// the directory exists, MkdirAll does nothing.
func (f *Files) MkdirAll(ctx context.Context, path string, perm fs.FileMode) error {
	l, err := f.resolveFor(ctx, path)
	if err != nil {
		return err
	}
	return l.system.mkdirAll(ctx, l.path, perm)
}

// Rename moves a file or a directory within one file system. It fails with fs.ErrExist if the
// target exists, even if the target is an empty directory. The check and the move are one atomic
// step, except on local file systems without RENAME_NOREPLACE.
func (f *Files) Rename(ctx context.Context, from, to string) error {
	a, err := f.resolveFor(ctx, from)
	if err != nil {
		return err
	}
	b, err := f.resolve(to)
	if err != nil {
		return err
	}
	if a.root != b.root {
		return fmt.Errorf("rename %s to %s: they are in different file systems: copy it instead", a.uri(), b.uri())
	}
	return a.withLocalHint(a.system.rename(ctx, a.path, b.path))
}

// Remove removes a file or an empty directory.
func (f *Files) Remove(ctx context.Context, path string) error {
	l, err := f.resolveFor(ctx, path)
	if err != nil {
		return err
	}
	return l.withLocalHint(l.system.remove(ctx, l.path, false))
}

// RemoveAll removes path and everything below it. It returns nil if path does not exist.
func (f *Files) RemoveAll(ctx context.Context, path string) error {
	l, err := f.resolveFor(ctx, path)
	if err != nil {
		return err
	}
	return removeAll(ctx, l)
}

func removeAll(ctx context.Context, l location) error {
	if l.path == "/" {
		return &fs.PathError{Op: "remove", Path: l.uri(), Err: errors.New("refusing to remove the root directory")}
	}
	err := l.system.remove(ctx, l.path, true)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// SetTimes sets the access and modification times of a file or directory. A zero time leaves
// that time unchanged. HDFS stores whole milliseconds, and refuses to set access times if
// dfs.namenode.accesstime.precision is 0.
func (f *Files) SetTimes(ctx context.Context, path string, accessed, modified time.Time) error {
	l, err := f.resolveFor(ctx, path)
	if err != nil {
		return err
	}
	return l.withLocalHint(l.system.setTimes(ctx, l.path, accessed, modified))
}

// resolveFor resolves the path of an operation. It fails if ctx has ended.
func (f *Files) resolveFor(ctx context.Context, path string) (location, error) {
	if err := context.Cause(ctx); err != nil {
		return location{}, err
	}
	return f.resolve(path)
}

// withLocalHint adds the result of localHint to err if err wraps fs.ErrNotExist. It returns
// other errors unchanged.
func (l location) withLocalHint(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if hint := l.localHint(); hint != "" {
		return fmt.Errorf("%w (%s)", err, hint)
	}
	return err
}
