// Command wordcount counts the words of a text.
//
//	wordcount IN OUT
//
// IN is a text file or a directory of text files. OUT is a directory that must not
// exist. Each can be in HDFS or on the local disk. Words are separated by Unicode
// white space. The files part-00000, part-00001, … in OUT have lines word<TAB>count,
// sorted by the bytes of the words across all files.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/storage"
)

// count is the task function that counts the words of one split, in lines of any length.
var count = bobbin.Func("count", func(task *bobbin.Task, split storage.Split) (map[string]int64, error) {
	text, err := split.Open(task)
	if err != nil {
		return nil, err
	}
	defer text.Close()

	counts := map[string]*int64{}
	words := bufio.NewScanner(text)
	words.Buffer(make([]byte, 0, 256<<10), longestWord)
	words.Split(bufio.ScanWords)
	for words.Scan() {
		// The look-up does not copy the word.
		if n, ok := counts[string(words.Bytes())]; ok {
			*n++
		} else {
			counts[words.Text()] = new(int64(1))
		}
	}
	if err := words.Err(); err != nil {
		return nil, fmt.Errorf("%s from byte %d: %w", split.Path, split.Offset, err)
	}
	result := make(map[string]int64, len(counts))
	for word, n := range counts {
		result[word] = *n
	}
	return result, nil
})

// longestWord is the maximum length of a word, in bytes.
const longestWord = 1 << 30

// write is the task function that writes one part of the sorted words.
var write = bobbin.Func("write", func(task *bobbin.Task, part []entry) (int, error) {
	output, err := bobbin.SharedValue[storage.Output](task)
	if err != nil {
		return 0, err
	}
	file, err := output.Part(task, task.Index(), task.Attempt())
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Abort() }() // no effect after Commit
	text := bufio.NewWriterSize(file, 256<<10)
	for _, line := range part {
		fmt.Fprintf(text, "%s\t%d\n", line.Word, line.Count)
	}
	if err := text.Flush(); err != nil {
		return 0, err
	}
	// With speculation, two attempts may write the same part: the driver lets one of them commit.
	return len(part), task.CommitOutput(file.Commit)
})

func main() {
	bobbin.Main(func(ctx context.Context) error { return run(ctx, os.Args[1:]) })
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("wordcount", flag.ContinueOnError)
	parts := flags.Int("parts", 4, "maximum number of part files")
	splitSize := flags.Int64("split", 0, "bytes of text for each task; 0 for one task for each block")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 || *parts < 1 {
		return errors.New("usage: wordcount [-parts N] [-split BYTES] IN OUT")
	}
	in, out := flags.Arg(0), flags.Arg(1)

	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()

	output, err := session.Files().NewOutput(ctx, out, session.ApplicationID())
	if errors.Is(err, storage.ErrCommitted) {
		slog.Info("an earlier attempt of this application has written the output", "output", out)
		return nil
	}
	if err != nil {
		return err
	}
	if err := countInto(ctx, session, output, in, *splitSize, *parts); err != nil {
		return errors.Join(err, output.Abort(ctx))
	}
	return nil
}

// countInto counts the words of in and commits the counts to output.
func countInto(ctx context.Context, session *bobbin.Session, output storage.Output, in string, splitSize int64, parts int) error {
	splits, err := session.Files().Splits(ctx, in, storage.SplitOptions{Size: splitSize})
	if err != nil {
		return err
	}
	total := map[string]int64{}
	for result, err := range count.Stream(ctx, session, splits) {
		if err != nil {
			return err
		}
		for word, n := range result.Value {
			total[word] += n
		}
	}
	ranges := sortedRanges(total, parts)
	if _, err := write.Run(ctx, session, ranges, bobbin.Shared(output)); err != nil {
		return err
	}
	return output.Commit(ctx, len(ranges))
}
