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

// A cache entry is a directory named by the SHA-256 of the file in it. The
// directory's modification time is when a submission last used it. The file's own
// must never change: NodeManagers compare it with the time in the LocalResource.

// pruneLimit bounds how many entries one submission removes.
const pruneLimit = 100

// stagingGrace is how long the directory of an unknown application is kept: its
// submission may be under way.
const stagingGrace = time.Hour

// stagingLimit bounds how many applications one submission asks the cluster
// about.
const stagingLimit = 20

// partMaxAge is the age at which an incomplete upload is removed.
const partMaxAge = 24 * time.Hour

func (s *stager) cache() string { return s.base + "/cache" }

// findCached finds an earlier upload of the same content and marks it as used, so
// that no other submission prunes it from now on.
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
		return nil // pruned meanwhile: upload it again
	}
	file.info, file.ready = info, err == nil
	return err
}

// cacheDirs returns the cache entries that hold the files.
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

// pruneBefore returns a time: cache entries last used before it may be removed.
// It is maxAge ago, or when the user's oldest application without an
// ApplicationMaster was submitted, if that is earlier. ApplicationMasters renew
// the files of their application.
func (c *Cluster) pruneBefore(ctx context.Context, maxAge time.Duration) (time.Time, error) {
	limit := time.Now().Add(-maxAge)
	waiting, err := c.rest.Applications(ctx, yarnrest.Filter{User: c.user, States: []yarnrest.ApplicationState{
		yarnrest.StateNew, yarnrest.StateNewSaving, yarnrest.StateSubmitted, yarnrest.StateAccepted,
	}})
	if err != nil {
		return time.Time{}, fmt.Errorf("looking for applications that need cached files: %w", err)
	}
	for _, application := range waiting {
		// The submission marked its files before it uploaded others.
		if marked := application.Started.Add(-partMaxAge); marked.Before(limit) {
			limit = marked
		}
	}
	return limit, nil
}

// prune removes cache entries that were last used before the given time. It keeps
// entries in use, and removes abandoned uploads in them.
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
		// Another submission may have used it since List.
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

// pruneStaging removes directories of applications that have ended: their
// submissions were killed before cleanUp. It keeps the directory own.
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
