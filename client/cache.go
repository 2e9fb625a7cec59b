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

// An entry of the cache is a directory named by the SHA-256 of the file in it.
// The directory's modification time says when a submission last used it; the
// file's own never changes, for NodeManagers compare it with the one they were
// told.

// pruneLimit bounds how many entries one submission removes.
const pruneLimit = 100

// stagingGrace is how long an application's own directory is left alone that
// the cluster does not know the application of: its submission may be on its
// way.
const stagingGrace = time.Hour

// stagingLimit bounds how many applications one submission asks the cluster about.
const stagingLimit = 20

// partMaxAge is when an upload that nobody completed is given up.
const partMaxAge = 24 * time.Hour

func (s *stager) cache() string { return s.base + "/cache" }

// lookInCache finds an earlier upload of the same content and marks it as used,
// so that no other submission prunes it from now on.
func (s *stager) lookInCache(ctx context.Context, one *staged) error {
	info, err := s.files.Stat(ctx, one.target())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Size != one.size {
		s.console.Warn("%s has %d bytes in place of %d: it is uploaded again", info.Path, info.Size, one.size)
		return s.files.RemoveAll(ctx, one.target())
	}
	err = s.files.SetTimes(ctx, one.dir, time.Time{}, time.Now())
	if errors.Is(err, fs.ErrNotExist) {
		return nil // pruned since: it is uploaded again
	}
	one.found, one.ready = info, err == nil
	return err
}

// cacheDirs are the entries of the cache that the files lie in.
func cacheDirs(all []staged, cache string) []string {
	var dirs []string
	seen := map[string]bool{}
	for _, one := range all {
		if strings.HasPrefix(one.dir, cache+"/") && !seen[one.dir] {
			seen[one.dir] = true
			dirs = append(dirs, one.dir)
		}
	}
	return dirs
}

// unusedSince returns the time since which a file of the cache must not have been
// used to be removed: maxAge ago, or before the oldest application of the user
// that has no ApplicationMaster was submitted. Those that have one renew their
// files.
func (c *Cluster) unusedSince(ctx context.Context, maxAge time.Duration) (time.Time, error) {
	since := time.Now().Add(-maxAge)
	waiting, err := c.rest.Applications(ctx, yarnrest.Filter{User: c.user, States: []yarnrest.ApplicationState{
		yarnrest.StateNew, yarnrest.StateNewSaving, yarnrest.StateSubmitted, yarnrest.StateAccepted,
	}})
	if err != nil {
		return time.Time{}, fmt.Errorf("looking for applications that need cached files: %w", err)
	}
	for _, application := range waiting {
		// It marked its files before it uploaded others and was submitted.
		if marked := application.Started.Add(-partMaxAge); marked.Before(since) {
			since = marked
		}
	}
	return since, nil
}

// prune removes entries of the cache that were not used since then. The entries
// in use are kept, and cleared of uploads that nobody completed.
func (s *stager) prune(ctx context.Context, then time.Time, inUse []string) error {
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
		if err := s.removeParts(ctx, dir); err != nil {
			return fmt.Errorf("pruning the cache of staged files: %w", err)
		}
	}
	removed := 0
	for _, entry := range entries {
		if removed == pruneLimit || keep[entry.Path] || !entry.ModTime.Before(then) {
			continue
		}
		// Another submission may have found it since the listing was made.
		if now, err := s.files.Stat(ctx, entry.Path); err != nil || !now.ModTime.Before(then) {
			continue
		}
		if err := s.files.RemoveAll(ctx, entry.Path); err != nil {
			return fmt.Errorf("pruning the cache of staged files: %w", err)
		}
		removed++
	}
	return nil
}

// pruneStaging removes what was staged for applications that are over, by
// submissions that were killed before they could. The directory own stays.
func (s *stager) pruneStaging(ctx context.Context, own string, over func(ctx context.Context, application string) (bool, error)) error {
	entries, err := s.files.List(ctx, s.base+"/staging")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for staged files that are left: %w", err)
	}
	asked := 0
	for _, entry := range entries {
		if asked == stagingLimit || entry.Path == own || !applicationID.MatchString(entry.Name) || !tooOld(entry, stagingGrace) {
			continue
		}
		asked++
		done, err := over(ctx, entry.Name)
		if err == nil && done {
			err = s.files.RemoveAll(ctx, entry.Path)
		}
		if err != nil {
			return fmt.Errorf("removing staged files that are left: %w", err)
		}
	}
	return nil
}

func (s *stager) removeParts(ctx context.Context, dir string) error {
	files, err := s.files.List(ctx, dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		if strings.HasSuffix(file.Name, partEnding) && tooOld(file, partMaxAge) {
			if err := s.files.RemoveAll(ctx, file.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

func tooOld(info storage.Info, maxAge time.Duration) bool { return time.Since(info.ModTime) > maxAge }
