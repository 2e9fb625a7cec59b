package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/storage"
)

func newFSRemove(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:     "rm [flags] PATH…",
		Short:   "Remove files, and with -r directories, at once",
		Long:    "Remove files, and with -r directories with all that is in them. They are gone: rm\nhas no trash, unlike hdfs dfs -rm.",
		Example: "  yarn-submit fs rm -r /data/out",
		Args:    minArgs(1, "PATH…"),
	}
	recursive := addFlag(c, "recursive", "rR", "also remove directories, with all that is in them")
	force := addFlag(c, "force", "f", "accept paths that do not exist")
	onFiles(t, c, func(ctx context.Context, files *storage.Files, args []string) error {
		var found []namedFile
		for _, arg := range args {
			matches, err := matching(ctx, files, []string{arg})
			if err != nil && !(*force && errors.Is(err, fs.ErrNotExist)) {
				return err
			}
			found = append(found, matches...)
		}
		for _, f := range found {
			if f.Dir && !*recursive {
				return fmt.Errorf("%s is a directory: -r removes it with all that is in it", f.shown)
			}
		}
		for _, f := range found {
			remove := files.Remove
			if f.Dir {
				remove = files.RemoveAll
			}
			if err := remove(ctx, f.Path); err != nil {
				return err
			}
		}
		return nil
	})
	return c
}

func newFSMkdir(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:     "mkdir [flags] PATH…",
		Short:   "Make directories",
		Long:    "Make directories, and with -p their missing parents.",
		Example: "  yarn-submit fs mkdir -p /data/2026/11",
		Args:    minArgs(1, "PATH…"),
	}
	parents := addFlag(c, "parents", "p", "also make missing parents, and accept directories that exist")
	onFiles(t, c, func(ctx context.Context, files *storage.Files, args []string) error {
		for _, arg := range args {
			if err := makeDirectory(ctx, files, arg, *parents); err != nil {
				return err
			}
		}
		return nil
	})
	return c
}

func makeDirectory(ctx context.Context, files *storage.Files, path string, parents bool) error {
	uri, err := files.Qualify(path)
	if err != nil {
		return err
	}
	if !parents {
		if _, err := files.Stat(ctx, uri); !errors.Is(err, fs.ErrNotExist) {
			if err == nil {
				err = &fs.PathError{Op: "mkdir", Path: uri, Err: fs.ErrExist}
			}
			return err
		}
		if _, err := files.Stat(ctx, uri[:strings.LastIndex(uri, "/")+1]); err != nil {
			return err
		}
	}
	return files.MkdirAll(ctx, uri, 0o755)
}
