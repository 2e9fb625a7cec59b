package storage

import (
	"errors"
	"io/fs"
	"os"
)

// renameIfAbsent renames where nothing is at to. Between the look and the
// rename something may come up there: it is for file systems that offer
// nothing better.
func renameIfAbsent(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(from, to)
}
