package dataset

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/codec"
	"github.com/bobbin-yarn/bobbin/internal/stage"
	"github.com/bobbin-yarn/bobbin/scheduler/pool"
	"github.com/bobbin-yarn/bobbin/shuffle"
	"github.com/bobbin-yarn/bobbin/storage"
)

// stageAttempt is one attempt of a stage. The driver runs each attempt as one task set.
type stageAttempt struct {
	engine      *engine
	number      uint64
	state       *stageState
	submission  *driver.Submission
	generations map[uint64][]uint64 // by shuffle: stage.Output.Generation of each map output that the tasks read

	began    time.Time
	times    []time.Duration // run times of the tasks that succeeded
	measured measurements    // sums over the tasks that succeeded
}

// start submits an attempt of a stage.
func (e *engine) start(run stage.Run) {
	a := &stageAttempt{engine: e, number: run.Attempt, state: e.stages[run.Stage], generations: map[uint64][]uint64{}, began: time.Now()}
	spec, err := a.taskSet(run)
	if err == nil {
		a.submission, err = e.app.Driver.Submit(spec, a)
	}
	if err != nil {
		e.act(e.graph.SetEnded(run.Attempt, err))
		return
	}
	e.attempts[a.number] = a
	if a.state.exchange == nil {
		a.state.job.resultStarted = true
	}
}

// taskSet returns the task set for an attempt.
func (a *stageAttempt) taskSet(run stage.Run) (driver.TaskSet, error) {
	e, s := a.engine, a.state
	exchange := s.exchange
	if exchange == nil {
		exchange = s.job.exchange
	}
	l := e.layout().needed(s.final, exchange)
	a.addOutputs(l)
	for _, n := range s.partlyComputed { // tasks would cache a piece as if it were a whole partition
		delete(l.Cached, n.ref())
	}
	input := stageInput{Attempt: int(a.number), Final: s.final.ref(), Plans: plansOf(s.final), Layout: *l, Kind: writeShuffle}
	if s.exchange == nil {
		j := s.job
		input.Kind, input.Limit, input.Output, input.OutputFormat = j.kind, j.limit, j.output, j.format
	}
	if x := exchange; x != nil {
		input.Reader, input.Exchange = x.node.ref(), x.index
		input.Plans = plansOf(x.node)
	}
	var err error
	if input.Broadcasts, err = broadcastsOf(l, s.final, exchange); err != nil {
		return driver.TaskSet{}, err
	}
	common, err := codec.Encode(input)
	if err != nil {
		return driver.TaskSet{}, err
	}
	key := make([]byte, 16, 16+len(common))
	_, _ = rand.Read(key) // never fails
	spec := driver.TaskSet{
		Name:            s.name(),
		Function:        taskFunction,
		Shared:          append(key, common...),
		MaxFailures:     e.app.MaxFailures,
		Job:             uint64(run.Priority.Job),
		Stage:           s.number,
		Priority:        pool.Priority{Job: uint64(run.Priority.Job), Stage: run.Priority.Stage},
		StageInJob:      s.place(e.jobs[run.Priority.Job]),
		KeepsAllResults: s.exchange == nil && s.job.kind == collectElements && s.job.onResult == nil,
		Indexes:         s.largestFirst(run.Tasks),
	}
	spec.FromContext(s.job.ctx)
	for _, task := range spec.Indexes {
		t, err := e.task(s, l, s.tasks[task])
		if err != nil {
			return driver.TaskSet{}, err
		}
		spec.Tasks = append(spec.Tasks, t)
	}
	return spec, nil
}

// largestFirst returns tasks in the order in which they are started. The tasks that read
// the most bytes are first, so that a long task does not start last and run alone.
func (s *stageState) largestFirst(tasks []int) []int {
	return slices.SortedStableFunc(slices.Values(tasks), func(a, b int) int { return cmp.Compare(s.tasks[b].bytes, s.tasks[a].bytes) })
}

// place returns the position of s among the stages of job j, for messages and the web
// pages.
func (s *stageState) place(j *job) *driver.StageInJob {
	return &driver.StageInJob{Job: uint64(j.id), Name: j.final.plan.definition, Number: slices.Index(j.stages, s.id) + 1, Of: len(j.stages)}
}

// name returns the name of the stage's task sets.
func (s *stageState) name() string {
	switch {
	case s.exchange != nil:
		return fmt.Sprintf("%s for %s", s.final, s.exchange.node)
	case s.job.kind == measureShuffle:
		return fmt.Sprintf("%s, measured", s.final)
	case s.job.kind == sampleKeys:
		return fmt.Sprintf("%s, sampled for %s", s.final, s.job.exchange.node)
	}
	return s.final.String()
}

// addOutputs adds to l the map outputs that the stage's tasks read. It records their
// generations in a.generations, to which later fetch failures refer.
func (a *stageAttempt) addOutputs(l *layout) {
	l.Outputs = map[uint64][]shuffle.Output{}
	l.within(a.state.final, func(n *node) {
		for _, x := range n.shuffles {
			id := x.id()
			l.Outputs[id] = a.engine.stages[stage.StageID{Shuffle: stage.ShuffleID(id)}].outputs
			located, _, _ := a.engine.graph.Outputs(stage.ShuffleID(id))
			generations := make([]uint64, len(located))
			for i, output := range located {
				generations[i] = output.Generation
			}
			a.generations[id] = generations
		}
	})
}

// task returns the task of stage s for one assignment.
func (e *engine) task(s *stageState, l *layout, assigned assignment) (driver.Task, error) {
	partitions := assigned.span
	input := taskInput{Partitions: partitions, Piece: assigned.piece}
	var splits []storage.Split
	for partition := partitions.First; partition < partitions.End; partition++ {
		l.walk(s.final, partition, func(n *node, own int) {
			e.addCached(&input, cachedBlock{Node: n.ref(), Partition: own})
			if n.source == nil {
				return
			}
			found := e.splits(n, own)
			if s.exchange == nil && s.job.kind == sampleKeys && !n.source.whole {
				found = sampled(found)
			}
			splits = append(splits, found...)
			input.Sources = append(input.Sources, sourceInput{Node: n.ref(), Partition: own, Splits: found})
		})
	}
	hosts := hostsOf(splits)
	if len(hosts) == 0 {
		hosts = e.hostsWithOutputs(s.final, l, partitions)
	}
	encoded, err := codec.Encode(input)
	return driver.Task{Input: encoded, Hosts: hosts, Executors: executorsOf(input.Cached)}, err
}

// splits returns the splits of a partition of a source.
func (e *engine) splits(n *node, partition int) []storage.Split {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sources[n.ref()][partition]
}

// addCached adds to a task's input the executors that store a cached partition.
func (e *engine) addCached(input *taskInput, id cachedBlock) {
	for executor := range e.cached[id] {
		if x := e.executors[executor]; x != nil && !x.lost {
			input.Cached = append(input.Cached, cachedLocation{Block: id, Executor: executor, Address: x.DataAddress})
		}
	}
}

// addStored records that an executor stores a cached partition. If Uncache was called for
// the data set in the meantime, addStored makes executors remove its partitions instead.
func (e *engine) addStored(b cachedBlock, executor string) {
	if !e.isCached(b.Node) {
		e.session.Release(cacheKey(b.Node))
		return
	}
	if e.cached[b] == nil {
		e.cached[b] = map[string]bool{}
	}
	e.cached[b][executor] = true
	e.replication.update(b)
}

// executorsOf returns the IDs of the executors that store at least one of the cached
// partitions, sorted and without duplicates.
func executorsOf(cached []cachedLocation) []string {
	var ids []string
	for _, location := range cached {
		ids = append(ids, location.Executor)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// plansOf returns the plan of a node and all plans whose data sets it uses, directly or
// indirectly. A plan comes after its parents.
func plansOf(n *node) []planInput {
	needed := map[uint64]*Plan{}
	var add func(p *Plan)
	add = func(p *Plan) {
		if p == nil || needed[p.id] != nil {
			return
		}
		needed[p.id] = p
		for _, parent := range p.parents {
			add(plans.get(parent))
		}
	}
	add(n.plan)
	inputs := make([]planInput, 0, len(needed))
	for _, id := range slices.Sorted(maps.Keys(needed)) { // a plan's parents have smaller ids
		p := needed[id]
		inputs = append(inputs, planInput{ID: id, Definition: p.definition, Arguments: p.arguments, Fingerprint: p.fingerprint()})
	}
	return inputs
}

// TaskDone implements driver.Listener.
func (a *stageAttempt) TaskDone(result driver.Result) {
	a.engine.post(func() { a.taskDone(result) })
}

// TaskFailed implements driver.Listener.
func (a *stageAttempt) TaskFailed(driver.TaskFailure) {}

// Ended implements driver.Listener.
func (a *stageAttempt) Ended(err error) {
	a.engine.post(func() {
		delete(a.engine.attempts, a.number)
		a.summarize()
		ended := func() { a.engine.act(a.engine.graph.SetEnded(a.number, err)) }
		if a.engine.losses.pending() {
			a.engine.afterLosses(unreachableDelay, ended) // after the fetch failures of this attempt are reported
		} else {
			ended()
		}
	})
}

func (a *stageAttempt) taskDone(result driver.Result) {
	e, s := a.engine, a.state
	output, err := codec.Decode[taskOutput](result.Value)
	if err != nil {
		a.submission.Cancel(fmt.Errorf("result of task %d: %w", result.Index, err))
		return
	}
	e.addCacheSizes(result.ExecutorID, output.CacheSizes)
	for _, b := range output.Cached {
		e.addStored(b, result.ExecutorID)
	}
	e.replication.start()
	if f := output.FetchFailure; f != nil {
		failure := stage.FetchFailure{Shuffle: stage.ShuffleID(f.Shuffle), Map: int(f.Map), ExecutorGone: f.Gone}
		if generations := a.generations[f.Shuffle]; f.Map < uint64(len(generations)) {
			failure.Generation = generations[f.Map]
		}
		delay := lossDelay
		if x := e.executors[f.Unreachable]; x != nil && x.usable() {
			delay = unreachableDelay
			e.unreachable(x, unreachableReport{to: result.ExecutorID, attempt: a.number})
		}
		e.afterLosses(delay, func() { e.act(e.graph.FetchFailed(a.number, result.Index, failure)) })
		return
	}
	a.times = append(a.times, result.RunTime)
	a.measured.add(&output.Measured)
	a.recordTask(result.Index, &output.Measured)
	var located stage.Output
	if s.exchange != nil {
		located = stage.Output{Host: result.Host, Checksum: output.Output.Checksum}
		if x := e.executors[result.ExecutorID]; x != nil {
			located.Executor = x.graphID()
		}
		if output.Output.Node != "" {
			located.Executor = serviceGraphID(output.Output.Node)
		}
	}
	counts, actions := e.graph.TaskDone(a.number, result.Index, located)
	if counts && !s.countersAdded[result.Index] {
		s.countersAdded[result.Index] = true
		if s.exchange != nil || s.job.kind != sampleKeys { // later tasks compute the sampled partitions again, and their counters are added
			e.app.Driver.AddCounters(output.Counters)
		}
	}
	switch {
	case !counts:
	case s.exchange != nil:
		if earlier := &s.outputs[result.Index]; earlier.MapID.Shuffle != 0 && earlier.Checksum != output.Output.Checksum {
			defer e.failJobs(e.savingJobs(s), s, result.Index)
		}
		s.outputs[result.Index], s.sizes = *output.Output, nil
	case s.job.onResult != nil:
		size := len(result.Value) // the function must not refer to the value
		s.job.onResult(output, func() { a.submission.Release(size) })
		e.act(actions)
		return
	default:
		s.job.outputs[result.Index] = output
	}
	a.submission.Release(len(result.Value))
	e.act(actions)
}

// savingJobs returns the jobs that have started to save elements that are computed from the
// shuffle that stage s writes.
func (e *engine) savingJobs(s *stageState) (jobs []*job) {
	for _, j := range e.jobs {
		if j.output != nil && j.resultStarted && e.layout().reads(j.final, s.exchange) {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// failJobs fails the jobs that savingJobs returned, because a map task of stage s ran again
// and its new output differs from the lost one. These jobs may have committed files that
// were computed from the lost output. If they continued, the other files would be computed
// from the new output.
func (e *engine) failJobs(jobs []*job, s *stageState, task int) {
	for _, j := range jobs {
		e.act(e.graph.Cancel(j.id, fmt.Errorf("%s is not deterministic: its task %d ran again, as its output was lost, and has other output than before, "+
			"which parts of %s may have been computed from", s.name(), task, j.output.Path)))
	}
}

// reads reports whether a node is computed from shuffle x, directly or through other
// shuffles.
func (l *layout) reads(final *node, x *exchange) (found bool) {
	l.within(final, func(n *node) {
		for _, read := range n.shuffles {
			found = found || read == x || l.reads(read.input, x)
		}
	})
	return found
}

var _ driver.Listener = (*stageAttempt)(nil)
