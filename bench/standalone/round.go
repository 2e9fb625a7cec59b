package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// workerTimeout is the master's worker.timeout: shorter than by default, so
	// that there are heartbeats enough to measure.
	workerTimeout = 4 * time.Second
	// patience is how long anything may take, well beyond what is wanted, so that
	// there is a figure in any case.
	patience = 2 * time.Minute
	// settling is between the last launch and the first heartbeat that counts.
	settling = 2 * time.Second
)

// round is one master with its workers and applications.
type round struct {
	workers, cores, applications int
	quiet                        time.Duration
	program                      string
}

// outcome is what a round measured.
type outcome struct {
	attaching       time.Duration // of all workers, which begin at once
	scheduling      time.Duration // from the applications' start to the last executor's launch
	executors       int
	heartbeats      int64
	heartbeatMicros float64 // of the master's CPU, user and system
	residentMB      float64 // the most at any time, in units of 1,000,000 bytes
}

func (r round) run(ctx context.Context) (result outcome, err error) {
	directory, err := os.MkdirTemp("", "bobbin-bench-")
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	master, err := startMaster(ctx, r.program, directory)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, master.end()) }()

	ctx, cancel := context.WithTimeoutCause(ctx, patience+r.quiet, fmt.Errorf("it took longer than %v", patience))
	defer cancel()
	drivers := &applications{}
	var heartbeats atomic.Int64
	began := time.Now()
	stop, err := r.startWorkers(ctx, master, &heartbeats, drivers.launched)
	defer func() {
		if broken := stop(); err == nil {
			err = broken
		}
	}()
	if err != nil {
		return result, err
	}
	result.attaching = time.Since(began)

	result.executors = r.workers * r.cores
	began = time.Now()
	if err := drivers.start(ctx, r.applications, result.executors, directory, master.address, master.credentials.DialOptions()); err != nil {
		return result, err
	}
	select {
	case <-drivers.ready:
	case <-ctx.Done():
		return result, errors.Join(context.Cause(ctx), drivers.problem())
	}
	result.scheduling = time.Since(began)
	if err := pause(ctx, settling); err != nil {
		return result, err
	}
	if err := r.measureHeartbeats(ctx, master, &heartbeats, &result); err != nil {
		return result, err
	}
	if result.residentMB, err = master.mostResident(); err != nil {
		return result, err
	}
	return result, errors.Join(drivers.problem(), drivers.finish(ctx))
}

// measureHeartbeats sees what the master takes while workers only say that they
// are there.
func (r round) measureHeartbeats(ctx context.Context, master *master, heartbeats *atomic.Int64, result *outcome) error {
	before, err := master.cpu()
	if err != nil {
		return err
	}
	counted := heartbeats.Load()
	if err := pause(ctx, r.quiet); err != nil {
		return err
	}
	after, err := master.cpu()
	if err != nil {
		return err
	}
	if result.heartbeats = heartbeats.Load() - counted; result.heartbeats == 0 {
		return fmt.Errorf("there was no heartbeat in %v", r.quiet)
	}
	result.heartbeatMicros = float64((after - before).Nanoseconds()) / 1e3 / float64(result.heartbeats)
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// startWorkers attaches all workers at once and returns when the last one is
// welcome. The function that it returns ends them.
func (r round) startWorkers(ctx context.Context, master *master, heartbeats *atomic.Int64, launched func(launched)) (stop func() error, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	attached := make(chan struct{}, r.workers)
	stopped := errors.New("stopped")
	stop = func() error {
		cancel(stopped)
		running.Wait()
		if why := context.Cause(ctx); !errors.Is(why, stopped) {
			return why
		}
		return nil
	}
	for i := range r.workers {
		w := &worker{number: i, cores: r.cores, heartbeats: heartbeats, launched: launched}
		running.Go(func() {
			err := w.run(ctx, master.address, master.credentials.DialOptions(), func() { attached <- struct{}{} })
			cancel(fmt.Errorf("worker %d: %w", w.number, err)) // nothing where it was told to end
		})
	}
	for range r.workers {
		select {
		case <-attached:
		case <-ctx.Done():
			return stop, context.Cause(ctx)
		}
	}
	return stop, nil
}
