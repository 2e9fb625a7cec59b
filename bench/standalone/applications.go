package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/standalone/application"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// executorMemory is what an executor takes, in bytes. Workers have as much for
// each of their cores.
const executorMemory = 1 << 30

// applications are drivers that ask for executors and have no work for them.
type applications struct {
	all    []*application.Application
	wanted int           // executors, of all applications together
	ready  chan struct{} // closed when all executors were launched

	mu    sync.Mutex
	byID  map[string]*application.Application
	early map[string][]string // executors that were launched before Start has returned
	count int
	lost  error
}

// ExecutorLost makes the measurement fail: nothing ends an executor here.
func (a *applications) ExecutorLost(id string, loss driver.Loss) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost = errors.Join(a.lost, fmt.Errorf("executor %s was lost: %s", id, loss.Text))
}

// Decommission does nothing: no worker goes.
func (a *applications) Decommission([]string, driver.Notice) {}

// start registers applications that want so many executors, all at once. Their
// program is a file in the directory.
func (a *applications) start(ctx context.Context, count, executors int, directory, address string, dial []grpc.DialOption) error {
	a.wanted, a.ready = executors, make(chan struct{})
	a.byID, a.early = map[string]*application.Application{}, map[string][]string{}
	program := filepath.Join(directory, "program")
	if err := os.WriteFile(program, []byte("#!/bin/true\n"), 0o700); err != nil {
		return err
	}
	files, err := application.ReadFiles([]application.LocalFile{{Path: program, Name: "program", Executable: true}})
	if err != nil {
		return err
	}
	problems := make(chan error, count)
	var starting sync.WaitGroup
	for i := range count {
		share := (executors + i) / count // adds up to all of them
		starting.Go(func() {
			problems <- a.register(ctx, i, share, files, address, dial)
		})
	}
	starting.Wait()
	close(problems)
	for problem := range problems {
		err = errors.Join(err, problem)
	}
	return err
}

func (a *applications) register(ctx context.Context, number, executors int, files *application.Files, address string, dial []grpc.DialOption) error {
	id := fmt.Sprintf("%s-%d", application.NewID(time.Now()), number)
	started, err := application.Start(ctx, application.Options{
		ID: id, Masters: []string{address}, Dial: dial, Files: files, Driver: a,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Description: &protocol.ApplicationDescription{
			Name: fmt.Sprintf("application %d", number), User: "bench", Submitted: time.Now().UnixNano(),
			Command: &protocol.ExecutorCommand{Driver: "127.0.0.1:1", Pass: make([]byte, 600), User: "bench"},
		},
	})
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.all = append(a.all, started)
	a.byID[id] = started
	early := a.early[id]
	a.mu.Unlock()
	for _, executor := range early {
		started.ExecutorRegistered(executor)
	}
	of := profile.Default(config.Default())
	of.Cores, of.Memory, of.Overhead = 1, executorMemory, 0
	started.RequestExecutors(driver.Request{Demands: []driver.Demand{{Profile: of, Total: executors}}})
	return nil
}

// launched has an executor register with its driver at once.
func (a *applications) launched(l launched) {
	executor := fmt.Sprint(l.executor)
	a.mu.Lock()
	started := a.byID[l.application]
	if started == nil {
		a.early[l.application] = append(a.early[l.application], executor)
	}
	if a.count++; a.count == a.wanted {
		close(a.ready)
	}
	a.mu.Unlock()
	if started != nil {
		started.ExecutorRegistered(executor)
	}
}

// problem is an executor that was lost, an application that ended, or another
// number of executors than was wanted.
func (a *applications) problem() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.all {
		if err := one.Err(); err != nil {
			return errors.Join(a.lost, err)
		}
	}
	if a.count != a.wanted {
		return errors.Join(a.lost, fmt.Errorf("%d executors were launched, and %d were wanted", a.count, a.wanted))
	}
	return a.lost
}

// finish ends all of them.
func (a *applications) finish(ctx context.Context) error {
	var err error
	for _, one := range a.all {
		err = errors.Join(err, one.Finish(ctx, nil))
		one.Close()
	}
	return err
}
