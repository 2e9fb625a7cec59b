package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/dataset/parquet"
	"github.com/bobbin-yarn/bobbin/internal/fileformat"
	"github.com/bobbin-yarn/bobbin/storage"
)

// printRows prints the first limit rows of a file as JSON, one row on each line.
type printRows func(ctx context.Context, file storage.File, limit int, w io.Writer) error

// rowFormats are the file formats that cat and head print as JSON.
var rowFormats = map[fileformat.Format]printRows{fileformat.Avro: printAvro, fileformat.Parquet: parquet.JSONLines}

func newFSCat(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "cat [flags] PATH…",
		Short: "Print files, decompressed",
		Long: `Print files one after the other. Files that end in .gz, .zst, .bz2, .snappy, .lz4
or .deflate are decompressed. Of Avro and Parquet files, each record is printed as JSON
in a line of its own. They are recognized by their content.`,
		Example: "  yarn-submit fs cat '/data/out/part-*' | sort",
		Args:    minArgs(1, "PATH…"),
	}
	raw := c.Flags().Bool("raw", false, "print the bytes as they are stored")
	onFiles(t, c, func(ctx context.Context, files *storage.Files, args []string) error {
		return show(ctx, t, files, args, func(f namedFile, opened storage.File) error {
			if *raw {
				_, err := io.Copy(t.stdout, opened)
				return err
			}
			return printContent(ctx, t.stdout, f, opened, math.MaxInt)
		})
	})
	return c
}

func newFSHead(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:     "head [flags] PATH…",
		Short:   "Print the first lines of files, decompressed",
		Long:    "Print the first lines of each file, or the first records, decompressed, as by cat.",
		Example: "  yarn-submit fs head -n 3 /data/out/part-00000.gz",
		Args:    minArgs(1, "PATH…"),
	}
	lines := c.Flags().IntP("lines", "n", 10, "`N`: how many lines of each file, 10 if not given")
	onFiles(t, c, func(ctx context.Context, files *storage.Files, args []string) error {
		if *lines < 0 {
			return client.UsageError(fmt.Errorf("--lines %d: want 0 or more", *lines))
		}
		return show(ctx, t, files, args, func(f namedFile, opened storage.File) error {
			return printContent(ctx, t.stdout, f, opened, *lines)
		})
	})
	return c
}

// show opens the files that args name, and calls printFile for each file.
func show(ctx context.Context, t terminal, files *storage.Files, args []string, printFile func(f namedFile, opened storage.File) error) error {
	found, err := matching(ctx, files, args)
	if err != nil {
		return err
	}
	for _, f := range found {
		if f.Dir {
			return fmt.Errorf("%s is a directory: to print its files, write '%s/*'", f.shown, f.shown)
		}
	}
	for _, f := range found {
		opened, err := files.Open(ctx, f.Path)
		if err != nil {
			return err
		}
		err = printFile(f, opened)
		if err := errors.Join(err, opened.Close()); err != nil {
			return err
		}
	}
	return nil
}

// printContent prints the first limit lines or rows of a file. It decompresses the file.
func printContent(ctx context.Context, w io.Writer, f namedFile, opened storage.File, limit int) error {
	format, err := fileformat.Of(opened, f.Size)
	if err != nil {
		return fmt.Errorf("print %s: %w", f.shown, err)
	}
	if format == fileformat.ORC {
		return fmt.Errorf("print %s: %s", f.shown, fileformat.ORCAdvice)
	}
	// The content of a damaged file may not show its format.
	if rows := rowFormats[cmp.Or(format, fileformat.OfName(f.Name))]; rows != nil {
		return rows(ctx, opened, limit, w)
	}
	if f.Size == 0 {
		return nil // an empty file has no header, so decompressing would fail
	}
	content, err := storage.Decompress(opened, storage.CompressionOf(f.Name))
	if err != nil {
		return fmt.Errorf("decompress %s: %w", f.shown, err)
	}
	err = copyLines(w, content, limit)
	if err = errors.Join(err, content.Close()); err != nil {
		return fmt.Errorf("print %s: %w", f.shown, err)
	}
	return nil
}

// copyLines copies the first limit lines of r to w.
func copyLines(w io.Writer, r io.Reader, limit int) error {
	if limit == math.MaxInt {
		_, err := io.Copy(w, r)
		return err
	}
	in := bufio.NewReader(r)
	for limit > 0 {
		piece, err := in.ReadSlice('\n')
		if err == nil {
			limit--
		}
		if _, writeErr := w.Write(piece); writeErr != nil {
			return writeErr
		}
		if err == io.EOF {
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
	return nil
}
