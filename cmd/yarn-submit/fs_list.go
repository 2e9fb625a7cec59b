package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/storage"
)

func newFSList(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:     "ls [flags] [PATH…]",
		Short:   "List files and directories",
		Long:    "List files, and what is in directories: by default in your home directory.",
		Example: "  yarn-submit fs ls -R -h '/logs/2026-*'",
	}
	l := &lister{
		recursive: addFlag(c, "recursive", "Rr", "also list what is in directories below"),
		itself:    addFlag(c, "directory", "d", "list directories themselves, not what is in them"),
		human:     addHumanReadable(c),
		asJSON:    addJSON(c),
		listed:    []listedFile{},
	}
	onFiles(t, c, func(ctx context.Context, files *storage.Files, args []string) error {
		l.files = files
		if len(args) == 0 {
			args = []string{"."}
		}
		found, err := matching(ctx, files, args)
		if err != nil {
			return err
		}
		for _, f := range found {
			if !f.Dir || *l.itself {
				l.add(f)
			} else if err := l.list(ctx, f); err != nil {
				return err
			}
		}
		return l.print(t)
	})
	return c
}

type lister struct {
	files                            *storage.Files
	recursive, itself, human, asJSON *bool
	listed                           []listedFile
}

// listedFile is a file or a directory as ls prints it.
type listedFile struct {
	Path     string    `json:"path"`
	Size     int64     `json:"size"`
	Dir      bool      `json:"dir"`
	Mode     string    `json:"mode"`
	Owner    string    `json:"owner"`
	Modified time.Time `json:"modified"`
}

func (l *lister) add(f namedFile) {
	l.listed = append(l.listed, listedFile{Path: f.shown, Size: f.Size, Dir: f.Dir, Mode: f.Mode.String(), Owner: f.Owner, Modified: f.ModTime})
}

// list adds the entries of a directory and, with --recursive, all files and directories below it.
func (l *lister) list(ctx context.Context, directory namedFile) error {
	entries, err := directory.entries(ctx, l.files)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		l.add(entry)
		if entry.Dir && *l.recursive {
			if err := l.list(ctx, entry); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lister) print(t terminal) error {
	if *l.asJSON {
		return t.printJSON(l.listed)
	}
	table := tabwriter.NewWriter(t.stdout, 0, 0, 2, ' ', 0)
	for _, f := range l.listed {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", f.Mode, f.Owner, sizeText(f.Size, *l.human), f.Modified.Local().Format("2006-01-02 15:04"), f.Path)
	}
	return table.Flush()
}

// sizeText formats a number of bytes: as digits or, if human is true, like 1.5 GB.
func sizeText(bytes int64, human bool) string {
	if !human || bytes < 1000 {
		return fmt.Sprint(bytes)
	}
	value := float64(bytes)
	unit := -1
	for value >= 999.95 {
		value /= 1000
		unit++
	}
	return fmt.Sprintf("%.1f %cB", value, "kMGTPE"[unit])
}

func newFSUsage(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "du [flags] [PATH…]",
		Short: "Print how many bytes files and directories have",
		Long: `Print how many bytes files have, and each entry of a directory with all that is
below it. Copies that HDFS keeps of a block do not count.`,
		Example: "  yarn-submit fs du -s -h /user/ann",
	}
	summary := addFlag(c, "summary", "s", "print one number for each path")
	human, asJSON := addHumanReadable(c), addJSON(c)
	onFiles(t, c, func(ctx context.Context, files *storage.Files, args []string) error {
		if len(args) == 0 {
			args = []string{"."}
		}
		found, err := matching(ctx, files, args)
		if err != nil {
			return err
		}
		used := []usedBytes{}
		for _, f := range found {
			entries := []namedFile{f}
			if f.Dir && !*summary {
				if entries, err = f.entries(ctx, files); err != nil {
					return err
				}
			}
			for _, entry := range entries {
				size, err := totalSize(ctx, files, entry)
				if err != nil {
					return err
				}
				used = append(used, usedBytes{Path: entry.shown, Size: size})
			}
		}
		if *asJSON {
			return t.printJSON(used)
		}
		table := tabwriter.NewWriter(t.stdout, 0, 0, 2, ' ', 0)
		for _, u := range used {
			fmt.Fprintf(table, "%s\t%s\n", sizeText(u.Size, *human), u.Path)
		}
		return table.Flush()
	})
	return c
}

// usedBytes is a row of du's output, for a file or for a directory with all files below it.
type usedBytes struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
}

// totalSize returns the size in bytes of a file, or of all files below a directory.
func totalSize(ctx context.Context, files *storage.Files, f namedFile) (int64, error) {
	if !f.Dir {
		return f.Size, nil
	}
	entries, err := f.entries(ctx, files)
	total := int64(0)
	for _, entry := range entries {
		if err == nil {
			var size int64
			size, err = totalSize(ctx, files, entry)
			total += size
		}
	}
	return total, err
}
