package stage_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/stage"
)

// cluster simulates executors that run the tasks of a graph's attempts. Each task computes real
// output from the blocks that it fetches from executors. Each step is chosen at random. Reports
// reach the graph after a random time, not necessarily in the order in which they were sent.
type cluster struct {
	*rand.Rand
	*stage.Graph
	data      dataFlow
	executors []*store // executors that have not been lost
	started   int      // number of executors started so far
	sets      []*taskSet
	running   []*runningTask
	inbox     []func() []stage.Action
	jobs      map[stage.JobID]*runningJob
	failed    []stage.JobFailed
	counts    map[string]int // numbers of events by kind, such as "fetch failures"
	err       error          // an error of the graph or of this simulation; nil if there was none
}

type store struct {
	id, host string
	alive    bool
	blocks   map[blockID]*block
}

type blockID struct {
	shuffle stage.ShuffleID
	task    int
	attempt uint64
}

// block is the output of a map task, or the result of a result task.
type block struct {
	sums     [partitions]map[uint64]uint64 // sums of numbers, by key
	versions versions
	damaged  bool
}

// sorted returns the IDs of the store's blocks in a fixed order.
func (s *store) sorted() []blockID {
	return slices.SortedFunc(maps.Keys(s.blocks), func(a, b blockID) int {
		return cmp.Or(cmp.Compare(a.shuffle, b.shuffle), cmp.Compare(a.task, b.task), cmp.Compare(a.attempt, b.attempt))
	})
}

type taskSet struct {
	run      stage.Run
	waiting  []int
	running  int
	drained  bool
	over     bool
	reported map[int]bool
}

type runningTask struct {
	set     *taskSet
	task    int
	on      *store
	inputs  []input
	fetched map[stage.ShuffleID][]*block
}

// input is a map output that a task must fetch, with its location at the start of the task.
type input struct {
	shuffle stage.ShuffleID
	task    int
	output  stage.Output
}

type runningJob struct {
	id      stage.JobID
	reads   []stage.ShuffleID
	results map[int]*block // by result task; nil for a task that has not ended
}

func newCluster(seed uint64, data dataFlow) *cluster {
	c := &cluster{
		Rand: rand.New(rand.NewPCG(seed, 17)), Graph: stage.New(stage.Config{MaxFetchFailures: 1000}), data: data,
		jobs: map[stage.JobID]*runningJob{}, counts: map[string]int{},
	}
	for range 4 {
		c.addExecutor()
	}
	return c
}

func (c *cluster) addExecutor() {
	c.started++
	c.executors = append(c.executors, &store{
		id: fmt.Sprint("e", c.started), host: fmt.Sprint("h", c.started%3), alive: true, blocks: map[blockID]*block{},
	})
}

func pick[T any](c *cluster, list []T) T { return list[c.IntN(len(list))] }

// later delivers an event to the graph after a random time.
func (c *cluster) later(event func() []stage.Action) { c.inbox = append(c.inbox, event) }

func (c *cluster) submit(id stage.JobID, reads []stage.ShuffleID) {
	c.jobs[id] = &runningJob{id: id, reads: reads, results: map[int]*block{}}
	actions, err := c.Submit(id, reads, slices.Collect(maps.Values(c.data.specs)))
	if err != nil {
		c.err = err
	}
	c.act(actions)
}

func (c *cluster) act(actions []stage.Action) {
	for _, action := range actions {
		switch a := action.(type) {
		case stage.Plan:
			tasks := c.data.tasks(a.Stage)
			c.later(func() []stage.Action { return c.Planned(a.Stage, tasks) })
		case stage.Run:
			c.sets = append(c.sets, &taskSet{run: a, waiting: slices.Clone(a.Tasks), reported: map[int]bool{}})
		case stage.Drain:
			set := c.set(a.Attempt)
			set.drained = true
			c.endSet(set)
		case stage.Abort:
			set := c.set(a.Attempt)
			set.waiting, set.over = nil, true
			if c.IntN(2) == 0 { // otherwise the tasks continue to run for some time
				c.running = slices.DeleteFunc(c.running, func(t *runningTask) bool { return t.set == set })
			}
		case stage.RolledBack:
			c.counts["rolled back"]++
		case stage.JobDone:
			c.counts["done"]++
			job := c.jobs[a.Job]
			delete(c.jobs, a.Job)
			if err := c.data.check(job); err != nil && c.err == nil {
				c.err = fmt.Errorf("job %d: %w", a.Job, err)
			}
		case stage.JobFailed:
			delete(c.jobs, a.Job)
			c.failed = append(c.failed, a)
		}
	}
}

func (c *cluster) set(attempt uint64) *taskSet {
	return c.sets[slices.IndexFunc(c.sets, func(s *taskSet) bool { return s.run.Attempt == attempt })]
}

// endSet reports the end of a task set if none of its tasks runs and none will start.
func (c *cluster) endSet(set *taskSet) {
	if set.over || set.running > 0 || len(set.waiting) > 0 && !set.drained {
		return
	}
	set.over = true
	c.later(func() []stage.Action { return c.SetEnded(set.run.Attempt, nil) })
}

// startTask starts a waiting task, or a speculative copy of a running task.
func (c *cluster) startTask() {
	var ready []*taskSet
	for _, set := range c.sets {
		if !set.over && !set.drained && len(set.waiting) > 0 {
			ready = append(ready, set)
		}
	}
	if len(ready) > 0 {
		set := pick(c, ready)
		i := c.IntN(len(set.waiting))
		c.launch(set, set.waiting[i])
		set.waiting = slices.Delete(set.waiting, i, i+1)
	} else if len(c.running) > 0 && c.IntN(10) == 0 {
		if task := pick(c, c.running); !task.set.over {
			c.counts["copies"]++
			c.launch(task.set, task.task)
		}
	}
}

func (c *cluster) launch(set *taskSet, task int) {
	set.running++
	c.counts["launched"]++
	t := &runningTask{set: set, task: task, on: pick(c, c.executors), fetched: map[stage.ShuffleID][]*block{}}
	for _, shuffle := range c.reads(set.run.Stage) {
		outputs, _, _ := c.Outputs(shuffle)
		t.fetched[shuffle] = make([]*block, len(outputs))
		for i, output := range outputs {
			t.inputs = append(t.inputs, input{shuffle, i, output})
		}
	}
	c.Shuffle(len(t.inputs), func(i, j int) { t.inputs[i], t.inputs[j] = t.inputs[j], t.inputs[i] })
	c.running = append(c.running, t)
}

// reads returns the shuffles that the stage reads; nil if it is the result stage of a job that
// has ended.
func (c *cluster) reads(id stage.StageID) []stage.ShuffleID {
	if id.Job == 0 {
		return c.data.specs[id.Shuffle].Reads
	}
	if job := c.jobs[id.Job]; job != nil {
		return job.reads
	}
	return nil
}

// stepTask makes a random running task fetch an input or, if it has fetched all inputs, end.
func (c *cluster) stepTask() {
	if len(c.running) == 0 {
		return
	}
	t := pick(c, c.running)
	if len(t.inputs) == 0 {
		c.endTask(t)
		return
	}
	in := t.inputs[0]
	t.inputs = t.inputs[1:]
	i := slices.IndexFunc(c.executors, func(e *store) bool { return e.id == in.output.Executor })
	var found *block
	if i >= 0 {
		found = c.executors[i].blocks[blockID{in.shuffle, in.task, in.output.Attempt}]
	}
	if found != nil && !found.damaged {
		t.fetched[in.shuffle][in.task] = found
		return
	}
	c.counts["fetch failures"]++
	if c.endAttempt(t) {
		failure := stage.FetchFailure{Shuffle: in.shuffle, Map: in.task, Generation: in.output.Generation, ExecutorGone: i < 0}
		c.later(func() []stage.Action { return c.FetchFailed(t.set.run.Attempt, t.task, failure) })
	}
	c.endSet(t.set)
}

// endAttempt removes a running task, and returns whether its end must be reported. If a task
// has several copies, only the end of the copy that ends first is reported.
func (c *cluster) endAttempt(t *runningTask) bool {
	c.running = slices.DeleteFunc(c.running, func(other *runningTask) bool { return other == t })
	t.set.running--
	first := !t.set.reported[t.task]
	t.set.reported[t.task] = true
	return first
}

func (c *cluster) endTask(t *runningTask) {
	id := t.set.run.Stage
	first := c.endAttempt(t)
	if id.Job != 0 && c.jobs[id.Job] == nil {
		return
	}
	made := c.data.compute(id, t.task, c.reads(id), t.fetched, c.IntN(2))
	output := stage.Output{Executor: t.on.id, Host: t.on.host, Checksum: made.checksum()}
	if key := (blockID{id.Shuffle, t.task, t.set.run.Attempt}); id.Job == 0 && t.on.blocks[key] == nil { // the output of a copy must not overwrite the output of another copy
		t.on.blocks[key] = made
	}
	if first {
		c.later(func() []stage.Action {
			counts, actions := c.TaskDone(t.set.run.Attempt, t.task, output)
			if counts && id.Job != 0 {
				if c.jobs[id.Job].results[t.task] != nil {
					c.err = fmt.Errorf("%s: two results of task %d", id, t.task)
				}
				c.jobs[id.Job].results[t.task] = made
			}
			return actions
		})
	}
	c.endSet(t.set)
}

func (c *cluster) deliver() {
	if len(c.inbox) == 0 {
		return
	}
	i := c.IntN(len(c.inbox))
	event := c.inbox[i]
	c.inbox = slices.Delete(c.inbox, i, i+1)
	c.act(event())
}

// kill ends executors and reports their losses in one event. Their task sets launch the tasks
// that ran on them again.
func (c *cluster) kill(executors ...*store) {
	var ids []string
	for _, e := range executors {
		c.end(e)
		ids = append(ids, e.id)
	}
	c.later(func() []stage.Action { return c.ExecutorsLost(ids...) })
}

func (c *cluster) end(e *store) {
	c.counts["killed"]++
	e.alive = false
	c.executors = slices.DeleteFunc(c.executors, func(other *store) bool { return other == e })
	c.addExecutor()
	for _, t := range slices.Clone(c.running) {
		if t.on != e {
			continue
		}
		reported := t.set.reported[t.task]
		c.endAttempt(t)
		t.set.reported[t.task] = reported
		copied := slices.ContainsFunc(c.running, func(other *runningTask) bool { return other.set == t.set && other.task == t.task })
		if !reported && !copied && !t.set.over {
			t.set.waiting = append(t.set.waiting, t.task)
		}
		c.endSet(t.set)
	}
}

// killHost kills all executors of a random host.
func (c *cluster) killHost() {
	host := pick(c, c.executors).host
	c.kill(slices.DeleteFunc(slices.Clone(c.executors), func(e *store) bool { return e.host != host })...)
}

// decommission copies the outputs of a random executor to others, then ends it.
func (c *cluster) decommission() {
	from := pick(c, c.executors)
	for _, id := range from.sorted() {
		made := from.blocks[id]
		to := pick(c, c.executors)
		if to == from || to.blocks[id] != nil {
			continue
		}
		c.counts["handed over"]++
		to.blocks[id] = made
		r := stage.Relocation{Shuffle: id.shuffle, Map: id.task, Attempt: id.attempt, From: from.id, Executor: to.id, Host: to.host}
		c.later(func() []stage.Action {
			_, actions := c.Relocated(r)
			return actions
		})
	}
	c.kill(from)
}

// damage makes a random output unreadable.
func (c *cluster) damage() {
	e := pick(c, c.executors)
	if len(e.blocks) > 0 {
		id := pick(c, e.sorted())
		broken := *e.blocks[id]
		broken.damaged = true
		e.blocks[id] = &broken
	}
}
