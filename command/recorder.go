package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/storage"
)

const (
	// reportDirectory and partEnding name what a recorder writes.
	reportDirectory = "report"
	partEnding      = ".part"
	// firstFlush and slowestFlush are how long a record waits to be written: little
	// at first, so that a short job that is killed leaves its tasks, and more as
	// a job gets long, so that it does not leave thousands of files.
	firstFlush   = time.Second
	slowestFlush = 15 * time.Second
	// flushTimeout bounds the writing of a file, and lastFlush that of the last one.
	flushTimeout = time.Minute
	lastFlush    = 20 * time.Second
	// fullTails is of how many tasks that failed the whole tail is recorded, and
	// shortTail how many bytes of the others'.
	fullTails = 1000
	shortTail = 512
)

// ResultsOf is the directory of an application's results below that of all.
func ResultsOf(base, applicationID string) string { return base + "/" + applicationID }

// record is one line of the report.
type record struct {
	Step  int    `json:"step"`
	Event string `json:"event"`
	// Text is why a step was skipped or failed.
	Text    string   `json:"text,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"`
}

// Events of a record.
const (
	stepStarted = "started"
	stepEnded   = "ended"
	stepSkipped = "skipped"
	taskEnded   = "task"
)

// recorder writes what becomes of tasks, as it happens, into files that are
// never changed: should the driver be killed, what was written is there. Its
// methods may be called on nil, which records nothing.
type recorder struct {
	files     *storage.Files
	directory string // the URI of the application's results
	prefix    string // of the names of this driver's files: a later attempt's sorts behind it

	records chan record
	stop    chan context.Context
	done    chan error
}

// newRecorder makes the directory and begins to write.
func newRecorder(ctx context.Context, files *storage.Files, directory string) (*recorder, error) {
	if err := files.MkdirAll(ctx, directory+"/"+reportDirectory, 0o700); err != nil {
		return nil, fmt.Errorf("the directory of the results: %w", err)
	}
	entries, err := files.List(ctx, directory+"/"+reportDirectory)
	if err != nil {
		return nil, fmt.Errorf("the directory of the results: %w", err)
	}
	start := time.Now().UnixNano()
	if before, err := strconv.ParseInt(latestPrefix(entries), 10, 64); err == nil {
		start = max(start, before+1) // the clock of an earlier attempt's node may be ahead
	}
	r := &recorder{
		files: files, directory: directory, prefix: fmt.Sprintf("%020d", start),
		records: make(chan record, 64), stop: make(chan context.Context), done: make(chan error, 1),
	}
	// What is to be written when the driver's context ends is written all the same.
	go func() { r.done <- r.loop(context.WithoutCancel(ctx)) }()
	return r, nil
}

func (r *recorder) start(step int) { r.tell(record{Step: step, Event: stepStarted}) }

func (r *recorder) skip(step int, because string) {
	r.tell(record{Step: step, Event: stepSkipped, Text: because})
}

func (r *recorder) end(step int, text string) {
	r.tell(record{Step: step, Event: stepEnded, Text: text})
}

func (r *recorder) add(step int, outcome Outcome) {
	if outcome.Status == Succeeded {
		outcome.Tail = ""
	}
	r.tell(record{Step: step, Event: taskEnded, Outcome: &outcome})
}

func (r *recorder) tell(one record) {
	if r != nil {
		r.records <- one
	}
}

// close writes what is not written yet, and returns what went wrong first.
// Nobody may tell the recorder anything any more.
func (r *recorder) close(ctx context.Context) error {
	if r == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
	defer cancel()
	r.stop <- ctx
	return <-r.done
}

// loop gathers records and writes them.
func (r *recorder) loop(ctx context.Context) error {
	var pending bytes.Buffer
	var problem error
	written, failures := 0, 0
	delay := firstFlush
	timer := time.NewTimer(delay)
	defer timer.Stop()
	take := func(one record) {
		if one.Outcome != nil && one.Outcome.Status != Succeeded {
			if failures++; failures > fullTails {
				one.Outcome.Tail = one.Outcome.Tail[max(0, len(one.Outcome.Tail)-shortTail):]
			}
		}
		problem = firstOf(problem, json.NewEncoder(&pending).Encode(one))
	}
	flush := func(ctx context.Context) {
		if pending.Len() == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, flushTimeout)
		defer cancel()
		err := r.write(ctx, written, pending.Bytes())
		if err == nil {
			written++
			pending.Reset()
		}
		problem = err // what could not be written is tried again with what comes next
	}
	for {
		select {
		case one := <-r.records:
			take(one)
		case <-timer.C:
			flush(ctx)
			if written > 0 {
				delay = min(delay*3/2, slowestFlush)
			}
			timer.Reset(delay)
		case last := <-r.stop:
			for len(r.records) > 0 {
				take(<-r.records)
			}
			flush(last)
			return problem
		}
	}
}

// write puts one file in place, whole.
func (r *recorder) write(ctx context.Context, number int, content []byte) error {
	// Writing a file would make its directory again, when the submitter of an
	// application that was killed has read and removed what there was.
	if there, err := r.files.Exists(ctx, r.directory+"/"+reportDirectory); err != nil || !there {
		return firstOf(err, fmt.Errorf("recording what tasks came to: %s is gone", r.directory))
	}
	name := fmt.Sprintf("%s/%s/%s-%06d", r.directory, reportDirectory, r.prefix, number)
	writer, err := r.files.Create(ctx, name+partEnding, storage.Overwrite(), storage.Perm(0o600))
	if err != nil {
		return fmt.Errorf("recording what tasks came to: %w", err)
	}
	if _, err = writer.Write(content); err != nil {
		return fmt.Errorf("recording what tasks came to: %w", errors.Join(err, writer.Abort()))
	}
	if err = writer.Close(); err == nil {
		err = r.files.Rename(ctx, name+partEnding, name)
	}
	if err != nil {
		return fmt.Errorf("recording what tasks came to: %w", err)
	}
	return nil
}
