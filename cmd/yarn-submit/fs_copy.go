package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/storage"
)

func newFSPut(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "put [flags] LOCAL… PATH",
		Short: "Copy files and directories of this machine to HDFS",
		Long: `Copy files and directories of this machine to a file, or into a directory. LOCAL
is - for stdin. A file appears when all of it is copied.`,
		Example: "  yarn-submit fs put data/ notes.txt /user/ann/\n  pg_dump shop | gzip | yarn-submit fs put - /backup/shop.gz",
		Args:    minArgs(2, "LOCAL… PATH"),
	}
	force := addFlag(c, "force", "f", "replace files that exist")
	onFiles(t, c, func(ctx context.Context, files *storage.Files, args []string) error {
		last := len(args) - 1
		sources, err := onThisMachine(args[:last])
		if err != nil {
			return err
		}
		copier := copier{files: files, force: *force}
		if last == 1 && args[0] == "-" {
			if _, err := copier.isDirectory(ctx, args[last]); err != nil {
				return err
			}
			return copier.write(ctx, c.InOrStdin(), args[last])
		}
		return copier.copy(ctx, sources, args[last])
	})
	return c
}

func newFSGet(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "get [flags] PATH… [LOCAL]",
		Short: "Copy files and directories from HDFS to this machine",
		Long: `Copy files and directories to a file of this machine, or into a directory: the
working directory if there is one argument. LOCAL is - for stdout. Files are not
decompressed.`,
		Example: "  yarn-submit fs get /data/out results",
		Args:    minArgs(1, "PATH… [LOCAL]"),
	}
	force := addFlag(c, "force", "f", "replace files that exist")
	onFiles(t, c, func(ctx context.Context, files *storage.Files, args []string) error {
		if len(args) == 1 {
			args = append(args, ".")
		}
		last := len(args) - 1
		if args[last] == "-" {
			return show(ctx, t, files, args[:last], func(_ namedFile, opened storage.File) error {
				_, err := io.Copy(t.stdout, opened)
				return err
			})
		}
		target, err := onThisMachine(args[last:])
		if err != nil {
			return err
		}
		copier := copier{files: files, force: *force}
		return copier.copy(ctx, args[:last], target[0])
	})
	return c
}

// copier copies files within and between file systems.
type copier struct {
	files *storage.Files
	force bool
}

// copy copies files and directories. target is an existing directory, or a path that does not
// exist.
func (c copier) copy(ctx context.Context, sources []string, target string) error {
	found, err := matching(ctx, c.files, sources)
	if err != nil {
		return err
	}
	into, err := c.isDirectory(ctx, target)
	if err != nil {
		return err
	}
	if !into && (len(found) > 1 || strings.HasSuffix(target, "/")) {
		return client.UsageError(fmt.Errorf("%s is not a directory: yarn-submit fs mkdir makes one", target))
	}
	for _, f := range found {
		to := target
		if into {
			to = strings.TrimSuffix(target, "/") + "/" + f.Name
		}
		uri, err := c.files.Qualify(to)
		if err != nil {
			return err
		}
		if strings.HasPrefix(uri+"/", f.Path+"/") {
			return client.UsageError(fmt.Errorf("%s cannot be copied into itself", f.shown))
		}
		if err := c.tree(ctx, f.Info, uri); err != nil {
			return err
		}
	}
	return nil
}

// isDirectory reports whether target is a directory. It fails if neither target nor its
// parent exists.
func (c copier) isDirectory(ctx context.Context, target string) (bool, error) {
	info, err := c.files.Stat(ctx, target)
	if !errors.Is(err, fs.ErrNotExist) {
		return info.Dir, err
	}
	uri, err := c.files.Qualify(target)
	if err != nil {
		return false, err
	}
	_, err = c.files.Stat(ctx, uri[:strings.LastIndex(uri, "/")+1])
	return false, err
}

// tree copies a file, or a directory with all files and directories below it.
func (c copier) tree(ctx context.Context, source storage.Info, target string) error {
	if !source.Dir {
		opened, err := c.files.Open(ctx, source.Path)
		if err != nil {
			return err
		}
		defer func() { _ = opened.Close() }() // only read, so an error does not matter
		return c.write(ctx, opened, target)
	}
	if err := c.files.MkdirAll(ctx, target, 0o755); err != nil {
		return err
	}
	entries, err := c.files.List(ctx, source.Path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := c.tree(ctx, entry, target+"/"+entry.Name); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file with this content. Until the file is complete, it has a hidden name, so that
// jobs do not read it.
func (c copier) write(ctx context.Context, content io.Reader, target string) error {
	uri, err := c.files.Qualify(target)
	if err != nil {
		return err
	}
	switch existing, err := c.files.Stat(ctx, uri); {
	case err == nil && existing.Dir:
		return &fs.PathError{Op: "write", Path: uri, Err: errors.New("is a directory")}
	case err == nil && !c.force:
		return fmt.Errorf("%w: -f replaces it", &fs.PathError{Op: "write", Path: uri, Err: fs.ErrExist})
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	directory, name := path.Split(uri)
	partial := directory + "." + name + "." + rand.Text() + "._COPYING_"
	w, err := c.files.Create(ctx, partial)
	if err != nil {
		return err
	}
	defer func() { _ = w.Abort() }() // no effect after a successful Close
	if _, err := io.Copy(w, content); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if c.force {
		if err := c.files.Remove(ctx, uri); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, c.files.Remove(ctx, partial))
		}
	}
	if err := c.files.Rename(ctx, partial, uri); err != nil {
		return errors.Join(err, c.files.Remove(ctx, partial))
	}
	return nil
}
