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
	// reportDirectory contains the report files of a results directory, and filesDirectory the
	// collected files of tasks. The driver creates both directories when it starts. After the
	// application was killed, the submitter removes them while the driver and tasks may still be
	// running. Therefore files are created with storage.ExistingParent, which does not create a
	// removed directory again.
	reportDirectory = "report"
	filesDirectory  = "files"
	// partEnding is the suffix of the names of incomplete report files.
	partEnding = ".part"
	// minFlushInterval is the time until the first outcomes are written. It is short, so that a
	// short job that is killed leaves outcomes. The interval then grows up to maxFlushInterval, so
	// that a long job does not write thousands of files.
	minFlushInterval = time.Second
	maxFlushInterval = 15 * time.Second
	// flushTimeout limits the time for writing a report file, and lastFlushTimeout the time for the
	// last report file.
	flushTimeout     = time.Minute
	lastFlushTimeout = 20 * time.Second
	// Outcome.Tail is recorded in full for the first maxFullTails failed tasks. For further failed
	// tasks, only its last shortTailBytes bytes are recorded.
	maxFullTails   = 1000
	shortTailBytes = 512
)

// ResultsDirectory returns the results directory of an application below base.
func ResultsDirectory(base, applicationID string) string { return base + "/" + applicationID }

// record is one line of a report file.
type record struct {
	Step  int    `json:"step"`
	Event string `json:"event"`
	// Text is the step's error if the step failed, or the name of a needed step if the step was
	// skipped.
	Text    string   `json:"text,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"`
}

// Values of record.Event.
const (
	stepStarted = "started"
	stepEnded   = "ended"
	stepSkipped = "skipped"
	taskEnded   = "task"
)

// recorder writes the outcomes of steps and tasks to report files while the job runs. Each file
// gets its final name when it is complete, so that readers find only valid files even if the driver
// is killed. A nil recorder records nothing.
type recorder struct {
	files     *storage.Files
	directory string // URI of the application's results directory
	prefix    string // first part of this driver's file names; sorts after the prefixes of earlier application attempts

	records chan record
	stop    chan context.Context
	done    chan error
}

// newRecorder creates the results directory and starts the goroutine that writes records. The
// caller must call close.
func newRecorder(ctx context.Context, files *storage.Files, directory string) (*recorder, error) {
	for _, name := range []string{reportDirectory, filesDirectory} {
		if err := files.MkdirAll(ctx, directory+"/"+name, 0o700); err != nil {
			return nil, fmt.Errorf("the directory of the results: %w", err)
		}
	}
	entries, err := files.List(ctx, directory+"/"+reportDirectory)
	if err != nil {
		return nil, fmt.Errorf("the directory of the results: %w", err)
	}
	start := time.Now().UnixNano()
	if before, err := strconv.ParseInt(latestPrefix(entries), 10, 64); err == nil {
		start = max(start, before+1) // the clock of an earlier attempt's node may be ahead of this clock
	}
	r := &recorder{
		files: files, directory: directory, prefix: fmt.Sprintf("%020d", start),
		records: make(chan record, 64), stop: make(chan context.Context), done: make(chan error, 1),
	}
	// Records that are pending when the driver's context ends must still be written.
	go func() { r.done <- r.loop(context.WithoutCancel(ctx)) }()
	return r, nil
}

func (r *recorder) start(step int) { r.record(record{Step: step, Event: stepStarted}) }

func (r *recorder) skip(step int, because string) {
	r.record(record{Step: step, Event: stepSkipped, Text: because})
}

func (r *recorder) end(step int, text string) {
	r.record(record{Step: step, Event: stepEnded, Text: text})
}

func (r *recorder) add(step int, outcome Outcome) {
	if outcome.Status == StatusSucceeded {
		outcome.Tail = ""
	}
	r.record(record{Step: step, Event: taskEnded, Outcome: &outcome})
}

func (r *recorder) record(rec record) {
	if r != nil {
		r.records <- rec
	}
}

// close writes the pending records and stops the goroutine. It fails if records could not be
// written. The recorder must not be used after close.
func (r *recorder) close(ctx context.Context) error {
	if r == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlushTimeout)
	defer cancel()
	r.stop <- ctx
	return <-r.done
}

// loop receives records, and writes them at intervals that grow to maxFlushInterval.
func (r *recorder) loop(ctx context.Context) error {
	var pending bytes.Buffer
	var problem error
	written, failures := 0, 0
	delay := minFlushInterval
	timer := time.NewTimer(delay)
	defer timer.Stop()
	take := func(rec record) {
		if outcome := rec.Outcome; outcome != nil && outcome.Status != StatusSucceeded {
			if failures++; failures > maxFullTails {
				outcome.Tail = outcome.Tail[max(0, len(outcome.Tail)-shortTailBytes):]
			}
		}
		problem = firstError(problem, json.NewEncoder(&pending).Encode(rec))
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
		problem = err // after an error, the next flush writes the pending records again
	}
	for {
		select {
		case rec := <-r.records:
			take(rec)
		case <-timer.C:
			flush(ctx)
			if written > 0 {
				delay = min(delay*3/2, maxFlushInterval)
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

// write writes content to the report file with this number. It uses a temporary name, and then
// renames the file.
func (r *recorder) write(ctx context.Context, number int, content []byte) error {
	name := fmt.Sprintf("%s/%s/%s-%06d", r.directory, reportDirectory, r.prefix, number)
	writer, err := r.files.Create(ctx, name+partEnding, storage.Overwrite(), storage.ExistingParent(), storage.Perm(0o600))
	if err != nil {
		return fmt.Errorf("recording task outcomes: %w", err)
	}
	if _, err = writer.Write(content); err != nil {
		return fmt.Errorf("recording task outcomes: %w", errors.Join(err, writer.Abort()))
	}
	if err = writer.Close(); err == nil {
		err = r.files.Rename(ctx, name+partEnding, name)
	}
	if err != nil {
		return fmt.Errorf("recording task outcomes: %w", err)
	}
	return nil
}
