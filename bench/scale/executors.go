package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/executorbackend"
)

// executorShare describes the executors that one process runs. It is the first value on the
// process's stdin.
type executorShare struct {
	Address      string // address of the driver (host:port)
	Pass         []byte // secret with which executors authenticate to the driver
	First, Count int    // the executors have the ids First to First+Count-1
}

// runExecutors runs the executors of one process until stdin ends.
func runExecutors(ctx context.Context) error {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	var part executorShare
	if err := in.Decode(&part); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var refused atomic.Int64
	for i := range part.Count {
		id := strconv.Itoa(part.First + i)
		running.Go(func() {
			log := &warningCounter{count: &refused}
			err := executorbackend.Run(ctx, executorbackend.Options{
				ID: id, Host: "host" + id, Cores: 1, SharesProcess: true,
				Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})),
			}, part.Address, part.Pass)
			if err != nil {
				fmt.Fprintf(log, "executor %s: %v\n", id, err)
			}
		})
	}
	word := ""
	if err := in.Decode(&word); err != nil { // the parent sends a word when all tasks have run
		return err
	}
	if err := out.Encode(refused.Load()); err != nil {
		return err
	}
	_ = in.Decode(&word) // wait until stdin ends
	return nil
}

// warningCounter receives the log of warnings of one executor. An executor logs a warning if it
// retries its registration or has lost the driver. At the first warning, warningCounter counts
// the executor as refused. It prints only the first warning of the process.
type warningCounter struct {
	count *atomic.Int64
	once  sync.Once
}

func (c *warningCounter) Write(line []byte) (int, error) {
	c.once.Do(func() {
		if c.count.Add(1) == 1 {
			_, _ = os.Stderr.Write(line)
		}
	})
	return len(line), nil
}
