package eventlog

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

// sparkVersion is the release of Spark whose event log format sparkLines writes. Later releases can
// read this format.
const sparkVersion = "3.5.0"

// sparkExtension is the suffix of the names of logs in Spark's format. Spark derives the
// compression from the suffix.
const sparkExtension = ".zstd"

// sparkLines implements format for Spark's event log (JsonProtocol): one line for each
// SparkListener event. A call of Func.Run becomes a job with one stage, whose id is the job's id.
// If a stage has several task sets, each task set becomes an attempt of the stage.
type sparkLines struct {
	executors map[uint32]*events.ExecutorRegistered // by the number of the executor's registration
	jobs      map[uint64]*sparkJob
	sets      map[uint64]*sparkSet
	tasks     int64                               // number of attempts written so far, which is also the task ID of the latest
	failures  map[launchKey]*events.AttemptFailed // failures in the batch that add is writing
	measured  map[launchKey]*events.Measurement   // measurements in the batch that add is writing; the attempt number in the key is 0
}

// sparkJob is a job that has not ended.
type sparkJob struct {
	submitted *events.JobSubmitted
	written   bool           // the job's start event is written
	attempts  map[uint64]int // number of task sets, by the id of their stage
	sets      []uint64       // ids of the job's task sets
}

// sparkSet is a task set of a job that has not ended.
type sparkSet struct {
	stage sparkStage
	last  bool // the stage is the last stage of its job
}

func newSparkLines() *sparkLines {
	return &sparkLines{
		executors: map[uint32]*events.ExecutorRegistered{}, jobs: map[uint64]*sparkJob{}, sets: map[uint64]*sparkSet{},
		failures: map[launchKey]*events.AttemptFailed{}, measured: map[launchKey]*events.Measurement{},
	}
}

func (f *sparkLines) begin(string, int) []byte {
	return appendSpark(nil, struct {
		sparkEvent
		Version string `json:"Spark Version"`
	}{sparkType("LogStart"), sparkVersion})
}

// add appends the start events of the batch, then the task events, then the end events. The order
// matters because Spark ignores tasks of stages that have ended.
func (f *sparkLines) add(lines []byte, b *events.Batch) []byte {
	for _, e := range b.Events {
		lines = f.beginning(lines, e)
	}
	for i := range b.Measurements {
		m := &b.Measurements[i]
		f.measured[launchKey{set: m.Set, task: m.Task}] = m
	}
	for i := range b.Attempts {
		if a := &b.Attempts[i]; a.Outcome != events.OutcomeRunning && a.Outcome != events.OutcomeRecalled {
			lines = f.attempt(lines, a)
		}
	}
	clear(f.failures)
	clear(f.measured)
	for _, e := range b.Events {
		lines = f.ending(lines, e)
	}
	return lines
}

func (f *sparkLines) beginning(lines []byte, e events.Event) []byte {
	switch e := e.(type) {
	case *events.ApplicationStarted:
		return f.applicationStarted(lines, e)
	case *events.ExecutorRegistered:
		f.executors[e.Number] = e
		type info struct {
			Host       string              `json:"Host"`
			Cores      int                 `json:"Total Cores"`
			Logs       map[string]string   `json:"Log Urls"`
			Attributes map[string]string   `json:"Attributes"`
			Resources  map[string]struct{} `json:"Resources"`
			Profile    int                 `json:"Resource Profile Id"`
		}
		logs := e.LogURLs
		if logs == nil {
			logs = map[string]string{}
		}
		return appendSpark(lines, struct {
			sparkEvent
			Time     int64  `json:"Timestamp"`
			Executor string `json:"Executor ID"`
			Info     info   `json:"Executor Info"`
		}{sparkType("ExecutorAdded"), e.Time.Time.UnixMilli(), e.ID, info{e.Host, e.Cores, logs, map[string]string{}, map[string]struct{}{}, e.Profile}})
	case *events.JobSubmitted:
		f.jobs[e.Job] = &sparkJob{submitted: e, attempts: map[uint64]int{}}
		if len(e.Stages) > 0 {
			return f.startJob(lines, e.Job, nil)
		}
	case *events.TaskSetSubmitted:
		return f.setSubmitted(lines, e)
	case *events.AttemptFailed:
		f.failures[launchKey{e.Set, e.Task, e.Number}] = e
	}
	return lines
}

func (f *sparkLines) applicationStarted(lines []byte, e *events.ApplicationStarted) []byte {
	lines = appendSpark(lines, struct {
		sparkEvent
		Name    string `json:"App Name"`
		ID      string `json:"App ID"`
		Time    int64  `json:"Timestamp"`
		User    string `json:"User"`
		Attempt string `json:"App Attempt ID"`
	}{sparkType("ApplicationStart"), e.Name, e.ID, e.Time.Time.UnixMilli(), e.User, fmt.Sprint(e.Attempt)})
	properties := map[string]string{"spark.app.id": e.ID, "spark.app.name": e.Name, "spark.master": e.Master, "spark.submit.deployMode": e.Mode}
	for _, setting := range e.Settings {
		properties["spark."+setting.Key] = setting.Value
	}
	empty := map[string]string{}
	return appendSpark(lines, struct {
		sparkEvent
		JVM       map[string]string `json:"JVM Information"`
		Spark     map[string]string `json:"Spark Properties"`
		Hadoop    map[string]string `json:"Hadoop Properties"`
		System    map[string]string `json:"System Properties"`
		Metrics   map[string]string `json:"Metrics Properties"`
		Classpath map[string]string `json:"Classpath Entries"`
	}{sparkType("EnvironmentUpdate"), map[string]string{"bobbin": e.Version, "Go": e.Go}, properties, empty, empty, empty, empty})
}

// startJob appends the start event of a job. For a job of Func.Run, set is the job's only task set.
// For a job with stages, set is nil, and startJob writes 0 as each stage's number of tasks, because
// the numbers are not known yet.
func (f *sparkLines) startJob(lines []byte, id uint64, set *events.TaskSetSubmitted) []byte {
	job := f.jobs[id]
	job.written = true
	stages := []sparkStage{}
	for _, plan := range job.submitted.Stages {
		stages = append(stages, newSparkStage(plan.Stage, 0, plan.Name, 0, plan.Parents))
	}
	if set != nil {
		stages = append(stages, newSparkStage(set.Set, 0, set.Name, set.Tasks, nil))
	}
	ids := []uint64{}
	for _, stage := range stages {
		ids = append(ids, stage.ID)
	}
	properties := map[string]string{}
	for key, value := range map[string]string{
		"spark.job.description": cmp.Or(job.submitted.Description, job.submitted.Name), "spark.jobGroup.id": job.submitted.Group, "spark.scheduler.pool": job.submitted.Pool,
	} {
		if value != "" {
			properties[key] = value
		}
	}
	return appendSpark(lines, struct {
		sparkEvent
		Job        uint64            `json:"Job ID"`
		Submitted  int64             `json:"Submission Time"`
		Stages     []sparkStage      `json:"Stage Infos"`
		StageIDs   []uint64          `json:"Stage IDs"`
		Properties map[string]string `json:"Properties"`
	}{sparkType("JobStart"), id, job.submitted.Time.Time.UnixMilli(), stages, ids, properties})
}

func (f *sparkLines) setSubmitted(lines []byte, e *events.TaskSetSubmitted) []byte {
	job := f.jobs[e.Job]
	if job == nil {
		job = &sparkJob{submitted: &events.JobSubmitted{Time: e.Time, Job: e.Job, Name: e.Name, Pool: e.Pool}, attempts: map[uint64]int{}}
		f.jobs[e.Job] = job
	}
	if !job.written {
		lines = f.startJob(lines, e.Job, e)
	}
	id := cmp.Or(e.Stage, e.Set)
	plan := slices.IndexFunc(job.submitted.Stages, func(plan events.StagePlan) bool { return plan.Stage == id })
	var parents []uint64
	if plan >= 0 {
		parents = job.submitted.Stages[plan].Parents
	}
	set := &sparkSet{
		stage: newSparkStage(id, job.attempts[id], e.Name, e.Tasks, parents),
		last:  plan == len(job.submitted.Stages)-1, // also true for a job without stages, because then both sides are -1
	}
	set.stage.Submitted, set.stage.ResourceProfile = e.Time.Time.UnixMilli(), e.Profile
	job.attempts[id]++
	job.sets = append(job.sets, e.Set)
	f.sets[e.Set] = set
	return f.stageLine(lines, "StageSubmitted", set)
}

func (f *sparkLines) stageLine(lines []byte, kind string, set *sparkSet) []byte {
	return appendSpark(lines, struct {
		sparkEvent
		Stage      sparkStage        `json:"Stage Info"`
		Properties map[string]string `json:"Properties,omitempty"`
	}{sparkType(kind), set.stage, nil})
}

// sparkLocalities are Spark's names of the constants events.Locality…, in the order of the
// constants.
var sparkLocalities = []string{"PROCESS_LOCAL", "NODE_LOCAL", "NO_PREF", "RACK_LOCAL", "ANY"}

func milliseconds(m events.Micros) int64 { return int64(m) / 1000 }

// attempt appends the start event and the end event of a task attempt that has ended.
func (f *sparkLines) attempt(lines []byte, a *events.Attempt) []byte {
	set := f.sets[a.Set]
	if set == nil {
		return lines // the job has already ended
	}
	f.tasks++
	task := sparkTask{
		ID: f.tasks, Index: a.Task, Attempt: a.Number, Partition: a.Task, Launched: milliseconds(a.Start), Locality: sparkLocalities[min(a.Locality, events.LocalityAny)],
		Speculative: a.Speculative, Accumulables: []struct{}{},
	}
	if e := f.executors[a.Executor]; e != nil {
		task.Executor, task.Host = e.ID, e.Host
	}
	lines = appendSpark(lines, sparkTaskStart{sparkType("TaskStart"), set.stage.ID, set.stage.Attempt, task})
	task.Finished = max(milliseconds(a.End), 1)
	task.Failed = a.Outcome == events.OutcomeFailed || a.Outcome == events.OutcomeExecutorLost
	task.Killed = a.Outcome == events.OutcomeKilled
	end := sparkTaskEnd{
		sparkEvent: sparkType("TaskEnd"), Stage: set.stage.ID, Attempt: set.stage.Attempt, Type: "ShuffleMapTask",
		Reason: f.reason(a, task.Executor), Task: task, ExecutorMetrics: map[string]int64{}, Metrics: f.metrics(a),
	}
	if set.last {
		end.Type = "ResultTask"
	}
	return appendSpark(lines, end)
}

// reason returns the result of a task attempt as the JSON object of Spark's TaskEndReason.
func (f *sparkLines) reason(a *events.Attempt, executor string) any {
	type updates struct {
		Updates []struct{} `json:"Accumulator Updates"`
	}
	message, stack := "", ""
	if failed := f.failures[keyOf(a)]; failed != nil {
		message, stack = failed.Message, failed.Stack
	}
	switch a.Outcome {
	case events.OutcomeFailed:
		return struct {
			Reason      string     `json:"Reason"`
			Class       string     `json:"Class Name"`
			Description string     `json:"Description"`
			Stack       []struct{} `json:"Stack Trace"`
			FullStack   string     `json:"Full Stack Trace"`
			updates
		}{"ExceptionFailure", "error", message, []struct{}{}, message + "\n" + stack, updates{[]struct{}{}}}
	case events.OutcomeExecutorLost:
		return struct {
			Reason   string `json:"Reason"`
			Executor string `json:"Executor ID"`
			ByApp    bool   `json:"Exit Caused By App"`
			Loss     string `json:"Loss Reason"`
		}{"ExecutorLostFailure", executor, true, message}
	case events.OutcomeKilled:
		return struct {
			Reason string `json:"Reason"`
			Why    string `json:"Kill Reason"`
			updates
		}{"TaskKilled", "another attempt was faster, or the job ended", updates{[]struct{}{}}}
	default:
		return struct {
			Reason string `json:"Reason"`
		}{"Success"}
	}
}

func (f *sparkLines) metrics(a *events.Attempt) sparkMetrics {
	m := sparkMetrics{
		DeserializeTime: milliseconds(a.Decode), RunTime: milliseconds(a.Run), PeakMemory: a.PeakMemory, ResultSize: a.ResultBytes,
		SerializationTime: milliseconds(a.Encode), UpdatedBlocks: []struct{}{},
	}
	m.Input.Bytes, m.Output.Bytes = a.BytesRead, a.BytesWritten
	measured := f.measured[launchKey{set: a.Set, task: a.Task}]
	if measured == nil || a.Outcome != events.OutcomeSucceeded {
		return m
	}
	m.DiskSpilled = measured.Spilled
	m.ShuffleRead.RemoteBytes, m.ShuffleRead.LocalBytes, m.ShuffleWrite.Bytes = measured.ShuffleRemote, measured.ShuffleLocal, measured.ShuffleWritten
	if measured.ShuffleRemote+measured.ShuffleLocal > 0 {
		m.ShuffleRead.Records = measured.RecordsIn
	} else {
		m.Input.Records = measured.RecordsIn
	}
	if measured.ShuffleWritten > 0 {
		m.ShuffleWrite.Records = measured.RecordsOut
	} else {
		m.Output.Records = measured.RecordsOut
	}
	return m
}

func (f *sparkLines) ending(lines []byte, e events.Event) []byte {
	switch e := e.(type) {
	case *events.TaskSetEnded:
		if set := f.sets[e.Set]; set != nil {
			set.stage.Completed = max(e.Time.Time.UnixMilli(), 1)
			if e.State != events.StateSucceeded {
				set.stage.Failure = cmp.Or(e.Error, e.State)
			}
			set.stage.Accumulables = accumulables(e)
			return f.stageLine(lines, "StageCompleted", set)
		}
	case *events.JobEnded:
		return f.jobEnded(lines, e)
	case *events.ExecutorLost:
		return appendSpark(lines, struct {
			sparkEvent
			Time     int64  `json:"Timestamp"`
			Executor string `json:"Executor ID"`
			Reason   string `json:"Removed Reason"`
		}{sparkType("ExecutorRemoved"), e.Time.Time.UnixMilli(), e.ID, e.Reason})
	case *events.ApplicationEnded:
		return appendSpark(lines, struct {
			sparkEvent
			Time int64 `json:"Timestamp"`
		}{sparkType("ApplicationEnd"), e.Time.Time.UnixMilli()})
	}
	return lines
}

// accumulables returns the counters and gauges of a task set as Spark's accumulables.
func accumulables(e *events.TaskSetEnded) []sparkAccumulable {
	all := []sparkAccumulable{}
	for _, values := range []map[string]int64{e.Counters, e.Gauges} {
		for name, value := range values {
			all = append(all, sparkAccumulable{Name: name, Value: fmt.Sprint(value)})
		}
	}
	slices.SortFunc(all, func(a, b sparkAccumulable) int { return cmp.Compare(a.Name, b.Name) })
	for i := range all {
		all[i].ID = i
	}
	return all
}

func (f *sparkLines) jobEnded(lines []byte, e *events.JobEnded) []byte {
	job := f.jobs[e.Job]
	if job == nil {
		return lines
	}
	if !job.written {
		lines = f.startJob(lines, e.Job, nil)
	}
	for _, set := range job.sets {
		delete(f.sets, set)
	}
	delete(f.jobs, e.Job)
	type exception struct {
		Message string     `json:"Message"`
		Stack   []struct{} `json:"Stack Trace"`
	}
	type result struct {
		Result    string     `json:"Result"`
		Exception *exception `json:"Exception,omitempty"`
	}
	ended := result{Result: "JobSucceeded"}
	if e.State != events.StateSucceeded {
		ended = result{Result: "JobFailed", Exception: &exception{Message: cmp.Or(e.Error, e.State), Stack: []struct{}{}}}
	}
	return appendSpark(lines, struct {
		sparkEvent
		Job       uint64 `json:"Job ID"`
		Completed int64  `json:"Completion Time"`
		Result    result `json:"Job Result"`
	}{sparkType("JobEnd"), e.Job, e.Time.Time.UnixMilli(), ended})
}

func (f *sparkLines) flush(lines []byte) []byte { return lines }

// gap appends nothing, because Spark has no event for missing lines.
func (f *sparkLines) gap(lines []byte, _ int64) []byte { return lines }

func (f *sparkLines) end(*zstd.Encoder, *events.Snapshot, int64) []byte { return nil }

func (f *sparkLines) name(application string, attempt int, state string) string {
	name := fmt.Sprintf("%s_%d%s", application, attempt, sparkExtension)
	if state == events.StateRunning {
		name += ".inprogress"
	}
	return name
}
