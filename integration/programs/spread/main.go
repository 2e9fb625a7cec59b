// Command spread broadcasts a value, and computes the value's checksum in tasks on all
// executors.
//
//	spread BYTES TASKS EXECUTORS
//
// It prints the value's checksum, and a line for each different checksum that tasks have
// computed: the checksum, and the number of executors whose tasks have computed it. The tasks
// wait until tasks run on EXECUTORS executors.
package main

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

type arguments struct {
	Value            *dataset.Broadcast[[]byte]
	Tasks, Executors int
	Meeting          string // directory in which each executor creates a file
}

type seen = dataset.KV[string, uint32]

var checksums = dataset.Define("checksums", func(p *dataset.Plan, a arguments) *dataset.Of[seen] {
	return dataset.MapPartitions(dataset.Range(p, 0, int64(a.Tasks), a.Tasks), func(task *bobbin.Task, _ iter.Seq[int64]) iter.Seq2[seen, error] {
		return func(yield func(seen, error) bool) {
			name := fmt.Sprint(os.Getpid())
			err := awaitAllExecutors(task, a, name)
			yield(seen{Key: name, Value: crc32.ChecksumIEEE(a.Value.Value())}, err)
		}
	})
})

// awaitAllExecutors waits until tasks run on a.Executors executors.
func awaitAllExecutors(ctx context.Context, a arguments, name string) error {
	if err := os.WriteFile(filepath.Join(a.Meeting, name), nil, 0o600); err != nil {
		return err
	}
	for {
		others, err := os.ReadDir(a.Meeting)
		if err != nil || len(others) >= a.Executors {
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

func run(ctx context.Context, given []string) (err error) {
	if len(given) != 3 {
		return errors.New("usage: spread BYTES TASKS EXECUTORS")
	}
	var numbers [3]int
	for i, text := range given {
		if numbers[i], err = strconv.Atoi(text); err != nil {
			return err
		}
	}
	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	meeting, err := os.MkdirTemp("", "spread-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(meeting)) }()
	value := make([]byte, numbers[0])
	_, _ = rand.NewChaCha8([32]byte{}).Read(value) // never fails
	fmt.Println(crc32.ChecksumIEEE(value))
	got, err := checksums.With(session, arguments{dataset.NewBroadcast(session, value), numbers[1], numbers[2], meeting}).Collect(ctx)
	if err != nil {
		return err
	}
	executors := map[uint32]map[string]bool{}
	for _, s := range got {
		if executors[s.Value] == nil {
			executors[s.Value] = map[string]bool{}
		}
		executors[s.Value][s.Key] = true
	}
	for sum, names := range executors {
		fmt.Println(sum, len(names))
	}
	return nil
}
