package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/bobbin-yarn/bobbin/eventlog"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/storage"
)

const (
	application = "application_1700000000000_0001"
	executors   = 50
	jobs        = 20
	// batchTasks is the number of tasks whose events are written together.
	batchTasks = 4000
	logTimeout = time.Minute
)

// eventLogs are the event logs of one application, in bobbin's and in Spark's format.
type eventLogs struct {
	bobbin string // path of bobbin's log
	spark  string // path of Spark's log
	totals events.Totals
}

// writeLogs writes both event logs of an application with the given number of tasks to
// directories below dir. In one task in a thousand, the first attempt fails.
func writeLogs(ctx context.Context, dir string, tasks int) (eventLogs, error) {
	files := storage.New(storage.Options{})
	defer func() { _ = files.Close() }() // measureSpark checks what was written
	options := eventlog.Options{Files: files, Application: application, Attempt: 1, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	own, spark := options, options
	own.Directory, spark.Directory = filepath.Join(dir, "bobbin"), filepath.Join(dir, "spark")
	w := writer{model: events.NewModel(events.Limits{Attempts: 1}), random: rand.New(rand.NewPCG(1, 2)), now: time.Now().Add(-time.Hour)}
	w.logs = []*eventlog.Log{eventlog.Start(own), eventlog.StartSpark(spark)}
	w.paths = []string{filepath.Join(own.Directory, application+".1.running.jsonl.zst"), filepath.Join(spark.Directory, application+"_1.zstd.inprogress")}
	err := w.write(ctx, tasks)
	state := w.model.Snapshot()
	closing, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	for _, log := range w.logs {
		log.Close(closing, events.StateSucceeded, state)
	}
	return eventLogs{
		bobbin: filepath.Join(own.Directory, application+".1.succeeded.jsonl.zst"), spark: filepath.Join(spark.Directory, application+"_1.zstd"), totals: state.Totals,
	}, err
}

// writer records the events of a made-up application.
type writer struct {
	model  *events.Model
	logs   []*eventlog.Log
	paths  []string // paths of the logs
	random *rand.Rand
	now    time.Time
	batch  events.Batch
}

func (w *writer) record(e events.Event) { w.batch.Events = append(w.batch.Events, e) }

func (w *writer) write(ctx context.Context, tasks int) error {
	began := events.At(w.now)
	w.record(&events.ApplicationStarted{Time: began, ID: application, Attempt: 1, Name: "benchmark", User: "alice", Master: "yarn", Mode: "cluster", Version: "v1", Go: "go1"})
	w.record(&events.ProfileAdded{Time: began, MemoryBytes: 1 << 30, Cores: 4})
	for number := range uint32(executors) {
		w.record(&events.ExecutorRegistered{Time: began, Number: number + 1, ID: fmt.Sprint(number + 1), Host: fmt.Sprintf("node%d.example", number/2), Cores: 4})
	}
	for job := range uint64(jobs) {
		id, size := job+1, tasks/jobs
		if job == jobs-1 {
			size = tasks - size*(jobs-1)
		}
		w.record(&events.JobSubmitted{Time: events.At(w.now), Job: id, Name: fmt.Sprintf("job %d", id)})
		w.record(&events.TaskSetSubmitted{Time: events.At(w.now), Set: id, Job: id, Name: fmt.Sprintf("job %d", id), Tasks: size, CPUs: 1})
		for from := 0; from < size; from += batchTasks {
			for task := from; task < min(size, from+batchTasks); task++ {
				w.task(id, uint32(task))
			}
			if err := w.deliverBatch(ctx); err != nil {
				return err
			}
		}
		w.now = w.now.Add(time.Second)
		w.record(&events.TaskSetEnded{Time: events.At(w.now), Set: id, State: events.StateSucceeded, Done: size})
		w.record(&events.JobEnded{Time: events.At(w.now), Job: id, State: events.StateSucceeded})
	}
	w.record(&events.ApplicationEnded{Time: events.At(w.now), State: events.StateSucceeded})
	w.deliver()
	return nil
}

// task adds the attempts of a task to the current batch.
func (w *writer) task(set uint64, index uint32) {
	failed := w.random.IntN(1000) == 0
	for number := uint32(0); ; number++ {
		w.now = w.now.Add(time.Duration(w.random.IntN(200)) * time.Microsecond)
		a := events.Attempt{
			Set: set, Task: index, Number: number, Executor: uint32(1 + w.random.IntN(executors)), Locality: uint8(w.random.IntN(3)), Start: events.MicrosOf(w.now),
			Queue: events.Micros(w.random.IntN(30)), Decode: events.Micros(w.random.IntN(5)), Run: 9000 + events.Micros(w.random.IntN(2000)), Encode: events.Micros(w.random.IntN(3)),
			ResultBytes: 8, BytesRead: int64(w.random.IntN(1 << 20)), PeakMemory: int64(20<<20 + w.random.IntN(16)*(64<<10)), Outcome: events.OutcomeSucceeded,
		}
		a.End = a.Start + a.Queue + a.Decode + a.Run + a.Encode + events.Micros(200+w.random.IntN(200))
		if failed && number == 0 {
			a.Outcome = events.OutcomeFailed
			w.record(&events.AttemptFailed{Time: events.At(a.End.Time()), Set: set, Task: index, Executor: a.Executor, Message: "no such file"})
		}
		w.batch.Attempts = append(w.batch.Attempts, a)
		if a.Outcome == events.OutcomeSucceeded {
			return
		}
	}
}

// deliverBatch delivers the current batch and waits until Spark's log has grown. Without this
// pause, events would come faster than the disk writes them, and logs would omit some events.
func (w *writer) deliverBatch(ctx context.Context) error {
	before := size(w.paths[1])
	w.deliver()
	for size(w.paths[1]) == before {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return errors.Join(errors.New("writing the logs"), context.Cause(ctx))
		}
	}
	return nil
}

func (w *writer) deliver() {
	w.model.Consume(&w.batch)
	for _, log := range w.logs {
		log.Consume(&w.batch)
	}
	w.batch = events.Batch{}
}

// size returns the size of a file in bytes, or 0 if the file does not exist.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
