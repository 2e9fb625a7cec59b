//go:build linux

// Command leaving computes sums and a cached data set again and again, and has executors
// leave in between, so that tests can check what is computed twice.
//
//	leaving TASKS
//
// It waits for three executors, has two of them leave, one after the other, by SIGPWR,
// and prints the sums of the last job, how many map tasks and cached partitions were
// computed, and the numbers of tasks of all map stages.
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// executors is how many executors the application has.
const executors = 3

var (
	mapTasks   = bobbin.NewCounter("map tasks")
	partitions = bobbin.NewCounter("cached partitions")

	// process returns the process that runs its task. The pause lets each executor run one.
	process = bobbin.Func("process", func(task *bobbin.Task, pause time.Duration) (int, error) {
		time.Sleep(pause)
		return os.Getpid(), task.Err()
	})

	numbers = dataset.Define("numbers", func(p *dataset.Plan, tasks int) *dataset.Of[int64] {
		return counted(dataset.Range(p, 0, int64(1000*tasks), tasks), partitions)
	})
	sums = dataset.Define("sums", func(p *dataset.Plan, tasks int) *dataset.Of[dataset.KV[int64, int64]] {
		keyed := dataset.MapKV(counted(dataset.Range(p, 0, int64(1000*tasks), tasks), mapTasks), func(i int64) (int64, int64) { return i % 3, i })
		return dataset.Reduce(keyed, func(a, b int64) int64 { return a + b })
	})
)

// counted passes elements on, and counts partitions.
func counted(in *dataset.Of[int64], counter *bobbin.Counter) *dataset.Of[int64] {
	return dataset.MapPartitions(in, func(task *bobbin.Task, in iter.Seq[int64]) iter.Seq2[int64, error] {
		return func(yield func(int64, error) bool) {
			counter.Add(task, 1)
			time.Sleep(50 * time.Millisecond) // so that all executors run some
			for i := range in {
				if !yield(i, nil) {
					return
				}
			}
		}
	})
}

func main() {
	bobbin.Main(func(ctx context.Context) error {
		if len(os.Args) != 2 {
			return errors.New("usage: leaving TASKS")
		}
		tasks, err := strconv.Atoi(os.Args[1])
		if err != nil {
			return err
		}
		return run(ctx, tasks)
	})
}

func run(ctx context.Context, tasks int) error {
	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	var processes []int
	for len(processes) < executors { // until all have registered
		found, err := process.Run(ctx, session, slices.Repeat([]time.Duration{200 * time.Millisecond}, 2*executors))
		if err != nil {
			return err
		}
		processes = append(processes, found...)
		slices.Sort(processes)
		processes = slices.Compact(processes)
	}
	all, summed := numbers.With(session, tasks).Cache(dataset.MemoryThenDisk), sums.With(session, tasks)
	var got []dataset.KV[int64, int64]
	var count int64
	for i := range executors {
		if got, err = summed.Collect(ctx); err != nil {
			return err
		}
		if count, err = all.Len(ctx); err != nil {
			return err
		}
		if i < executors-1 {
			if err := decommission(ctx, processes[i]); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(got, func(a, b dataset.KV[int64, int64]) int { return int(a.Key - b.Key) })
	var stages []int
	for _, s := range dataset.Summary(session) {
		if strings.Contains(s.Name, " for ") {
			stages = append(stages, s.Tasks)
		}
	}
	fmt.Println("sums", got, "of", count, "map tasks", session.Counter(mapTasks), "cached", session.Counter(partitions), "map stages", stages)
	return nil
}

// decommission makes an executor leave and waits for its end.
func decommission(ctx context.Context, pid int) error {
	if err := syscall.Kill(pid, syscall.SIGPWR); err != nil {
		return err
	}
	for syscall.Kill(pid, 0) == nil {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}
