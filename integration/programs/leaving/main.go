//go:build linux

// Command leaving repeatedly runs jobs that compute sums and use a cached data set. It
// decommissions executors between the jobs, so that tests can check what is computed again.
//
//	leaving TASKS
//
// It waits until three executors have registered, and decommissions two of them, one after the
// other, by SIGPWR. It prints the sums of the last job, the numbers of map tasks and cached
// partitions that were computed, and the number of tasks of each map stage.
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

const executors = 3

var (
	mapTasks   = bobbin.NewCounter("map tasks")
	partitions = bobbin.NewCounter("cached partitions")

	// process returns the id of the process that runs the task. The pause is so long that every
	// executor runs a task.
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

// counted returns the elements unchanged, and adds the number of computed partitions to
// counter.
func counted(in *dataset.Of[int64], counter *bobbin.Counter) *dataset.Of[int64] {
	return dataset.MapPartitions(in, func(task *bobbin.Task, in iter.Seq[int64]) iter.Seq2[int64, error] {
		return func(yield func(int64, error) bool) {
			counter.Add(task, 1)
			time.Sleep(50 * time.Millisecond) // long enough that every executor runs tasks
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
	for len(processes) < executors { // until all executors have registered
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

// decommission decommissions the executor with the process id pid and waits until the process
// ends.
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
