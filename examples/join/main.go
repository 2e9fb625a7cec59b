// Command join joins the lines of two tables that have equal keys.
//
//	join LEFT RIGHT OUT
//
// LEFT and RIGHT are text files or directories of text files with lines key<TAB>value; a value
// may contain tabs. OUT is a directory that must not exist. The command writes the files
// part-00000, part-00001, … to OUT, with a line key<TAB>left<TAB>right for each pair of lines
// with the same key.
package main

import (
	"bytes"
	"context"
	"errors"
	"os"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// tables contains the paths of the tables to join.
type tables struct{ Left, Right string }

var joinTables = dataset.Define("join tables", func(p *dataset.Plan, in tables) *dataset.Of[[]byte] {
	return dataset.Join(table(p, in.Left), table(p, in.Right), func(key, left, right []byte) []byte {
		return bytes.Join([][]byte{key, left, right}, []byte("\t"))
	})
})

// table returns the data set of the lines at path, each as a key and a value.
func table(p *dataset.Plan, path string) *dataset.Of[dataset.KV[[]byte, []byte]] {
	return dataset.MapKV(dataset.Text(p, path), func(line []byte) (key, value []byte) {
		key, value, _ = bytes.Cut(line, []byte("\t"))
		return key, value
	})
}

func main() {
	bobbin.Main(func(ctx context.Context) error { return run(ctx, os.Args[1:]) })
}

func run(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return errors.New("usage: join LEFT RIGHT OUT")
	}
	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	return joinTables.With(session, tables{args[0], args[1]}).Save(ctx, args[2], dataset.AsText)
}
