package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// cleaner removes old files from a worker's directory.
type cleaner struct {
	directory *workDirectory
	cache     *cache
	ttl       time.Duration
	now       func() time.Time
	logger    *slog.Logger
}

// clean removes the directories of applications and drivers that have not changed for the time
// to live (ttl), except those in inUse. It also removes cache entries that were not used for
// that time.
func (c *cleaner) clean(inUse map[string]bool) error {
	before := c.now().Add(-c.ttl)
	owners, err := c.directory.owners()
	if err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	var problems []error
	for _, owner := range owners {
		if inUse[owner] || owner == cacheName {
			continue
		}
		path := c.directory.join(owner)
		fresh, err := changedSince(path, before)
		if err == nil && !fresh {
			if err = os.RemoveAll(path); err == nil {
				c.logger.Info("removed an old directory", "path", path, "olderThan", c.ttl)
			}
		}
		problems = append(problems, err)
	}
	removed, err := c.cache.clean(before)
	if removed > 0 {
		c.logger.Info("removed unused contents from the cache", "number", removed, "since", before)
	}
	return errors.Join(append(problems, err)...)
}

// changedSince reports whether anything in a directory has changed since a time. It ignores
// files that are hard links to cache entries, because their modification time is the time of
// the entry's latest use.
func changedSince(directory string, then time.Time) (bool, error) {
	changed := errors.New("changed")
	err := filepath.WalkDir(directory, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.ModTime().After(then) && !isLinked(info) {
			return changed
		}
		return nil
	})
	switch {
	case errors.Is(err, changed):
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return true, nil // a file was removed during the walk, so the directory is changing
	}
	return false, err
}

// isLinked reports whether a file has more than one hard link.
func isLinked(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && stat.Nlink > 1
}
