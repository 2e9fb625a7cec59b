package otlp

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

const (
	// maxJobs is the maximum number of jobs that have spans. The latest jobs are chosen.
	maxJobs = 1000
	// maxFailed is the maximum number of failed attempts of an application that have spans.
	// slowest is the maximum number of successful attempts of a task set that have spans: the
	// slowest attempts are chosen.
	maxFailed = 200
	slowest   = 3
)

// trace creates the spans of an application.
type trace struct {
	state  *events.Snapshot
	span   SpanContext // the span of the application
	parent []byte      // id of the parent of the application's span; nil if it has no parent
	spans  []*tracepb.Span
}

// spansOf returns the spans of an application that has ended.
func spansOf(s *events.Snapshot, span SpanContext, parent string) []*tracepb.Span {
	t := &trace{state: s, span: span}
	if above, err := ParseSpanContext(parent); err == nil {
		t.parent = above.Span[:]
	}
	a := s.Application
	t.add(span.Span[:], t.parent, cmp.Or(a.Name, a.ID), a.Time.Time, a.Ended, a.State, a.Error,
		number("bobbin.tasks", int64(s.Totals.Tasks)), number("bobbin.attempts.failed", int64(s.Totals.FailedAttempts)), number("bobbin.executors.lost", int64(s.Totals.Lost)))
	for i, step := range s.Steps {
		if step.Name == "" || step.Started.IsZero() {
			continue // an application without a job file, or a step that did not run
		}
		t.add(t.stepID(i), span.Span[:], "step "+step.Name, step.Started, step.Ended, step.State, step.Error)
	}
	setIDs := map[uint64][]byte{} // span ids by the id of the task set
	for _, job := range s.Jobs[max(0, len(s.Jobs)-maxJobs):] {
		t.addJob(job, setIDs)
	}
	t.addAttempts(setIDs)
	return t.spans
}

func (t *trace) stepID(i int) []byte { return t.span.below(fmt.Sprintf("step %d", i)) }

// addJob adds the spans of a job and its task sets. It adds the span id of each task set, which
// is the parent of the task set's attempts, to setIDs.
func (t *trace) addJob(job *events.Job, setIDs map[uint64][]byte) {
	parent := t.span.Span[:]
	for i, step := range t.state.Steps {
		if step.Name != "" && !step.Started.IsZero() && step.Name == job.Name && !job.Time.Time.Before(step.Started) && (step.Ended.IsZero() || !job.Time.Time.After(step.Ended)) {
			parent = t.stepID(i)
		}
	}
	id := t.span.below(fmt.Sprintf("job %d", job.Job))
	t.add(id, parent, "job "+job.Name, job.Time.Time, job.Ended, job.State, job.Error,
		number("bobbin.job", int64(job.Job)), number("bobbin.tasks", int64(job.Counts.Tasks)), number("bobbin.attempts.failed", int64(job.Counts.FailedAttempts)))
	for _, set := range job.Sets {
		setIDs[set.Set] = id
		if set.Stage == 0 {
			continue // the job consists of this task set only, so both share one span
		}
		setIDs[set.Set] = t.span.below(fmt.Sprintf("set %d", set.Set))
		t.add(setIDs[set.Set], id, "stage "+set.Name, set.Time.Time, set.Ended, set.State, set.Error,
			number("bobbin.stage", int64(set.Stage)), number("bobbin.tasks", int64(set.Counts.Tasks)), number("bobbin.attempts.failed", int64(set.Counts.FailedAttempts)))
	}
}

// addAttempts adds the spans of failed attempts, and of the slowest successful attempts of each
// task set.
func (t *trace) addAttempts(setIDs map[uint64][]byte) {
	failures := map[[3]uint64]string{} // error messages by the ids of the task set, task and attempt
	for _, group := range t.state.Failures {
		for _, failed := range group.Samples {
			failures[[3]uint64{failed.Set, uint64(failed.Task), uint64(failed.Number)}] = failed.Message
		}
	}
	failed := 0
	slow := map[uint64][]*events.Attempt{} // the slowest attempts by the id of the task set; the slowest attempt is the last element
	for a := range t.state.Attempts() {
		switch {
		case setIDs[a.Set] == nil:
		case a.Outcome == events.OutcomeFailed || a.Outcome == events.OutcomeExecutorLost:
			if failed++; failed <= maxFailed {
				message := cmp.Or(failures[[3]uint64{a.Set, uint64(a.Task), uint64(a.Number)}], "the attempt failed")
				t.addAttempt(a, setIDs[a.Set], events.StateFailed, message)
			}
		case a.Outcome == events.OutcomeSucceeded:
			of := slow[a.Set]
			if len(of) == slowest {
				if a.Took() <= of[0].Took() {
					continue
				}
				of = slices.Delete(of, 0, 1)
			}
			at, _ := slices.BinarySearchFunc(of, a, func(x, y *events.Attempt) int { return cmp.Compare(x.Took(), y.Took()) })
			slow[a.Set] = slices.Insert(of, at, a)
		}
	}
	for set, attempts := range slow {
		for _, a := range attempts {
			t.addAttempt(a, setIDs[set], events.StateSucceeded, "")
		}
	}
}

func (t *trace) addAttempt(a *events.Attempt, parent []byte, state, message string) {
	attributes := []*commonpb.KeyValue{
		number("bobbin.task", int64(a.Task)), number("bobbin.attempt", int64(a.Number)),
		number("bobbin.queue_us", int64(a.Queue)), number("bobbin.run_us", int64(a.Run)), number("bobbin.bytes.read", a.BytesRead), number("bobbin.bytes.written", a.BytesWritten),
	}
	if e := t.state.Executor(a.Executor); e != nil {
		attributes = append(attributes, text("bobbin.executor", e.ID), text("host.name", e.Host))
	}
	t.add(t.span.below(fmt.Sprintf("attempt %d %d %d", a.Set, a.Task, a.Number)), parent, fmt.Sprintf("task %d", a.Task), a.Start.Time(), a.End.Time(), state, message, attributes...)
}

// add adds a span. If ended is zero, the span ends when the application ends.
func (t *trace) add(id, parent []byte, name string, began, ended time.Time, state, message string, attributes ...*commonpb.KeyValue) {
	if ended.IsZero() {
		ended = t.state.Application.Ended
	}
	span := &tracepb.Span{
		TraceId: t.span.Trace[:], SpanId: id, ParentSpanId: parent, Flags: uint32(t.span.Flags), Name: valid(name), Kind: tracepb.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano: uint64(began.UnixNano()), EndTimeUnixNano: uint64(max(began.UnixNano(), ended.UnixNano())), Attributes: attributes,
		Status: &tracepb.Status{},
	}
	if state == events.StateFailed || state == events.StateKilled || state == events.StateCancelled {
		span.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: valid(cmp.Or(message, state))}
	}
	t.spans = append(t.spans, span)
}
