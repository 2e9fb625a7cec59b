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

// A cache entry is a directory in HDFS with one file. The directory's name is the SHA-256 of the
// file. The directory's modification time is the time of its last use. The file's modification time
// must never change, because NodeManagers compare it with the timestamp in the LocalResource.

// pruneLimit is the maximum number of cache entries that one submission removes.
const pruneLimit = 100

// stagingGrace is the minimum age at which a staging directory may be removed. A younger directory
// may belong to a submission that has not reached the ResourceManager yet.
const stagingGrace = time.Hour

// stagingLimit is the maximum number of applications whose state one submission requests from the
// ResourceManager, to decide whether it can remove their staging directories.
const stagingLimit = 20

// partMaxAge is the age at which an incomplete upload is removed.
const partMaxAge = 24 * time.Hour

func (s *stager) cache() string { return s.base + "/cache" }

// findCached looks for the file's content in the cache. If the content is there, findCached sets
// file.info and file.isUploaded, and updates the entry's time of last use, so that no other
// submission removes the entry.
func (s *stager) findCached(ctx context.Context, file *stagedFile) error {
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
		return nil // another submission has just removed the entry, so upload the file again
	}
	file.info, file.isUploaded = info, err == nil
	return err
}

func cacheDirs(files []stagedFile, cache string) []string {
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

// pruneBefore returns the limit for prune, which removes cache entries that were last used before
// the limit. Usually the limit is maxAge ago. But while an application of the user waits for its
// ApplicationMaster, no process updates the times of the entries that the application uses. In this
// case, the limit is at least partMaxAge before the submission of the oldest such application.
func (c *Cluster) pruneBefore(ctx context.Context, maxAge time.Duration) (time.Time, error) {
	limit := time.Now().Add(-maxAge)
	waiting, err := c.apps.Applications(ctx, yarnrest.Filter{User: c.user, States: []yarnrest.ApplicationState{
		yarnrest.StateNew, yarnrest.StateNewSaving, yarnrest.StateSubmitted, yarnrest.StateAccepted,
	}})
	if err != nil {
		return time.Time{}, fmt.Errorf("looking for applications that need cached files: %w", err)
	}
	for _, application := range waiting {
		// A submission updates the times of its cache entries before it uploads files. The upload
		// may take up to partMaxAge.
		if marked := application.Started.Add(-partMaxAge); marked.Before(limit) {
			limit = marked
		}
	}
	return limit, nil
}

// prune removes cache entries that were last used before the given time, except the entries in
// inUse. In these, it removes only incomplete uploads older than partMaxAge.
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
		// Another submission may have used the entry after List.
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

// pruneStaging removes the staging directories of ended applications. own is the staging directory
// of the new application, which it never removes. Directories of ended applications exist if a
// submission was killed before it called cleanUp.
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
