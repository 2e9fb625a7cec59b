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

// share is the part of the executors that one process runs.
type share struct {
	Address      string // of the driver
	Pass         []byte
	First, Count int // their ids
}

// runExecutors is a process of executors. It runs until its stdin ends.
func runExecutors(ctx context.Context) error {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	var part share
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
			log := &complaints{count: &refused}
			err := executorbackend.Run(ctx, executorbackend.Options{
				ID: id, Host: "host" + id, Cores: 1, Shared: true,
				Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})),
			}, part.Address, part.Pass)
			if err != nil {
				fmt.Fprintf(log, "executor %s: %v\n", id, err)
			}
		})
	}
	word := ""
	if err := in.Decode(&word); err != nil { // all tasks have run
		return err
	}
	if err := out.Encode(refused.Load()); err != nil {
		return err
	}
	_ = in.Decode(&word) // the end of stdin
	return nil
}

// complaints is where an executor logs warnings. It is counted at the first: it
// tries again to register, or has lost the driver. Of a process's executors the
// first one's is shown.
type complaints struct {
	count *atomic.Int64
	once  sync.Once
}

func (c *complaints) Write(line []byte) (int, error) {
	c.once.Do(func() {
		if c.count.Add(1) == 1 {
			_, _ = os.Stderr.Write(line)
		}
	})
	return len(line), nil
}
