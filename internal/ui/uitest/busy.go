// Package uitest contains fictional applications for tests and screenshots of package ui.
// [Busy] has content on every page, and its names can be hostile. [Nightly] resembles a real
// application.
package uitest

import (
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

// Start is the start time of the applications. Later is the current time on the pages of Busy.
var (
	Start = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	Later = Start.Add(10 * time.Minute)
)

// At returns the time that is the given number of seconds after Start.
func At(seconds float64) events.Time {
	return events.At(Start.Add(time.Duration(seconds * float64(time.Second))))
}

func micros(seconds float64) events.Micros { return events.MicrosOf(At(seconds).Time) }

// Plain returns s. Passed to [Busy], it gives an application with harmless names.
func Plain(s string) string { return s }

// Snapshot returns the state of an application after the given batches.
func Snapshot(batches ...*events.Batch) *events.Snapshot {
	model := events.NewModel(events.Limits{})
	for _, batch := range batches {
		model.Consume(batch)
	}
	return model.Snapshot()
}

// Hostile are texts that could corrupt or inject code into a page. Pages show texts that
// users, tasks and clusters choose, so these texts could be hostile.
var Hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, "</title></style><svg onload=alert(1)>",
	"{{.}}", "javascript:alert(1)", "\u202egpj.exe\u2066", "\x00\x1b[31m", "<!-- ", "&lt;b&gt;", strings.Repeat("long", 2000), "a\nb", "]]>", "?page=x&id=\"1",
}

// Busy returns the events of a running application that has content on every page. It calls
// name to transform each text that a user, a cluster or a task would choose.
func Busy(name func(string) string) *events.Batch {
	b := &events.Batch{}
	record := func(all ...events.Event) { b.Events = append(b.Events, all...) }
	record(
		&events.ApplicationStarted{Time: At(0), ID: "application_1_0007", Attempt: 1, Name: name("nightly counts"), User: name("ann"), Master: "yarn", Mode: "cluster", Host: name("node1"),
			Version: "v1", Go: "go1.26", Settings: []events.Setting{
				{Key: name("app.name"), Value: name("counts"), Source: name("the command line")}, {Key: "executor.memory", Value: "2g", Source: "job.yaml:3:10"},
			}},
		&events.ProfileAdded{Time: At(1), MemoryBytes: 2 << 30, OverheadBytes: 384 << 20, Cores: 4, Resources: map[string]int64{name("gpu"): 1}},
		&events.ExecutorsRequested{Time: At(1), Wanted: 6},
		&events.NotesChanged{Time: At(2), Source: "am", Notes: []string{name("yarn.exclude.nodes leaves two nodes")}},
		&events.StepsPlanned{Time: At(3), Steps: []events.StepPlan{
			{Name: name("load words"), Tasks: 40}, {Name: name("waiting"), Needs: []string{name("load words")}, Tasks: 3},
			{Name: name("publish"), Needs: []string{name("load words"), name("waiting")}, Tasks: 5},
		}},
		&events.StepStarted{Time: At(3), Step: name("load words")},
		&events.StepEnded{Time: At(60), Step: name("load words"), State: events.StateSucceeded},
		&events.StepStarted{Time: At(300), Step: name("waiting")},
	)
	for i := range 5 {
		id, host := fmt.Sprint(i+1), name(fmt.Sprintf("node%d.example", i%3+1))
		record(&events.ExecutorAllocated{Time: At(4), ID: id, Host: host, Container: name("container_1_0007_01_00000" + id)})
		if i < 4 {
			record(&events.ExecutorLaunched{Time: At(5), ID: id},
				&events.ExecutorRegistered{Time: At(6.5), Number: uint32(i + 1), ID: id, Host: host, Cores: 4, LogURLs: map[string]string{name("stderr"): "http://node1.example:8042/logs/" + id}})
		}
	}
	record(
		&events.ExecutorDecommissioned{Time: At(100), ID: "3", Reason: name("the node is being decommissioned")},
		&events.ExecutorLost{Time: At(120), ID: "4", Reason: name("killed by YARN: beyond its memory"), Failed: true},
		&events.Excluded{Time: At(130), Host: name("node1.example"), Failures: 2, Until: Later.Add(time.Hour)},
		&events.CacheChanged{Time: At(140), ID: name("rdd-1"), Name: name("words"), Level: name("memory"), Partitions: 8, Stored: map[string]int{"1": 4, "2": 2},
			Memory: map[string]int64{"1": 100 << 20, "2": 30 << 20}, Disk: map[string]int64{"1": 20 << 20}},

		&events.JobSubmitted{Time: At(10), Job: 1, Name: name("load words"), Description: name("from the archive"), Group: name("nightly"), Pool: name("urgent")},
		&events.TaskSetSubmitted{Time: At(10), Set: 1, Job: 1, Name: name("load words"), Function: name("load"), Tasks: 40, CPUs: 1},
	)
	for i := range 40 {
		took := 2 + float64(i%7)/3
		if i == 39 {
			took = 25 // a skewed task
		}
		b.Attempts = append(b.Attempts, events.Attempt{
			Set: 1, Task: uint32(i), Executor: uint32(i%4 + 1), Outcome: events.OutcomeSucceeded, Locality: events.LocalityNode, Start: micros(11), End: micros(11 + took),
			Queue: 2000, Decode: 100, Run: events.Micros(took*1e6) - 5000, Encode: 300, ResultBytes: 100, BytesRead: int64(i) << 20, PeakMemory: 300 << 20,
		})
	}
	record(&events.TaskSetEnded{Time: At(50), Set: 1, State: events.StateSucceeded, Done: 40, Counters: map[string]int64{name("words"): 123456}, Gauges: map[string]int64{name("depth"): 7}},
		&events.JobEnded{Time: At(50), Job: 1, State: events.StateSucceeded},

		&events.JobSubmitted{Time: At(70), Job: 2, Name: name("count words"), Stages: []events.StagePlan{
			{Stage: 3, Name: name("map")}, {Stage: 4, Name: name("reduce"), Parents: []uint64{3}}, {Stage: 5, Name: name("sort"), Parents: []uint64{4}},
		}},
		&events.TaskSetSubmitted{Time: At(70), Set: 6, Job: 2, Stage: 3, Name: name("map"), Tasks: 8, CPUs: 1},
		&events.TaskSetSubmitted{Time: At(90), Set: 7, Job: 2, Stage: 4, Name: name("reduce"), Tasks: 8, CPUs: 1},
	)
	for i := range 8 {
		b.Attempts = append(b.Attempts, events.Attempt{Set: 6, Task: uint32(i), Executor: 1, Outcome: events.OutcomeSucceeded, Start: micros(71), End: micros(75)})
		b.Measurements = append(b.Measurements, events.Measurement{Set: 6, Task: uint32(i), RecordsIn: 1000, RecordsOut: 10, ShuffleWritten: 5 << 20, Spilled: 1 << 20})
	}
	for i := range 3 {
		b.Attempts = append(b.Attempts, events.Attempt{Set: 7, Task: uint32(i + 1), Executor: 2, Start: micros(95), Speculative: i == 2})
	}
	b.Attempts = append(b.Attempts, events.Attempt{Set: 7, Task: 0, Executor: 2, Outcome: events.OutcomeSucceeded, Start: micros(91), End: micros(94)})
	record(&events.TaskSetEnded{Time: At(89), Set: 6, State: events.StateSucceeded, Done: 8})
	for i := range 3 {
		record(&events.AttemptFailed{
			Time: At(96), Set: 7, Task: 5, Number: uint32(i), Executor: 2, Message: name(fmt.Sprintf("cannot open part-%d", i)), Stack: name("main.load\n\t/src/main.go:12"), Log: name("level=ERROR msg=part"),
		})
		b.Attempts = append(b.Attempts, events.Attempt{Set: 7, Task: 5, Number: uint32(i), Executor: 2, Outcome: events.OutcomeFailed, Start: micros(95), End: micros(96)})
	}
	record(
		&events.JobSubmitted{Time: At(300), Job: 8, Name: name("waiting")},
		&events.TaskSetSubmitted{Time: At(300), Set: 8, Job: 8, Name: name("waiting"), Tasks: 3, CPUs: 1},
		&events.TaskSetWaits{Time: At(310), Set: 8, Reason: name("no executor has 8 cores: raise executor.cores")},
		&events.JobSubmitted{Time: At(320), Job: 9, Name: name("broken")},
		&events.JobEnded{Time: At(330), Job: 9, State: events.StateFailed, Error: name("task 3 failed 4 times")},
	)
	record(&events.ExecutorHeapProfiled{Time: At(340), ID: "1", Resident: 2 << 30})
	for i := range 20 {
		b.Memory = append(b.Memory, events.MemorySample{Executor: 1, Time: micros(float64(10 + i*10)), Resident: int64(100+i*80) << 20})
	}
	return b
}

// EveryPage maps a name for each page of Busy to the query of the page.
var EveryPage = map[string]string{
	"overview": "", "jobs": "page=jobs", "job": "page=job&id=1", "job with stages": "page=job&id=2", "job that waits": "page=job&id=8", "failed job": "page=job&id=9",
	"stage": "page=stage&id=7", "task set": "page=stage&id=1", "tasks": "page=tasks&id=1", "task": "page=task&set=7&index=5",
	"executors": "page=executors", "executor": "page=executor&id=1", "lost executor": "page=executor&id=4",
	"stream": "page=stream", "steps": "page=steps", "storage": "page=storage", "settings": "page=settings", "events": "page=events",
}
