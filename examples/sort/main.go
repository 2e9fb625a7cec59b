// Command sort sorts the lines of a text by their bytes.
//
//	sort IN OUT
//
// IN is a text file or a directory of text files. OUT is a directory that must not exist. IN
// and OUT can each be in HDFS or on the local disk. The files part-00000, part-00001, … in OUT,
// concatenated in this order, are the sorted lines.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

var sortLines = dataset.Define("sort lines", func(p *dataset.Plan, in string) *dataset.Of[[]byte] {
	return dataset.Sort(dataset.Text(p, in))
})

func main() {
	bobbin.Main(func(ctx context.Context) error { return run(ctx, os.Args[1:]) })
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: sort IN OUT")
	}
	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	return sortLines.With(session, args[0]).Save(ctx, args[1], dataset.AsText)
}
