package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/codec"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/internal/stage"
	"github.com/bobbin-yarn/bobbin/scheduler/pool"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// handover moves the map outputs and cached partitions of an executor that is being
// decommissioned to other executors. It runs a task set, whose tasks copy the data to the
// executors on which they run.
type handover struct {
	engine      *engine
	from        *executor
	nodeLeaves  bool                               // outputs in the shuffle service of the node move too
	relocations map[shuffle.MapID]stage.Relocation // the outputs to move; the executors that receive them are not set
	began       time.Time
	submission  *driver.Submission // nil before the task set is submitted
	outputs     int                // number of outputs that were moved
	bytes       int64              // size of the outputs that were moved
	partitions  int                // number of cached partitions that were moved
	ended       chan struct{}      // closed when the hand-over has ended
}

// errHandoverImpossible is the cause with which a hand-over is cancelled if no executor can
// receive the data, or if the decommissioned executor is lost.
var errHandoverImpossible = errors.New("no executor can take over the data, or the executor that has it is lost")

// ExecutorDecommissioned implements driver.ExecutorListener.
func (e *engine) ExecutorDecommissioned(info driver.ExecutorInfo) bool {
	e.post(func() {
		if x := e.executors[info.ID]; x != nil {
			x.decommissioned = true
			e.cancelImpossible()
		}
	})
	e.handoverWaiters.Go(func() { e.handOver(info) })
	return true
}

// handOver moves what an executor stores to other executors, and then lets the executor
// exit. After executor.handoverTimeout it stops moving and lets the executor exit.
func (e *engine) handOver(info driver.ExecutorInfo) {
	e.startLoop()
	defer e.stopLoop()
	h := &handover{engine: e, nodeLeaves: info.NodeLeaves, relocations: map[shuffle.MapID]stage.Relocation{}, began: time.Now(), ended: make(chan struct{})}
	e.post(func() { h.start(info.ID) })
	timeout := config.HandoverTimeout.In(e.app.Settings)
	ctx, cancel := context.WithTimeoutCause(e.session.Context(), timeout, fmt.Errorf("it took longer than %s (%v)", config.HandoverTimeout.Name(), timeout))
	defer cancel()
	select {
	case <-h.ended:
	case <-ctx.Done():
		e.post(func() { h.cancel(context.Cause(ctx)) })
		<-h.ended
	}
	e.app.Driver.EndHandover(info.ID, e)
}

// canAdopt reports whether any executor can receive data of a decommissioned executor.
func (e *engine) canAdopt() bool {
	for _, x := range e.executors {
		if x.usable() && x.Profile == profile.DefaultID {
			return true
		}
	}
	return false
}

// cancelImpossible cancels the hand-overs that cannot succeed, because the decommissioned
// executor is lost or no other executor can receive data.
func (e *engine) cancelImpossible() {
	impossible := !e.canAdopt()
	for h := range e.handovers {
		if impossible || h.from.lost {
			h.cancel(errHandoverImpossible)
		}
	}
}

// start submits the task set. The hand-over ends at once if there is nothing to move, if no
// executor can receive the data, or if the decommissioned executor does not answer.
func (h *handover) start(id string) {
	e := h.engine
	h.from = e.executors[id]
	if h.from == nil || h.from.lost || h.from.unreachable() || !e.canAdopt() {
		close(h.ended)
		return
	}
	spec, err := h.taskSet()
	if err == nil && len(spec.Tasks) > 0 {
		h.submission, err = e.app.Driver.Submit(spec, h)
	}
	if err != nil {
		e.app.Logger.Warn("an executor's data cannot be moved", "executor", id, "error", err)
	}
	if h.submission == nil {
		close(h.ended)
		return
	}
	e.handovers[h] = struct{}{}
}

func (h *handover) cancel(cause error) {
	if h.submission != nil {
		h.submission.Cancel(cause)
	}
}

// taskSet returns the task set that moves all data of the executor. It has priority over
// the task sets of jobs, because the executor cannot exit before the task set ends.
func (h *handover) taskSet() (driver.TaskSet, error) {
	spec := driver.TaskSet{
		Name: fmt.Sprintf("data of executor %s, which leaves", h.from.ID), Function: adoptFunction,
		MaxFailures: h.engine.app.MaxFailures, Priority: pool.Priority{Job: 1}, CPUs: 1, Resources: map[string]float64{},
	}
	add := func(input adoptInput) error {
		encoded, err := codec.Encode(input)
		spec.Tasks = append(spec.Tasks, driver.Task{Input: encoded})
		return err
	}
	outputs := h.findOutputs()
	sizes := make([]int64, len(outputs))
	var total int64
	for i := range outputs {
		sizes[i] = outputs[i].Bytes
		total += outputs[i].Bytes
	}
	for _, s := range coalesceSpans(span{End: len(outputs)}, sizes, h.engine.taskBytes(total)) {
		if err := add(adoptInput{Outputs: outputs[s.First:s.End]}); err != nil {
			return spec, err
		}
	}
	for _, c := range h.findCached() {
		if err := add(adoptInput{Cached: []cachedCopy{c}}); err != nil {
			return spec, err
		}
	}
	return spec, nil
}

// findOutputs returns the map outputs to move. Outputs in the shuffle service of the
// executor's node are moved only if the node is decommissioned too.
func (h *handover) findOutputs() (outputs []shuffle.Output) {
	for id, s := range h.engine.stages {
		if s.exchange == nil {
			continue
		}
		located, _, _ := h.engine.graph.Outputs(id.Shuffle)
		for i, l := range located {
			own := l.Executor == h.from.graphID()
			if o := &s.outputs[i]; h.nodeLeaves && o.Node != "" {
				own = o.ExecutorID == h.from.ID && l.Executor == serviceGraphID(o.Node)
			}
			if own {
				outputs = append(outputs, s.outputs[i])
				h.relocations[s.outputs[i].MapID] = stage.Relocation{Shuffle: id.Shuffle, Map: i, Attempt: l.Attempt, From: l.Executor}
			}
		}
	}
	slices.SortFunc(outputs, func(a, b shuffle.Output) int {
		return cmp.Or(cmp.Compare(a.MapID.Shuffle, b.MapID.Shuffle), cmp.Compare(a.MapID.Map, b.MapID.Map))
	})
	return outputs
}

// findCached returns the executor's cached partitions that no other usable executor stores.
func (h *handover) findCached() (copies []cachedCopy) {
	e := h.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	for b, executors := range e.cached {
		level, wanted := e.levels[b.Node]
		if !wanted || !executors[h.from.ID] {
			continue
		}
		if len(e.executorsStoring(b)) == 0 {
			copies = append(copies, cachedCopy{Block: b, Level: level, Address: h.from.DataAddress})
		}
	}
	slices.SortFunc(copies, func(a, b cachedCopy) int {
		return cmp.Or(cmp.Compare(a.Block.Node.Plan, b.Block.Node.Plan), cmp.Compare(a.Block.Node.Node, b.Block.Node.Node),
			cmp.Compare(a.Block.Partition, b.Block.Partition))
	})
	return copies
}

// TaskDone implements driver.Listener.
func (h *handover) TaskDone(result driver.Result) {
	h.engine.post(func() { h.taskDone(result) })
}

// TaskFailed implements driver.Listener.
func (h *handover) TaskFailed(driver.TaskFailure) {}

// Ended implements driver.Listener.
func (h *handover) Ended(err error) {
	h.engine.post(func() {
		delete(h.engine.handovers, h)
		attributes := []any{"executor", h.from.ID, "mapOutputs", h.outputs, "of", len(h.relocations), "size", size(h.bytes),
			"cachedPartitions", h.partitions, "took", time.Since(h.began).Round(time.Millisecond)}
		if err != nil {
			attributes = append(attributes, "error", err)
		}
		h.engine.app.Logger.Info("data of an executor that leaves was moved", attributes...)
		close(h.ended)
	})
}

// taskDone records the new location of the data that a task has copied.
func (h *handover) taskDone(result driver.Result) {
	e := h.engine
	h.submission.Release(len(result.Value))
	output, err := codec.Decode[adoptOutput](result.Value)
	if err != nil {
		h.cancel(err)
		return
	}
	to := e.executors[result.ExecutorID] // never nil: an executor registers before it runs a task
	if output.Problem != "" {
		e.app.Logger.Warn("some of an executor's data cannot be moved", "executor", h.from.ID, "to", result.ExecutorID, "error", output.Problem)
	}
	for _, adopted := range output.Outputs {
		r := h.relocations[adopted.MapID]
		s := e.stages[stage.StageID{Shuffle: r.Shuffle}]
		if s == nil { // the shuffle was released, so the new executor must remove its copy
			e.session.Release(shuffle.HoldKey(adopted.MapID.Shuffle))
			continue
		}
		r.Executor, r.Host = to.graphID(), to.Host
		counts, actions := e.graph.Relocated(r)
		if counts {
			s.outputs[r.Map], s.sizes = adopted, nil
			h.outputs++
			h.bytes += adopted.Bytes
		}
		e.act(actions)
	}
	e.addCacheSizes(to.ID, output.CacheSizes)
	for _, b := range output.Cached {
		delete(e.cached[b], h.from.ID)
		e.addStored(b, to.ID)
		h.partitions++
	}
}

var _ driver.Listener = (*handover)(nil)
