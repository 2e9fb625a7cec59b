package client

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
)

// DecommissioningWorker is a worker that is being decommissioned: it accepts no new executors
// or drivers, and stops when the running ones have ended.
type DecommissioningWorker struct {
	cluster.WorkerStatus
	// AlreadyDecommissioning reports whether the decommissioning of the worker had begun
	// before this request.
	AlreadyDecommissioning bool `json:"earlier"`
}

func (d *DecommissioningWorker) hasEnded() bool { return d.State == cluster.WorkerDead }

func (d *DecommissioningWorker) String() string {
	switch name := d.ID + " on " + d.Host; {
	case d.hasEnded():
		return name + " has ended: " + d.Reason
	case d.AlreadyDecommissioning:
		return name + " was being decommissioned already, " + d.remaining()
	default:
		return name + " is being decommissioned, " + d.remaining()
	}
}

func (d *DecommissioningWorker) remaining() string {
	return fmt.Sprintf("with executors: %d, drivers: %d", d.Executors, d.Drivers)
}

// Workers returns the workers that are not dead.
func (s *Cluster) Workers(ctx context.Context) ([]cluster.WorkerStatus, error) {
	state, err := s.status(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(state.Workers, func(w cluster.WorkerStatus) bool { return w.State == cluster.WorkerDead }), nil
}

// Decommission decommissions workers. names has their ids or hosts. Decommission waits until
// the master has recorded the request, and returns the workers' states. If a name is unknown,
// Decommission fails, and decommissions no worker.
func (s *Cluster) Decommission(ctx context.Context, names []string) ([]DecommissioningWorker, error) {
	workers, err := s.Workers(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !slices.ContainsFunc(workers, func(w cluster.WorkerStatus) bool { return isNamed(w, name) }) {
			return nil, client.RefusedError(unknownWorker(name, workers))
		}
	}
	var decommissioned []DecommissioningWorker
	var ids []string
	for _, w := range workers {
		if slices.ContainsFunc(names, func(name string) bool { return isNamed(w, name) }) {
			decommissioned = append(decommissioned, DecommissioningWorker{WorkerStatus: w, AlreadyDecommissioning: w.State == cluster.WorkerDecommissioning})
			ids = append(ids, w.ID)
		}
	}
	if err := s.masters.Decommission(ctx, ids); err != nil {
		return nil, refusedError(ctx, err)
	}
	return decommissioned, s.refresh(ctx, decommissioned)
}

func isNamed(w cluster.WorkerStatus, name string) bool { return w.ID == name || w.Host == name }

func unknownWorker(name string, workers []cluster.WorkerStatus) error {
	const most = 20
	var known []string
	for _, w := range workers[:min(most, len(workers))] {
		known = append(known, w.ID)
	}
	switch {
	case len(known) == 0:
		return fmt.Errorf("%q is no worker of the cluster, which has none", name)
	case len(workers) > most:
		known = append(known, fmt.Sprintf("and %d more", len(workers)-most))
	}
	return fmt.Errorf("%q is neither the id nor the host of a worker that is alive: the cluster has %s", name, strings.Join(known, ", "))
}

func (s *Cluster) refresh(ctx context.Context, workers []DecommissioningWorker) error {
	state, err := s.status(ctx)
	if err != nil {
		return err
	}
	for i := range workers {
		w := &workers[i]
		index := slices.IndexFunc(state.Workers, func(now cluster.WorkerStatus) bool { return now.ID == w.ID })
		if index < 0 {
			w.State, w.Reason, w.Executors, w.Drivers = cluster.WorkerDead, "the master does not know it any more", 0, 0
			continue
		}
		w.WorkerStatus = state.Workers[index]
	}
	return nil
}

// AwaitDecommissioned waits until the workers have stopped, and updates their states. If ctx
// ends first, it fails, but the decommissioning continues.
func (s *Cluster) AwaitDecommissioned(ctx context.Context, workers []DecommissioningWorker, console *client.Console) error {
	defer console.SetLive("")
	for pause := firstInterval; ; pause = min(pause*3/2, time.Second) {
		if err := s.refresh(ctx, workers); err != nil && ctx.Err() == nil {
			return err
		}
		var running []string
		for i := range workers {
			if !workers[i].hasEnded() {
				running = append(running, workers[i].ID+" "+workers[i].remaining())
			}
		}
		if len(running) == 0 {
			return nil
		}
		console.SetLive("waiting for " + strings.Join(running, "; "))
		select {
		case <-ctx.Done():
			return client.FailedError(fmt.Errorf("%w; the decommissioning goes on", context.Cause(ctx)))
		case <-time.After(pause):
		}
	}
}
