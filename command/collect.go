package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/storage"
)

// collect brings the files that a task is to give back to where the submitter
// finds them. Each try has a directory of its own there, so what a lost try has
// left is in nobody's way. A task that asks for more than the limits fails.
func (c *common) collect(t *bobbin.Task, outcome *Outcome, one invocation, input Task) error {
	if len(c.Step.Collect) == 0 {
		return nil
	}
	root, err := os.OpenRoot(one.directory())
	if errors.Is(err, fs.ErrNotExist) && outcome.Status != Succeeded {
		return nil // it is why the task has failed
	}
	if err != nil {
		return err
	}
	defer root.Close()
	inPaths := input.inPaths()
	try := path.Join("files", strconv.Itoa(c.Number), fmt.Sprintf("%d-%d", one.index, one.attempt))
	sources := map[string]File{} // by name: a file that two patterns match is brought once
	var bytes int64
	for number, wanted := range c.Step.Collect {
		names, err := matches(root, c.Step.Expand(wanted.Pattern, inPaths, one.index, c.Tasks, -1), c.Limits.Files)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			outcome.Unmatched = append(outcome.Unmatched, wanted.Pattern)
		}
		for _, name := range names {
			file, known := sources[name]
			if !known {
				info, err := root.Stat(name)
				if err != nil {
					return err
				}
				file = File{Source: path.Join(try, strconv.Itoa(len(sources))), Name: name, Size: info.Size(), Mode: info.Mode().Perm()}
				sources[name] = file
				bytes += file.Size
			}
			file.Collect = number
			outcome.Files = append(outcome.Files, file)
		}
	}
	if problem := c.Limits.exceeded(len(outcome.Files), bytes); problem != "" {
		outcome.Status, outcome.Exit, outcome.Message, outcome.Files = Failed, -1, problem, nil
		return nil
	}
	if len(sources) > 0 {
		// See recorder.write.
		if there, err := t.Files().Exists(t, c.Results); err != nil || !there {
			return firstOf(err, fmt.Errorf("%s is gone", c.Results))
		}
	}
	for name, file := range sources {
		if err := upload(t, t.Files(), root, name, c.Results+"/"+file.Source, file.Size); err != nil {
			return err
		}
	}
	return nil
}

// exceeded says what is too much; "" where nothing is.
func (l Limits) exceeded(files int, bytes int64) string {
	switch {
	case l.Files > 0 && files > l.Files:
		return fmt.Sprintf("it leaves more than %d files to collect: collect an archive of them, or raise collect.maxFiles", l.Files)
	case l.Bytes > 0 && bytes > l.Bytes:
		return fmt.Sprintf("it leaves %d bytes to collect, more than the %d of collect.maxSize", bytes, l.Bytes)
	}
	return ""
}

var errEnough = errors.New("enough")

// matches are the regular files below root that a pattern matches, at most one
// more than most. Links that lead out of root, as those to shipped files do, are
// none of the task's.
func matches(root *os.Root, pattern string, most int) ([]string, error) {
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
		if most > 0 && len(names) > most {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return names, err
}

// upload copies one file, and complains of one that changes meanwhile: something
// that the command left behind writes it still.
func upload(ctx context.Context, files *storage.Files, root *os.Root, name, target string, size int64) error {
	source, err := root.Open(name)
	if err != nil {
		return err
	}
	defer source.Close()
	writer, err := files.Create(ctx, target, storage.Overwrite(), storage.Perm(0o600))
	if err != nil {
		return err
	}
	written, err := io.Copy(writer, source)
	if err == nil && written != size {
		err = fmt.Errorf("%s had %d bytes, and has %d now: something writes it still", name, size, written)
	}
	if err != nil {
		return errors.Join(err, writer.Abort())
	}
	return writer.Close()
}
