package driver

import (
	"maps"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler"
)

// Events returns Options.Events, which may be nil.
func (d *Driver) Events() *events.Recorder { return d.options.Events }

// NewID returns a new id for a job or a stage, as used in TaskSet and in events. Ids of jobs,
// stages and task sets are from one sequence.
func (d *Driver) NewID() uint64 { return d.lastID.Add(1) }

// recorder records events for changes in the event loop.
type recorder struct {
	events             *events.Recorder // nil if no events are recorded
	lastExecutorNumber uint32           // registration number of the latest executor
	lastWanted         map[int]int      // number of executors in the latest ExecutorsRequested, by profile
	recordedProfiles   map[int]bool     // ids of the profiles for which a ProfileAdded was recorded
	valuesRecordedAt   time.Time        // when recordValues last recorded values
}

// valuesInterval is the shortest time between two records of the running task sets' values.
const valuesInterval = 2 * time.Second

func newRecorder(r *events.Recorder) recorder {
	return recorder{events: r, lastWanted: map[int]int{}, recordedProfiles: map[int]bool{}}
}

func (r *recorder) executorRegistered(e *executor, now time.Time) {
	r.lastExecutorNumber++
	e.registrationNumber = r.lastExecutorNumber
	r.profile(e.profile, now)
	r.events.Record(&events.ExecutorRegistered{
		Time: events.At(now), Number: e.registrationNumber, ID: e.id, Host: e.host, Cores: e.cores, Profile: e.profile.ID, LogURLs: e.logURLs,
	})
}

func (r *recorder) executorLost(id string, loss Loss, expected bool, now time.Time) {
	r.events.Record(&events.ExecutorLost{
		Time: events.At(now), ID: id, Reason: loss.Reason, Failed: loss.CountsAsFailure && !expected, Expected: expected,
	})
}

func (r *recorder) decommissioned(e *executor, notice DecommissionNotice, now time.Time) {
	r.events.Record(&events.ExecutorDecommissioned{Time: events.At(now), ID: e.id, Reason: notice.Reason, Deadline: notice.Deadline})
}

// profile records a resource profile that is used for the first time.
func (r *recorder) profile(p *resourceProfile, now time.Time) {
	if r.recordedProfiles[p.ID] {
		return
	}
	r.recordedProfiles[p.ID] = true
	r.events.Record(&events.ProfileAdded{
		Time: events.At(now), Profile: p.ID, MemoryBytes: int64(p.Memory), OverheadBytes: int64(p.Overhead), Cores: p.Cores, Resources: p.Resources,
	})
}

// requested records the number of requested executors of each profile, if the number has
// changed.
func (r *recorder) requested(request Request, now time.Time) {
	for _, demand := range request.Demands {
		id := demand.Profile.ID
		if wanted, known := r.lastWanted[id]; known && wanted == demand.Total {
			continue
		}
		r.lastWanted[id] = demand.Total
		r.events.Record(&events.ExecutorsRequested{Time: events.At(now), Profile: id, Wanted: demand.Total})
	}
}

// submitted records a submitted task set. If the set is a job of its own, it also records the
// job.
func (r *recorder) submitted(set *runningSet, now time.Time) {
	r.profile(set.profile, now)
	spec, job := &set.spec, set.spec.Job
	if job == 0 {
		job = set.id
		r.events.Record(&events.JobSubmitted{
			Time: events.At(now), Job: job, Name: spec.Name, Description: spec.Description, Group: spec.Group, Pool: set.pool,
		})
	}
	r.events.Record(&events.TaskSetSubmitted{
		Time: events.At(now), Set: set.id, Job: job, Stage: spec.Stage, Name: spec.Name, Function: spec.Function, Tasks: len(spec.Tasks),
		Pool: set.pool, Profile: set.profile.ID, CPUs: set.cpus, Barrier: spec.Barrier,
	})
}

func (r *recorder) setEnded(set *runningSet, state string, err error, now time.Time) {
	if r.events == nil {
		return
	}
	ended := &events.TaskSetEnded{Time: events.At(now), Set: set.id, State: state, Done: set.doneTasks, FailedAttempts: set.failedAttempts}
	if err != nil {
		ended.Error = err.Error()
	}
	ended.Counters, ended.Gauges = set.values.peaks()
	r.events.Record(ended)
	if set.spec.Job == 0 {
		r.events.Record(&events.JobEnded{Time: events.At(now), Job: set.id, State: state, Error: ended.Error})
	}
}

// recordValues records the counters and gauges of each running task set whose values have
// changed. It does nothing if it last recorded values less than valuesInterval ago.
func (l *loop) recordValues() {
	r := &l.record
	if r.events == nil || l.now.Sub(r.valuesRecordedAt) < valuesInterval {
		return
	}
	r.valuesRecordedAt = l.now
	for _, set := range l.sets {
		values, _ := set.currentValues()
		counters, gauges := values.peaks()
		if before := set.recordedValues; before == nil && len(counters)+len(gauges) == 0 ||
			before != nil && maps.Equal(counters, before.Counters) && maps.Equal(gauges, before.Gauges) {
			continue
		}
		recorded := &events.TaskSetValues{Time: events.At(l.now), Set: set.id, Counters: counters, Gauges: gauges}
		set.recordedValues = recorded
		r.events.Record(recorded)
	}
}

func (r *recorder) waitReason(set *runningSet, now time.Time) {
	r.events.Record(&events.TaskSetWaits{Time: events.At(now), Set: set.id, Reason: set.blockedReason})
}

func (r *recorder) excluded(event scheduler.Excluded, now time.Time) {
	r.events.Record(&events.Excluded{
		Time: events.At(now), Executor: event.Executor, Host: event.Host, Set: event.TaskSet, Failures: event.Failures, Until: event.Until,
	})
}

func (r *recorder) exclusionEnded(event scheduler.ExclusionEnded, now time.Time) {
	r.events.Record(&events.ExclusionEnded{Time: events.At(now), Executor: event.Executor, Host: event.Host})
}

func (r *recorder) memorySample(e *executor, now time.Time) {
	r.events.Memory(events.MemorySample{Executor: e.registrationNumber, Time: events.MicrosOf(now), Resident: int64(e.residentBytes)})
}

// heapProfiled records that an executor has written a heap profile.
func (r *recorder) heapProfiled(e *executor, now time.Time) {
	r.events.Record(&events.ExecutorHeapProfiled{Time: events.At(now), ID: e.id, Resident: int64(e.residentBytes)})
}

// launched records an attempt's launch.
func (r *recorder) launched(a *attempt, launch *scheduler.Launch, now time.Time) {
	if r.events == nil {
		return
	}
	a.launched, a.locality, a.speculative = events.MicrosOf(now), localityOf(launch.Locality), launch.Speculative
	row := a.row()
	a.hasRow = r.events.Launched(&row)
}

func localityOf(level scheduler.Locality) uint8 {
	switch level {
	case scheduler.ProcessLocal:
		return events.LocalityProcess
	case scheduler.NodeLocal:
		return events.LocalityNode
	case scheduler.NoPref:
		return events.LocalityNoPreference
	case scheduler.RackLocal:
		return events.LocalityRack
	}
	return events.LocalityAny
}

// row returns the attempt's row in events, without the fields that are set at its end.
func (a *attempt) row() events.Attempt {
	return events.Attempt{
		Set: a.set.id, Task: uint32(a.set.spec.indexOf(a.index)), Number: uint32(a.number), Executor: a.executor.registrationNumber,
		Locality: a.locality, Speculative: a.speculative, Start: a.launched,
	}
}

// ended records an attempt's end. metrics may be nil.
func (r *recorder) ended(a *attempt, outcome events.Outcome, metrics *wire.Metrics, now time.Time) {
	if r.events == nil {
		return
	}
	if outcome != events.OutcomeRecalled && (a.killed || a.set.ended) {
		outcome = events.OutcomeKilled
	}
	row := a.row()
	row.Outcome, row.End = outcome, events.MicrosOf(now)
	if metrics != nil {
		row.Queue, row.Decode = micros(metrics.GetQueueNanos()), micros(metrics.GetDecodeNanos())
		row.Run, row.Encode = micros(metrics.GetRunNanos()), micros(metrics.GetEncodeNanos())
		row.ResultBytes, row.PeakMemory = int64(metrics.GetResultBytes()), int64(metrics.GetPeakMemoryBytes())
		row.BytesRead, row.BytesWritten = int64(metrics.GetBytesRead()), int64(metrics.GetBytesWritten())
	}
	r.events.Ended(&row, a.hasRow)
	if outcome != events.OutcomeFailed && outcome != events.OutcomeExecutorLost {
		return
	}
	failed := &events.AttemptFailed{
		Time: events.At(now), Set: row.Set, Task: row.Task, Number: row.Number, Executor: row.Executor,
		Message: a.failure.GetMessage(), Stack: a.failure.GetStack(), Log: a.failure.GetLog(),
	}
	if outcome == events.OutcomeExecutorLost {
		failed.Message, failed.Stack, failed.Log = "the executor "+a.lossReason, "", ""
	}
	r.events.Record(failed)
}

// updated records the end of an attempt that an update reports. It does not record the success
// of an attempt of a barrier set; taskDone does, when all tasks of the set have results.
func (r *recorder) updated(a *attempt, update *wire.TaskUpdate, now time.Time) {
	switch update.GetState() {
	case wire.TaskState_TASK_STATE_FINISHED:
		if !a.awaitsBarrierSet {
			r.ended(a, events.OutcomeSucceeded, a.result.GetMetrics(), now)
		}
	case wire.TaskState_TASK_STATE_RECALLED:
		r.ended(a, events.OutcomeRecalled, nil, now)
	case wire.TaskState_TASK_STATE_KILLED:
		r.ended(a, events.OutcomeKilled, update.GetMetrics(), now)
	default:
		r.ended(a, events.OutcomeFailed, update.GetMetrics(), now)
	}
}

func micros(nanos uint64) events.Micros { return events.Micros(nanos / 1000) }
