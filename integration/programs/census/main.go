// Command census counts the words of a text slowly, so that tests can inject faults while it
// runs.
//
//	census PAUSE IN OUT [COUNTED [WRITTEN]]
//
// Each counting task counts 256 KiB of IN and takes at least the duration PAUSE. census writes
// the same files to OUT as wordcount does. The tasks that count the second half of IN wait until
// the file COUNTED exists. The tasks that write the second half of the part files wait until the
// file WRITTEN exists before they commit. If COUNTED or WRITTEN is missing or "", these tasks do
// not wait.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/storage"
)

const splitSize = 256 << 10

// countInput is the input of a counting task.
type countInput struct {
	Split       storage.Split
	Pause       time.Duration
	AwaitedFile string // file to wait for; "" for none
}

// PreferredHosts returns the hosts that store the task's split of the text.
func (p countInput) PreferredHosts() []string { return p.Split.PreferredHosts() }

var count = bobbin.Func("count", func(task *bobbin.Task, p countInput) (map[string]int64, error) {
	enough := time.NewTimer(p.Pause)
	defer enough.Stop()
	text, err := p.Split.Open(task)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	counts := map[string]int64{}
	words := bufio.NewScanner(text)
	words.Buffer(nil, 1<<20)
	words.Split(bufio.ScanWords)
	for words.Scan() {
		counts[words.Text()]++
	}
	if err := words.Err(); err != nil {
		return nil, fmt.Errorf("%s from byte %d: %w", p.Split.Path, p.Split.Offset, err)
	}
	select {
	case <-enough.C:
	case <-task.Done():
		return nil, context.Cause(task)
	}
	if err := awaitFile(task, task.Files(), p.AwaitedFile); err != nil {
		return nil, err
	}
	fmt.Printf("counted portion %d\n", task.Index())
	return counts, nil
})

// awaitFile waits until a file exists. It returns at once if path is "".
func awaitFile(ctx context.Context, files *storage.Files, path string) error {
	if path == "" {
		return nil
	}
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		if there, err := files.Exists(ctx, path); there || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

type line struct {
	Word  string
	Count int64
}

// writeInput is the input of a task that writes a part file.
type writeInput struct {
	Lines       []line
	AwaitedFile string // file to wait for; "" for none
}

// parts is the number of part files, each written by one task.
const parts = 4

var write = bobbin.Func("write", func(task *bobbin.Task, p writeInput) (int, error) {
	output, err := bobbin.SharedValue[storage.Output](task)
	if err != nil {
		return 0, err
	}
	file, err := output.Part(task, task.Index(), task.Attempt())
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Abort() }() // Abort has no effect after Commit
	text := bufio.NewWriter(file)
	for _, line := range p.Lines {
		fmt.Fprintf(text, "%s\t%d\n", line.Word, line.Count)
	}
	if err := text.Flush(); err != nil {
		return 0, err
	}
	if err := awaitFile(task, task.Files(), p.AwaitedFile); err != nil {
		return 0, err
	}
	return len(p.Lines), task.CommitOutput(file.Commit)
})

func main() {
	bobbin.Main(func(ctx context.Context) error { return run(ctx, os.Args[1:]) })
}

func run(ctx context.Context, arguments []string) error {
	if len(arguments) < 3 || len(arguments) > 5 {
		return errors.New("usage: census PAUSE IN OUT [COUNTED [WRITTEN]]")
	}
	var awaitedFiles [2]string // paths of COUNTED and WRITTEN
	copy(awaitedFiles[:], arguments[3:])
	pause, err := time.ParseDuration(arguments[0])
	if err != nil {
		return err
	}
	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	output, err := session.Files().NewOutput(ctx, arguments[2], session.ApplicationID())
	if errors.Is(err, storage.ErrCommitted) {
		slog.Info("an earlier attempt of this application has written the output", "output", arguments[2])
		return nil
	}
	if err != nil {
		return err
	}
	if err := countInto(ctx, session, output, arguments[1], pause, awaitedFiles); err != nil {
		return errors.Join(err, output.Abort(ctx))
	}
	return nil
}

// countInto counts the words of a text and commits the counts to output. Half of the
// counting tasks wait for the file awaitedFiles[0], and half of the writing tasks for the file
// awaitedFiles[1]. "" means not to wait.
func countInto(ctx context.Context, session *bobbin.Session, output storage.Output, in string, pause time.Duration, awaitedFiles [2]string) error {
	splits, err := session.Files().Splits(ctx, in, storage.SplitOptions{Size: splitSize})
	if err != nil {
		return err
	}
	portions := make([]countInput, len(splits))
	for i, split := range splits {
		portions[i] = countInput{Split: split, Pause: pause}
		if i >= len(splits)/2 {
			portions[i].AwaitedFile = awaitedFiles[0]
		}
	}
	total := map[string]int64{}
	var options []bobbin.Option
	if awaitedFiles[0] != "" {
		// Without preferred hosts, tasks start in the order of the text. Otherwise the tasks
		// that wait for a file could start first and occupy all cores.
		options = append(options, bobbin.Hosts(func(int) []string { return nil }))
	}
	for result, err := range count.Stream(ctx, session, portions, options...) {
		if err != nil {
			return err
		}
		for word, n := range result.Value {
			total[word] += n
		}
	}
	var lines []line
	for _, word := range slices.Sorted(maps.Keys(total)) {
		lines = append(lines, line{word, total[word]})
	}
	var all []writeInput
	for chunk := range slices.Chunk(lines, len(lines)/parts+1) {
		all = append(all, writeInput{Lines: chunk})
	}
	for i := len(all) / 2; i < len(all); i++ {
		all[i].AwaitedFile = awaitedFiles[1]
	}
	if _, err := write.Run(ctx, session, all, bobbin.Shared(output)); err != nil {
		return err
	}
	return output.Commit(ctx, len(all))
}
