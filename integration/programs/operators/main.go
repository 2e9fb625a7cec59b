// Command operators computes with a text of lines KEY<TAB>NUMBER.
//
//	operators [-straggle] IN OUT
//
// It writes these directories to OUT:
//
//	sorted   the lines, sorted
//	joined   KEY<TAB>NUMBER<TAB>TOTAL, in any order: each number with the sum of its key's numbers
//	groups   KEY<TAB>LABEL<TAB>COUNT<TAB>TOTAL, in any order, with labels from a broadcast value
//	report   a line with what the driver function has counted; see report
//
// joined and groups are computed at the same time, in two pools, from a cached data set. Then
// the command cancels a job that writes the directory "cancelled". With -straggle, the first
// attempt of a task that computes the cached data set does not end until it is killed, so a
// speculative copy must succeed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// splitSize is so small that a text of a few megabytes has several partitions.
const splitSize = 256 << 10

// linesRead counts the lines from which tasks compute the cached data set.
var linesRead = bobbin.NewCounter("lines read")

type (
	entry = dataset.KV[string, int64]

	input struct {
		Path     string
		Straggle bool
	}

	labelled struct {
		Entries *dataset.Of[entry]
		Labels  *dataset.Broadcast[map[string]string]
	}
)

var entries = dataset.Define("entries", func(p *dataset.Plan, in input) *dataset.Of[entry] {
	lines := dataset.Text(p, in.Path, dataset.SplitSize(splitSize))
	return dataset.MapPartitions(lines, func(task *bobbin.Task, lines iter.Seq[[]byte]) iter.Seq2[entry, error] {
		return func(yield func(entry, error) bool) {
			for line := range lines {
				key, number, _ := strings.Cut(string(line), "\t")
				n, err := strconv.ParseInt(number, 10, 64)
				linesRead.Add(task, 1)
				if !yield(entry{Key: key, Value: n}, err) {
					return
				}
			}
			if in.Straggle && task.Index() == 0 && task.Attempt() == 0 {
				<-task.Done()
				yield(entry{}, context.Cause(task))
			}
		}
	})
})

var sorted = dataset.Define("sorted", func(p *dataset.Plan, path string) *dataset.Of[[]byte] {
	return dataset.Sort(dataset.Text(p, path, dataset.SplitSize(splitSize)))
})

var joined = dataset.Define("joined", func(_ *dataset.Plan, entries *dataset.Of[entry]) *dataset.Of[string] {
	totals := dataset.Reduce(entries, func(a, b int64) int64 { return a + b })
	return dataset.Join(entries, totals, func(key string, number, total int64) string { return fmt.Sprintf("%s\t%d\t%d", key, number, total) })
})

var groups = dataset.Define("groups", func(_ *dataset.Plan, in labelled) *dataset.Of[string] {
	return dataset.Map(dataset.Group(in.Entries), func(group dataset.KV[string, iter.Seq[int64]]) string {
		count, total := 0, int64(0)
		for number := range group.Value {
			count, total = count+1, total+number
		}
		return fmt.Sprintf("%s\t%s\t%d\t%d", group.Key, in.Labels.Value()[group.Key], count, total)
	})
})

var endless = dataset.Define("endless", func(_ *dataset.Plan, entries *dataset.Of[entry]) *dataset.Of[string] {
	return dataset.MapPartitions(entries, func(task *bobbin.Task, _ iter.Seq[entry]) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for yield("more", nil) && task.Err() == nil {
			}
		}
	})
})

// report is a data set with one line: the number of entries, the counter linesRead, and the
// pools of all jobs.
var report = dataset.Define("report", func(p *dataset.Plan, line string) *dataset.Of[string] {
	return dataset.Slice(p, []string{line}, 1)
})

func main() {
	bobbin.Main(func(ctx context.Context) error {
		flags := flag.NewFlagSet("operators", flag.ContinueOnError)
		straggle := flags.Bool("straggle", false, "let a task end only by a speculative copy")
		if err := flags.Parse(os.Args[1:]); err != nil {
			return err
		}
		if flags.NArg() != 2 {
			return errors.New("usage: operators [-straggle] IN OUT")
		}
		session, err := bobbin.NewSession(ctx)
		if err != nil {
			return err
		}
		defer session.Close()
		return run(ctx, session, input{flags.Arg(0), *straggle}, flags.Arg(1))
	})
}

func run(ctx context.Context, session *bobbin.Session, in input, out string) error {
	if err := sorted.With(session, in.Path).Save(ctx, out+"/sorted", dataset.AsText); err != nil {
		return err
	}
	cached := entries.With(session, in).Cache(dataset.MemoryThenDisk)
	count, err := cached.Len(ctx)
	if err != nil {
		return err
	}
	labels := dataset.NewBroadcast(session, map[string]string{"hot": "frequent"})
	ended := make(chan error, 2)
	go func() {
		ended <- joined.With(session, cached).Save(bobbin.InPool(ctx, "joins"), out+"/joined", dataset.AsText)
	}()
	go func() {
		ended <- groups.With(session, labelled{cached, labels}).Save(bobbin.InPool(ctx, "groups"), out+"/groups", dataset.AsText)
	}()
	if err := errors.Join(<-ended, <-ended); err != nil {
		return err
	}
	if err := cancelled(ctx, session, endless.With(session, cached), out+"/cancelled"); err != nil {
		return err
	}
	pools := map[string]bool{}
	for _, job := range session.Jobs() {
		pools[job.Pool] = true
	}
	line := fmt.Sprintf("%d entries, %d lines read, pools %q", count, session.Counter(linesRead), slices.Sorted(maps.Keys(pools)))
	return report.With(session, line).Save(ctx, out+"/report", dataset.AsText)
}

// cancelled starts to save a data set that has no end, and cancels the job when its tasks run.
func cancelled(ctx context.Context, session *bobbin.Session, endless *dataset.Of[string], out string) error {
	enough := errors.New("enough")
	saving, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() { ended <- endless.Save(saving, out, dataset.AsText) }()
	for {
		select {
		case err := <-ended:
			if !errors.Is(err, enough) {
				return fmt.Errorf("the cancelled job ended with %w", err)
			}
			return nil
		case <-time.After(10 * time.Millisecond):
		}
		jobs := session.Jobs()
		if jobs[len(jobs)-1].Running > 0 {
			cancel(enough)
		}
	}
}
