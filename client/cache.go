package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/storage"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// A cache entry is a directory in HDFS with one file, named by the file's
// SHA-256. The directory's modification time is the time of the entry's last
// use. The file's must never change: a NodeManager compares it with the
// timestamp in the LocalResource.

// pruneLimit is the maximum number of cache entries that one submission removes.
const pruneLimit = 100

// stagingGrace is the age from which a staging directory may be removed. A
// younger one may belong to a submission that has not reached the ResourceManager.
const stagingGrace = time.Hour

// stagingLimit is the maximum number of applications whose state one submission
// looks up in order to remove their staging directories.
const stagingLimit = 20

// partMaxAge is the age after which an incomplete upload is removed.
const partMaxAge = 24 * time.Hour

func (s *stager) cache() string { return s.base + "/cache" }

// findCached looks for an earlier upload of the same content and sets file.ready
// if there is one. It also updates the entry's time of last use, so that no
// other submission removes it.
func (s *stager) findCached(ctx context.Context, file *staged) error {
	info, err := s.files.Stat(ctx, file.target())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Size != file.size {
		s.console.Warn("%s has %d bytes in place of %d: it is uploaded again", info.Path, info.Size, file.size)
		return s.files.RemoveAll(ctx, file.target())
	}
	err = s.files.SetTimes(ctx, file.dir, time.Time{}, time.Now())
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another submission has just removed it: upload it again
	}
	file.info, file.ready = info, err == nil
	return err
}

// cacheDirs returns the directories of the cache entries that contain the files.
func cacheDirs(files []staged, cache string) []string {
	var dirs []string
	seen := map[string]bool{}
	for _, file := range files {
		if strings.HasPrefix(file.dir, cache+"/") && !seen[file.dir] {
			seen[file.dir] = true
			dirs = append(dirs, file.dir)
		}
	}
	return dirs
}

// pruneBefore returns the time before which a cache entry must have been used
// last to be removed. This is maxAge ago or, if that is earlier, partMaxAge
// before the submission of the user's oldest application that waits for its
// ApplicationMaster. A running ApplicationMaster updates the time of last use of
// its entries itself.
func (c *Cluster) pruneBefore(ctx context.Context, maxAge time.Duration) (time.Time, error) {
	limit := time.Now().Add(-maxAge)
	waiting, err := c.rest.Applications(ctx, yarnrest.Filter{User: c.user, States: []yarnrest.ApplicationState{
		yarnrest.StateNew, yarnrest.StateNewSaving, yarnrest.StateSubmitted, yarnrest.StateAccepted,
	}})
	if err != nil {
		return time.Time{}, fmt.Errorf("looking for applications that need cached files: %w", err)
	}
	for _, application := range waiting {
		// A submission marks its cached files first; its uploads may take up to
		// partMaxAge.
		if marked := application.Started.Add(-partMaxAge); marked.Before(limit) {
			limit = marked
		}
	}
	return limit, nil
}

// prune removes the cache entries that were last used before a time, except
// those in inUse. From the entries in inUse it removes incomplete uploads that
// are older than partMaxAge.
func (s *stager) prune(ctx context.Context, before time.Time, inUse []string) error {
	entries, err := s.files.List(ctx, s.cache())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("pruning the cache of staged files: %w", err)
	}
	keep := map[string]bool{}
	for _, dir := range inUse {
		keep[dir] = true
		if err := s.removeAbandonedUploads(ctx, dir); err != nil {
			return fmt.Errorf("pruning the cache of staged files: %w", err)
		}
	}
	removed := 0
	for _, entry := range entries {
		if removed == pruneLimit || keep[entry.Path] || !entry.ModTime.Before(before) {
			continue
		}
		// Another submission may have used the entry since List.
		if info, err := s.files.Stat(ctx, entry.Path); err != nil || !info.ModTime.Before(before) {
			continue
		}
		if err := s.files.RemoveAll(ctx, entry.Path); err != nil {
			return fmt.Errorf("pruning the cache of staged files: %w", err)
		}
		removed++
	}
	return nil
}

// pruneStaging removes the staging directories of applications that have ended,
// which remain if a submission was killed before cleanUp. It keeps the directory
// own.
func (s *stager) pruneStaging(ctx context.Context, own string, hasEnded func(ctx context.Context, application string) (bool, error)) error {
	entries, err := s.files.List(ctx, s.base+"/staging")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for staged files that are left: %w", err)
	}
	asked := 0
	for _, entry := range entries {
		if asked == stagingLimit || entry.Path == own || !applicationID.MatchString(entry.Name) || !olderThan(entry, stagingGrace) {
			continue
		}
		asked++
		done, err := hasEnded(ctx, entry.Name)
		if err == nil && done {
			err = s.files.RemoveAll(ctx, entry.Path)
		}
		if err != nil {
			return fmt.Errorf("removing staged files that are left: %w", err)
		}
	}
	return nil
}

func (s *stager) removeAbandonedUploads(ctx context.Context, dir string) error {
	files, err := s.files.List(ctx, dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		if strings.HasSuffix(file.Name, partSuffix) && olderThan(file, partMaxAge) {
			if err := s.files.RemoveAll(ctx, file.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

func olderThan(info storage.Info, maxAge time.Duration) bool {
	return time.Since(info.ModTime) > maxAge
}
