// Command wordcount counts the words of a text.
//
//	wordcount [-split BYTES] IN OUT
//
// IN is a text file or a directory of text files. OUT is a directory that must not exist. IN
// and OUT can each be in HDFS or on the local disk. Words are separated by Unicode white space.
// The command writes the files part-00000, part-00001, … to OUT, with a line word<TAB>count for
// each word, in no particular order.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"strconv"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// input is the path of the text and the size of its splits in bytes.
type input struct {
	Path  string
	Split int64
}

var wordCount = dataset.Define("word count", func(p *dataset.Plan, in input) *dataset.Of[[]byte] {
	words := dataset.FlatMap(dataset.Text(p, in.Path, dataset.SplitSize(in.Split)), bytes.FieldsSeq)
	return dataset.Map(dataset.Count(words), func(word dataset.KV[[]byte, int64]) []byte {
		return strconv.AppendInt(append(word.Key, '\t'), word.Value, 10)
	})
})

func main() {
	bobbin.Main(func(ctx context.Context) error { return run(ctx, os.Args[1:]) })
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("wordcount", flag.ContinueOnError)
	split := flags.Int64("split", 0, "bytes of text for each task; 0 for one task for each block")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return errors.New("usage: wordcount [-split BYTES] IN OUT")
	}
	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	return wordCount.With(session, input{flags.Arg(0), *split}).Save(ctx, flags.Arg(1), dataset.AsText)
}
