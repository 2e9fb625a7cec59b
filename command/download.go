package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/storage"
)

// downloads is how many files are fetched at once.
const downloads = 4

// Collected is what came back.
type Collected struct {
	Files int
	Bytes int64
}

// coming is a file that is to come.
type coming struct {
	file      File
	directory string
}

// Collect brings the files of all tasks into the directories that the plan
// names, over those that are there from an earlier run. A file is whole where it
// is there at all. Where two would have the same name none is brought.
func (r *Results) Collect(ctx context.Context, files *storage.Files) (Collected, error) {
	var all Collected
	wanted, err := r.coming()
	if err != nil {
		return all, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(downloads)
	for _, one := range wanted {
		all.Files++
		all.Bytes += one.file.Size
		group.Go(func() error { return fetch(ctx, files, r.directory+"/"+one.file.Source, one.directory, one.file) })
	}
	return all, group.Wait()
}

// coming lists what the tasks have to give.
func (r *Results) coming() ([]coming, error) {
	var all []coming
	owners := map[string]string{} // what is to lie at a path, by path
	for i := range r.Steps {
		step := &r.plan.Steps[i]
		for _, outcome := range r.Steps[i].Tasks {
			for _, file := range outcome.Files {
				name := filepath.FromSlash(file.Name)
				if file.Collect < 0 || file.Collect >= len(step.Collect) || !filepath.IsLocal(name) {
					return nil, fmt.Errorf("%s brings back %q, which nobody asked for", r.plan.taskName(i, outcome.Index), file.Name)
				}
				directory := step.Target(step.Collect[file.Collect], outcome.Index)
				target := filepath.Join(directory, name)
				owner, taken := owners[target]
				if taken && owner != file.Source {
					return nil, fmt.Errorf("%s: two tasks have a file of this name, one of them %s: put {index} into the directory of what is collected, and run again",
						target, r.plan.taskName(i, outcome.Index))
				}
				owners[target] = file.Source
				if !taken {
					all = append(all, coming{file, directory})
				}
			}
		}
	}
	return all, nil
}

// fetch copies one file. It stays below the directory, whatever links there are
// in it.
func fetch(ctx context.Context, files *storage.Files, source, directory string, file File) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("collecting %s into %s: %w", file.Name, directory, err)
		}
	}()
	if err := os.MkdirAll(directory, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		return err
	}
	defer root.Close()
	name := filepath.FromSlash(file.Name)
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	reader, err := files.Open(ctx, source)
	if err != nil {
		return err
	}
	defer reader.Close()
	part := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+partEnding)
	writer, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, file.Mode.Perm()|0o200)
	if err != nil {
		return err
	}
	written, err := io.Copy(writer, reader)
	if err = errors.Join(err, writer.Close()); err == nil && written != file.Size {
		err = fmt.Errorf("%d of %d bytes came", written, file.Size)
	}
	if err == nil {
		err = root.Rename(part, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(part))
	}
	return nil
}
