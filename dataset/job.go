package dataset

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/stage"
	"github.com/bobbin-yarn/bobbin/storage"
)

// job is one call of an action, or a job that the driver runs to measure or sample data.
type job struct {
	final              *node
	kind               taskKind
	exchange           *exchange // sampleKeys: the shuffle whose keys are sampled
	limit              int64
	output             *storage.Output
	format             outputFormat
	partitions         *span // the partitions to compute; nil for all
	partitionsToSample []int // sampleKeys: the partitions to compute, if not nil
	measured           int64 // measureShuffle: the result, bytes of the records in the shuffle

	ctx           context.Context
	id            stage.JobID
	stages        []stage.StageID // parents first
	outputs       []taskOutput    // by task
	err           error
	resultStarted bool // tasks of the result stage have been submitted
	// onResult, if not nil, is called by the engine's loop with the result of each task of
	// the result stage. These results are not stored in outputs. release must be called when
	// the result is no longer needed.
	onResult func(result taskOutput, release func())
	done     chan struct{} // closed when the job has ended
}

// run runs a job and returns the number of partitions of its data set.
func (e *engine) run(ctx context.Context, j *job) (partitions int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(e.session.Context(), func() { cancel(context.Cause(e.session.Context())) })()
	e.startLoop()
	defer e.stopLoop()
	defer e.app.HideProgress()
	if err := e.prepare(ctx, j.final); err != nil {
		return 0, err
	}
	if err := e.runPrepared(ctx, j); err != nil {
		return 0, fmt.Errorf("%s: %w", j.final, err)
	}
	e.awaitCopies(ctx)
	return e.layout().count(j.final), nil
}

// runPrepared runs a job. The caller must have called prepare for the job's data set.
func (e *engine) runPrepared(ctx context.Context, j *job) error {
	j.ctx, j.done = ctx, make(chan struct{})
	j.id = stage.JobID(e.app.Driver.NewID())
	e.post(func() { e.submit(j) })
	select {
	case <-j.done:
	case <-ctx.Done():
		e.post(func() { e.act(e.graph.Cancel(j.id, context.Cause(ctx))) })
		<-j.done
	}
	return j.err
}

// submit adds the stages of a job to the graph.
func (e *engine) submit(j *job) {
	e.reportLosses() // so that lost outputs are computed before tasks try to fetch them
	e.jobs[j.id] = j
	result := &stageState{id: stage.StageID{Job: j.id}, number: e.app.Driver.NewID(), final: j.final, job: j}
	e.stages[result.id] = result
	specs := map[stage.ShuffleID]stage.ShuffleSpec{}
	reads := e.addShuffles(j, e.layout(), j.final, specs)
	j.stages = append(j.stages, result.id)
	e.recordJobStart(j, result)
	actions, err := e.graph.Submit(j.id, reads, slices.Collect(maps.Values(specs)))
	if err != nil {
		e.endJob(j.id, err)
		return
	}
	e.act(actions)
}

// addShuffles adds all shuffles from which a node is computed, directly or indirectly, to
// specs. It returns the shuffles that the node's own stage reads.
func (e *engine) addShuffles(j *job, l *layout, final *node, specs map[stage.ShuffleID]stage.ShuffleSpec) (reads []stage.ShuffleID) {
	l.within(final, func(n *node) {
		for _, x := range n.shuffles {
			id := stage.ShuffleID(x.id())
			reads = append(reads, id)
			if _, added := specs[id]; added {
				continue
			}
			if s := (stage.StageID{Shuffle: id}); e.stages[s] == nil {
				e.stages[s] = &stageState{id: s, number: e.app.Driver.NewID(), final: x.input, exchange: x, job: j}
			}
			specs[id] = stage.ShuffleSpec{}
			specs[id] = stage.ShuffleSpec{ID: id, Reads: e.addShuffles(j, l, x.input, specs), Determinate: true}
			j.stages = append(j.stages, stage.StageID{Shuffle: id})
		}
	})
	return reads
}

// layout returns the driver's decisions about partitions so far.
func (e *engine) layout() *layout {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := &layout{
		Partitions: config.ShufflePartitions.In(e.app.Settings),
		Sources:    make(map[ref]int, len(e.sources)),
		Bounds:     maps.Clone(e.bounds),
		Offsets:    maps.Clone(e.offsets),
		Cached:     maps.Clone(e.levels),
		Joins:      make(map[ref]int, len(e.joins)),
	}
	for r, partitions := range e.sources {
		l.Sources[r] = len(partitions)
	}
	for r, join := range e.joins {
		l.Joins[r] = join.input
	}
	return l
}
