package storage_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/bobbin-yarn/bobbin/storage"
)

// Files in HDFS and on the local disk are written and read by the same calls.
func Example() {
	dir, err := os.MkdirTemp("", "storage")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	files := storage.New(storage.Options{})
	defer files.Close()

	w, err := files.Create(ctx, filepath.Join(dir, "greetings/english"))
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort() // does nothing after Close
	fmt.Fprintln(w, "hello")
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	infos, err := files.List(ctx, filepath.Join(dir, "greetings"))
	if err != nil {
		log.Fatal(err)
	}
	for _, info := range infos {
		fmt.Println(info.Name, info.Size)
	}
	// Output: english 6
}

// A driver plans splits of the input, and one task reads each split.
func ExampleSplit_Lines() {
	dir, err := os.MkdirTemp("", "storage")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "numbers"), []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	files := storage.New(storage.Options{})
	defer files.Close()
	splits, err := files.Splits(context.Background(), dir, storage.SplitOptions{Size: 6})
	if err != nil {
		log.Fatal(err)
	}
	ctx := storage.With(context.Background(), files) // in a task, the context already contains a Files
	for i, split := range splits {
		for line, err := range split.Lines(ctx) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf("split %d: %s\n", i, line)
		}
	}
	// Output:
	// split 0: one
	// split 0: two
	// split 1: three
}

// The driver creates an output and commits it; the tasks write the output's parts.
func ExampleOutput() {
	dir, err := os.MkdirTemp("", "storage")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	files := storage.New(storage.Options{})
	defer files.Close()
	ctx := storage.With(context.Background(), files)

	out, err := files.NewOutput(ctx, filepath.Join(dir, "out"), "application_1700000000000_0001")
	if errors.Is(err, storage.ErrCommitted) {
		return // an earlier attempt of this application has committed the output
	}
	if err != nil {
		log.Fatal(err)
	}
	defer out.Abort(ctx) // does nothing after Commit

	const parts = 2
	for index := range parts {
		part, err := out.Part(ctx, index, 0)
		if err != nil {
			log.Fatal(err)
		}
		defer part.Abort()
		fmt.Fprintf(part, "this is part %d\n", index)
		if err := part.Commit(); err != nil {
			log.Fatal(err)
		}
	}
	if err := out.Commit(ctx, parts); err != nil {
		log.Fatal(err)
	}
	written, err := os.ReadFile(filepath.Join(dir, "out", "part-00001"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(written))
	// Output: this is part 1
}
