// Command durable kills executors and checks that no data are computed again.
//
//	durable stored|checkpoint DIRECTORY
//
// With "stored", each partition is stored on two executors, and durable kills one executor, and
// later the other. With "checkpoint", the data have a checkpoint, and durable kills both
// executors at once. It needs two executors on its own host, which the master replaces when
// they are lost. The checkpoint and temporary files are in DIRECTORY. After each kill it prints
// the number of killed executors and the number of partitions that were computed again.
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

const executors, partitions = 2, 20

// origins is a data set with an element for each partition: the process and the time of the
// partition's computation. Its tasks wait until tasks run on all executors.
var origins = dataset.Define("origins", func(p *dataset.Plan, meeting string) *dataset.Of[origin] {
	return dataset.MapPartitions(dataset.Range(p, 0, partitions, partitions), func(task *bobbin.Task, _ iter.Seq[int64]) iter.Seq2[origin, error] {
		return func(yield func(origin, error) bool) {
			err := awaitAllExecutors(task, meeting)
			yield(origin{os.Getpid(), time.Now().UnixNano()}, err)
		}
	})
})

type origin struct {
	PID  int
	Time int64
}

// awaitAllExecutors waits until tasks run on all executors. meeting is the directory in which
// each executor creates a file.
func awaitAllExecutors(ctx context.Context, meeting string) error {
	err := os.MkdirAll(meeting, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(meeting, fmt.Sprint(os.Getpid())), nil, 0o600)
	}
	if err != nil {
		return err
	}
	for {
		others, err := os.ReadDir(meeting)
		if err != nil || len(others) >= executors {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func main() {
	bobbin.Main(func(ctx context.Context) error { return run(ctx, os.Args[1:]) })
}

func run(ctx context.Context, given []string) error {
	if len(given) != 2 || given[0] != "stored" && given[0] != "checkpoint" {
		return errors.New("usage: durable stored|checkpoint DIRECTORY")
	}
	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	// Both executors compute partitions of first.
	first := origins.With(session, filepath.Join(given[1], "0"))
	if given[0] == "checkpoint" {
		if first, err = first.Checkpoint(ctx, filepath.Join(given[1], "checkpoint")); err != nil {
			return err
		}
	} else {
		first = first.Cache(dataset.MemoryThenDisk2)
	}
	want, err := first.Collect(ctx)
	if err != nil {
		return err
	}
	processes := processesOf(want)
	if given[0] == "checkpoint" {
		return killAndCompare(ctx, first, want, processes...)
	}
	for i, pid := range processes {
		if err := killAndCompare(ctx, first, want, pid); err != nil {
			return err
		}
		// This job ends only when two executors have run tasks, so the killed executor has been
		// replaced.
		if err := origins.With(session, filepath.Join(given[1], fmt.Sprint(i+1))).Run(ctx); err != nil {
			return err
		}
	}
	return nil
}

func processesOf(all []origin) (processes []int) {
	for _, o := range all {
		processes = append(processes, o.PID)
	}
	slices.Sort(processes)
	return slices.Compact(processes)
}

// killAndCompare kills processes. Then it collects the data and prints how many elements differ
// from want, which means that their partitions were computed again.
func killAndCompare(ctx context.Context, data *dataset.Of[origin], want []origin, processes ...int) error {
	for _, pid := range processes {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return err
		}
	}
	got, err := data.Collect(ctx)
	if err != nil {
		return err
	}
	again := 0
	for i := range want {
		if want[i] != got[i] {
			again++
		}
	}
	fmt.Println(len(processes), again)
	return nil
}
