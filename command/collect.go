package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/storage"
)

// collect uploads the files that match the step's patterns to the results directory, under names
// that no other task attempt uses. If the files exceed the limits, collect uploads none and marks
// the task as failed.
func (c *sharedInput) collect(t *bobbin.Task, outcome *Outcome, attempt invocation, input Task) error {
	if len(c.Step.Collect) == 0 {
		return nil
	}
	root, err := os.OpenRoot(attempt.directory())
	if errors.Is(err, fs.ErrNotExist) && outcome.Status != StatusSucceeded {
		return nil // the task failed because its working directory is missing
	}
	if err != nil {
		return err
	}
	defer root.Close()
	pathSafe := input.withPathSafeValues()
	sources := map[string]File{} // by name, so that a file that matches two patterns is uploaded once
	var bytes int64
	for i, collect := range c.Step.Collect {
		names, err := matches(root, c.Step.Expand(collect.Pattern, pathSafe, attempt.index, c.Tasks, -1), c.Limits.Files)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			outcome.Unmatched = append(outcome.Unmatched, collect.Pattern)
		}
		for _, name := range names {
			file, known := sources[name]
			if !known {
				info, err := root.Stat(name)
				if err != nil {
					return err
				}
				file = File{Source: fmt.Sprintf("%s/%d-%d-%d-%d", filesDirectory, c.Number, attempt.index, attempt.attempt, len(sources)), Name: name, Size: info.Size(), Mode: info.Mode().Perm()}
				sources[name] = file
				bytes += file.Size
			}
			file.Collect = i
			outcome.Files = append(outcome.Files, file)
		}
	}
	if problem := c.Limits.exceeded(len(outcome.Files), bytes); problem != "" {
		outcome.Status, outcome.Exit, outcome.Message, outcome.Files = StatusFailed, -1, problem, nil
		return nil
	}
	for name, file := range sources {
		if err := upload(t, t.Files(), root, name, c.Results+"/"+file.Source, file.Size); err != nil {
			return err
		}
	}
	return nil
}

// exceeded describes the limit that is exceeded by this number of files or by their total size in
// bytes; "" if neither exceeds a limit.
func (l Limits) exceeded(files int, bytes int64) string {
	switch {
	case l.Files > 0 && files > l.Files:
		return fmt.Sprintf("it leaves more than %d files to collect: collect an archive of them, or raise collect.maxFiles", l.Files)
	case l.Bytes > 0 && bytes > l.Bytes:
		return fmt.Sprintf("it leaves %d bytes to collect, more than the %d of collect.maxSize", bytes, l.Bytes)
	}
	return ""
}

// errLimit stops the search for matching files when there are more than the limit.
var errLimit = errors.New("limit")

// matches returns at most limit+1 regular files below root that match a pattern. It skips symbolic
// links whose targets are outside root, such as links to localized files.
func matches(root *os.Root, pattern string, limit int) ([]string, error) {
	var names []string
	err := doublestar.GlobWalk(root.FS(), pattern, func(name string, entry fs.DirEntry) error {
		if entry.Type()&fs.ModeSymlink != 0 {
			info, err := root.Stat(name)
			if err != nil || !info.Mode().IsRegular() {
				return nil
			}
		} else if !entry.Type().IsRegular() {
			return nil
		}
		names = append(names, name)
		if limit > 0 && len(names) > limit {
			return errLimit
		}
		return nil
	})
	if errors.Is(err, errLimit) {
		err = nil
	}
	return names, err
}

// upload copies one file to target. It fails if the file no longer has the given size, because a
// process that the command left running may still be writing the file.
func upload(ctx context.Context, files *storage.Files, root *os.Root, name, target string, size int64) error {
	source, err := root.Open(name)
	if err != nil {
		return err
	}
	defer source.Close()
	writer, err := files.Create(ctx, target, storage.Overwrite(), storage.ExistingParent(), storage.Perm(0o600))
	if err != nil {
		return err
	}
	written, err := io.Copy(writer, source)
	if err == nil && written != size {
		err = fmt.Errorf("%s had %d bytes, and has %d now: a process is still writing it", name, size, written)
	}
	if err != nil {
		return errors.Join(err, writer.Abort())
	}
	return writer.Close()
}
