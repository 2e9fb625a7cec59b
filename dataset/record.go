package dataset

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/stage"
)

// recordJobStart records an event for the start of a job, with the stages from which its
// data set is computed.
func (e *engine) recordJobStart(j *job, result *stageState) {
	if e.app.Driver.Events() == nil {
		return
	}
	spec := driver.TaskSet{}
	spec.FromContext(j.ctx)
	submitted := &events.JobSubmitted{
		Time: events.At(time.Now()), Job: uint64(j.id), Name: result.name(), Description: spec.Description, Group: spec.Group, Pool: spec.Pool,
	}
	added, l := map[*stageState]bool{}, e.layout()
	var add func(s *stageState)
	add = func(s *stageState) {
		if added[s] {
			return
		}
		added[s] = true
		plan := events.StagePlan{Stage: s.number, Name: s.name()}
		l.within(s.final, func(n *node) {
			for _, x := range n.shuffles {
				if parent := e.stages[stage.StageID{Shuffle: stage.ShuffleID(x.id())}]; parent != nil {
					add(parent)
					plan.Parents = append(plan.Parents, parent.number)
				}
			}
		})
		submitted.Stages = append(submitted.Stages, plan)
	}
	add(result)
	e.app.Driver.Events().Record(submitted)
}

func (e *engine) recordJobEnd(j *job, err error) {
	ended := &events.JobEnded{Time: events.At(time.Now()), Job: uint64(j.id), State: events.StateSucceeded}
	if err != nil {
		ended.Error = err.Error()
		ended.State = events.StateFailed
		cancelled := func(target error) bool { return errors.Is(err, target) }
		if j.ctx.Err() != nil || slices.ContainsFunc([]error{driver.ErrCancelled, driver.ErrStopped, context.Canceled}, cancelled) {
			ended.State = events.StateCancelled
		}
	}
	e.app.Driver.Events().Record(ended)
}

// recordTask records the measurements of a task as an event.
func (a *stageAttempt) recordTask(task int, m *measurements) {
	a.engine.app.Driver.Events().Measured(events.Measurement{
		Set: a.submission.ID(), Task: uint32(task), RecordsIn: m.RecordsIn, RecordsOut: m.RecordsOut,
		ShuffleLocal: m.LocalBytes, ShuffleRemote: m.RemoteBytes, ShuffleWritten: m.ShuffleBytes, Spilled: m.SpilledBytes,
	})
}

var levelNames = map[Level]string{
	MemoryThenDisk: "memory, then disk", Memory: "memory", Disk: "disk",
	MemoryThenDisk2: "memory, then disk; 2 copies", Memory2: "memory; 2 copies", Disk2: "disk; 2 copies",
}

// recordCaches records an event for each cached data set that a stage computes. The event
// has the number of partitions that each executor stores, and their sizes.
func (e *engine) recordCaches(final *node) {
	recorder := e.app.Driver.Events()
	if recorder == nil {
		return
	}
	l := e.layout()
	l.within(final, func(n *node) {
		e.mu.Lock()
		level, cached := e.levels[n.ref()]
		e.mu.Unlock()
		if !cached {
			return
		}
		changed := &events.CacheChanged{
			Time: events.At(time.Now()), ID: n.ref().String(), Name: n.String(), Level: levelNames[level], Partitions: l.count(n), Stored: map[string]int{},
			Memory: map[string]int64{}, Disk: map[string]int64{},
		}
		for block, executors := range e.cached {
			if block.Node != n.ref() {
				continue
			}
			for executor := range executors {
				changed.Stored[executor]++
			}
		}
		for executor := range changed.Stored {
			size := e.cacheSizes[executor].Sizes[cacheKey(n.ref())]
			if size.Memory > 0 {
				changed.Memory[executor] = size.Memory
			}
			if size.Disk > 0 {
				changed.Disk[executor] = size.Disk
			}
		}
		recorder.Record(changed)
	})
}

func (e *engine) recordUncached(r ref) {
	e.app.Driver.Events().Record(&events.CacheChanged{Time: events.At(time.Now()), ID: r.String(), Removed: true})
}
