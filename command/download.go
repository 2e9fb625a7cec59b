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

// maxDownloads is the maximum number of concurrent downloads.
const maxDownloads = 4

// Collected is the number of downloaded files, and their total size in bytes.
type Collected struct {
	Files int
	Bytes int64
}

// download is a collected file and its local target directory.
type download struct {
	file      File
	directory string
}

// Collect downloads the collected files of all tasks to the target directories in the plan. It
// replaces existing files. Each file gets its name only when it is complete. If two files have the
// same target path, Collect fails and downloads no files.
func (r *Results) Collect(ctx context.Context, files *storage.Files) (Collected, error) {
	var copied Collected
	downloads, err := r.downloads()
	if err != nil {
		return copied, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxDownloads)
	for _, d := range downloads {
		copied.Files++
		copied.Bytes += d.file.Size
		group.Go(func() error { return fetch(ctx, files, r.directory+"/"+d.file.Source, d.directory, d.file) })
	}
	return copied, group.Wait()
}

// downloads lists the files to download.
func (r *Results) downloads() ([]download, error) {
	var downloads []download
	owners := map[string]string{} // source of the file for each local path
	for i := range r.Steps {
		step := &r.plan.Steps[i]
		for _, outcome := range r.Steps[i].Tasks {
			for _, file := range outcome.Files {
				name := filepath.FromSlash(file.Name)
				if file.Collect < 0 || file.Collect >= len(step.Collect) || !filepath.IsLocal(name) {
					return nil, fmt.Errorf("%s returns %q, which the plan does not collect", r.plan.taskName(i, outcome.Index), file.Name)
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
					downloads = append(downloads, download{file, directory})
				}
			}
		}
	}
	return downloads, nil
}

// fetch downloads one file into a local directory. It never writes outside this directory, even if
// the directory contains symbolic links to other places.
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
		err = fmt.Errorf("received %d of %d bytes", written, file.Size)
	}
	if err == nil {
		err = root.Rename(part, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(part))
	}
	return nil
}
