package uitest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

// core is a simulated core of an executor. Times are in seconds since Start.
type core struct {
	executor uint32  // number of the executor's registration
	free     float64 // the earliest time at which it can start the next task
	until    float64 // the time at which its executor is lost; +Inf if it is not lost
}

// stage describes how the tasks of a stage are simulated. Times are in seconds since Start.
type stage struct {
	set      uint64
	tasks    int
	from     float64                // start of the stage
	now      float64                // the current time on the pages; tasks that end later still run
	took     func(task int) float64 // duration of a task in seconds
	fails    func(task, attempt int) bool
	row      func(a *events.Attempt) // sets the amounts of data that a task read and wrote
	counters map[string]int64        // the values of the counters at the end of the stage
}

// nightly generates the events that Nightly returns.
type nightly struct {
	batch *events.Batch
	cores []core
	rand  *rand.Rand
}

// Nightly returns the events of the first minute of an application. One job has ended, and
// another runs. An executor was lost, some attempts have failed, and one task is slow. now is
// the time that the pages of the application should use as the current time.
func Nightly() (batch *events.Batch, now events.Time) {
	const looked = 64
	n := &nightly{batch: &events.Batch{}, rand: rand.New(rand.NewPCG(7, 7))}
	n.record(
		&events.ApplicationStarted{
			Time: At(0), ID: "application_1777888800000_0042", Attempt: 1, Name: "nightly counts", User: "ann", Master: "yarn", Mode: "cluster", Host: "node1.example.org",
			Version: "v1.0.0", Go: "go1.26", Settings: []events.Setting{
				{Key: "app.name", Value: "nightly counts", Source: "the command line"}, {Key: "executor.cores", Value: "4", Source: "nightly.yaml:7:19"},
				{Key: "executor.instances", Value: "6", Source: "nightly.yaml:6:23"}, {Key: "executor.memory", Value: "2g", Source: "/etc/bobbin/defaults.conf:3"},
				{Key: "executorEnv.DB_PASSWORD", Value: "(redacted)", Source: "environment variable BOBBIN_EXECUTORENV_DB_PASSWORD"},
			}},
		&events.ProfileAdded{Time: At(.4), MemoryBytes: 2 << 30, OverheadBytes: 384 << 20, Cores: 4},
		&events.ExecutorsRequested{Time: At(.5), Wanted: 6},
	)
	for i := range 6 {
		n.addExecutor(i+1, 2.2+float64(i)*.15, math.Inf(1))
	}
	n.lose(4, 41, "was killed by YARN: beyond its memory: 2.4 GB of 2.4 GB physical memory used. Raise executor.memoryOverhead or executor.memory.")
	n.addExecutor(7, 43.5, math.Inf(1))
	n.record(&events.ExecutorAllocated{Time: At(61.3), ID: "8", Host: "node2.example.org", Container: "container_1777888800000_0042_01_000009"})
	n.record(&events.ExecutorsRequested{Time: At(60.9), Wanted: 7})
	n.memory(looked)

	n.record(&events.JobSubmitted{Time: At(3.1), Job: 1, Name: "words at main.go:41", Description: "count the words of all pages", Stages: []events.StagePlan{
		{Stage: 2, Name: "read pages"}, {Stage: 3, Name: "sum counts", Parents: []uint64{2}},
	}})
	long := func(mean float64) func(int) float64 {
		return func(int) float64 { return mean * math.Exp(n.rand.NormFloat64()*.3) }
	}
	end := n.run(stage{set: 4, tasks: 160, from: 3.2, now: looked, took: long(1.7), row: func(a *events.Attempt) {
		a.BytesRead = 120<<20 + n.rand.Int64N(16<<20)
		n.measure(a, 400_000, 52_000, 0, 9<<20, 0)
	}}, &events.TaskSetSubmitted{Job: 1, Stage: 2, Name: "read pages"})
	end = n.run(stage{set: 5, tasks: 48, from: end + .05, now: looked, counters: map[string]int64{"words": 64_000_000, "empty pages": 1_207}, took: func(task int) float64 {
		if task == 17 {
			return 9.8
		}
		return long(1.1)(task)
	}, row: func(a *events.Attempt) {
		a.BytesWritten = 4 << 20
		in := int64(28 << 20)
		if a.Task == 17 {
			in = 310 << 20
		}
		n.measure(a, in/170, 21_000, in, 0, in/3)
	}}, &events.TaskSetSubmitted{Job: 1, Stage: 3, Name: "sum counts"})
	n.record(&events.JobEnded{Time: At(end), Job: 1, State: events.StateSucceeded})

	n.record(&events.JobSubmitted{Time: At(end + .4), Job: 6, Name: "links at main.go:67", Description: "rank pages by links", Stages: []events.StagePlan{
		{Stage: 7, Name: "read links"}, {Stage: 8, Name: "rank", Parents: []uint64{7}}, {Stage: 9, Name: "write ranks", Parents: []uint64{8}},
	}})
	n.run(stage{set: 10, tasks: 620, from: end + .5, now: looked, took: func(task int) float64 {
		if task == 12 {
			return 100
		}
		return long(1.9)(task)
	}, fails: func(task, attempt int) bool { return attempt == 0 && task%53 == 9 }, row: func(a *events.Attempt) {
		a.BytesRead = 64<<20 + n.rand.Int64N(8<<20)
		n.measure(a, 900_000, 880_000, 0, 21<<20, 0)
	}}, &events.TaskSetSubmitted{Job: 6, Stage: 7, Name: "read links"})
	n.record(&events.TaskSetValues{Time: At(looked - 1), Set: 10, Counters: map[string]int64{"links": 181_456_000, "broken links": 2_311}})
	slices.SortStableFunc(n.batch.Events, func(a, b events.Event) int { return a.When().Compare(b.When()) })
	slices.SortStableFunc(n.batch.Attempts, func(a, b events.Attempt) int { return cmp.Compare(cmp.Or(a.End, a.Start), cmp.Or(b.End, b.Start)) })
	return n.batch, At(looked)
}

func (n *nightly) record(all ...events.Event) { n.batch.Events = append(n.batch.Events, all...) }

func (n *nightly) addExecutor(number int, allocated, until float64) {
	id, host := fmt.Sprint(number), fmt.Sprintf("node%d.example.org", (number-1)%3+1)
	container := fmt.Sprintf("container_1777888800000_0042_01_%06d", number+1)
	logs := "http://" + host + ":8042/node/containerlogs/" + container + "/ann/"
	n.record(
		&events.ExecutorAllocated{Time: At(allocated), ID: id, Host: host, Container: container},
		&events.ExecutorLaunched{Time: At(allocated + .2), ID: id},
		&events.ExecutorRegistered{Time: At(allocated + .9), Number: uint32(number), ID: id, Host: host, Cores: 4, LogURLs: map[string]string{"stderr": logs + "stderr", "stdout": logs + "stdout"}},
	)
	for range 4 {
		n.cores = append(n.cores, core{executor: uint32(number), free: allocated + 1, until: until})
	}
}

func (n *nightly) lose(number uint32, at float64, reason string) {
	n.record(&events.ExecutorLost{Time: At(at), ID: fmt.Sprint(number), Reason: reason, Failed: true})
	for i := range n.cores {
		if n.cores[i].executor == number {
			n.cores[i].until = at
		}
	}
}

// memory adds samples of each executor's memory. The memory of executor 4 grows until the
// executor is lost.
func (n *nightly) memory(until float64) {
	for t := 4.0; t < until; t += 2 {
		for executor := uint32(1); executor <= 7; executor++ {
			resident := 900 + 250*math.Sin(t/9+float64(executor)) + n.rand.Float64()*60
			switch {
			case executor == 4 && t < 41:
				resident = 700 + 41*t
			case executor == 4 || executor == 7 && t < 45:
				continue
			}
			n.batch.Memory = append(n.batch.Memory, events.MemorySample{Executor: executor, Time: micros(t), Resident: int64(resident * (1 << 20))})
		}
	}
}

func (n *nightly) measure(a *events.Attempt, in, out, read, written, spilled int64) {
	n.batch.Measurements = append(n.batch.Measurements, events.Measurement{
		Set: a.Set, Task: a.Task, RecordsIn: in, RecordsOut: out, ShuffleLocal: read / 3, ShuffleRemote: read - read/3, ShuffleWritten: written, Spilled: spilled,
	})
}

// run simulates the tasks of a stage. Each task runs on the core that is available first. run
// returns the time at which the last successful task ends.
func (n *nightly) run(s stage, submitted *events.TaskSetSubmitted) (end float64) {
	submitted.Time, submitted.Set, submitted.Tasks, submitted.CPUs, submitted.Function = At(s.from), s.set, s.tasks, 1, "dataset.stage"
	n.record(submitted)
	type pending struct {
		task, attempt int
		from          float64
	}
	var queue []pending
	for task := range s.tasks {
		queue = append(queue, pending{task: task, from: s.from})
	}
	done := 0
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		c := slices.MinFunc(n.cores, func(a, b core) int { return cmp.Compare(a.at(next.from), b.at(next.from)) })
		i := slices.IndexFunc(n.cores, func(other core) bool { return other == c })
		start := c.at(next.from)
		if start >= s.now {
			continue // the task has not started at the current time of the page
		}
		took := s.took(next.task)
		a := events.Attempt{Set: s.set, Task: uint32(next.task), Number: uint32(next.attempt), Executor: c.executor, Start: micros(start), Locality: events.LocalityNode}
		if n.rand.IntN(9) == 0 {
			a.Locality = events.LocalityRack
		}
		a.Outcome, a.End = events.OutcomeSucceeded, micros(start+took)
		switch {
		case start+took > c.until:
			took = c.until - start
			a.Outcome, a.End = events.OutcomeExecutorLost, micros(c.until)
			queue = append([]pending{{next.task, next.attempt + 1, c.until}}, queue...)
			n.fail(&a, c.until, "the executor was killed by YARN: beyond its memory", "")
		case s.fails != nil && s.fails(next.task, next.attempt):
			took /= 3
			a.Outcome, a.End = events.OutcomeFailed, micros(start+took)
			queue = append(queue, pending{next.task, next.attempt + 1, start + took})
			n.fail(&a, start+took, fmt.Sprintf("open hdfs://prod/links/part-%05d.gz: no datanode has block blk_10737%05d", next.task, next.task*7),
				"main.readLinks\n\t/src/nightly/links.go:58\ndataset.(*stageTask).run\n\t/src/dataset/task.go:131")
		case start+took > s.now:
			a.Outcome, a.End = events.OutcomeRunning, 0
		}
		n.cores[i].free = start + took + .004
		if a.Outcome == events.OutcomeSucceeded {
			done++
			end = max(end, start+took)
			all := a.End - a.Start
			a.Queue, a.Decode, a.Encode, a.ResultBytes, a.PeakMemory = 900, all/50, all/40, 180, 700<<20+n.rand.Int64N(300<<20)
			a.Run = all - a.Decode - a.Encode - 3_100
			s.row(&a)
		}
		n.batch.Attempts = append(n.batch.Attempts, a)
	}
	if done == s.tasks {
		n.record(&events.TaskSetEnded{Time: At(end), Set: s.set, State: events.StateSucceeded, Done: done, Counters: s.counters})
	}
	return end
}

func (n *nightly) fail(a *events.Attempt, at float64, message, stack string) {
	n.record(&events.AttemptFailed{Time: At(at), Set: a.Set, Task: a.Task, Number: a.Number, Executor: a.Executor, Message: message, Stack: stack})
}

// at returns the earliest time, not before from, at which the core can start a task. It returns
// +Inf if the core's executor is lost before that time.
func (c core) at(from float64) float64 {
	start := max(c.free, from)
	if start >= c.until {
		return math.Inf(1)
	}
	return start
}
