package eventlog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

const (
	// summaryJobs is the maximum number of jobs in the summary. The summary has the latest jobs.
	summaryJobs = 1000

	extension = ".jsonl.zst"
)

// jsonLines implements format for the logs that docs/event-log.md describes.
type jsonLines struct {
	launched map[launchKey]events.Attempt // running attempts that are not in the log yet
	ended    []events.Attempt             // buffer for the result of endedOf, reused
}

func newLines() *jsonLines { return &jsonLines{launched: map[launchKey]events.Attempt{}} }

// launchKey identifies a task attempt.
type launchKey struct {
	set          uint64
	task, number uint32
}

func keyOf(a *events.Attempt) launchKey { return launchKey{a.Set, a.Task, a.Number} }

func (l *jsonLines) begin(application string, attempt int) []byte {
	return appendObject(nil, typeLog, header{Version: Version, Application: application, Attempt: attempt})
}

func (l *jsonLines) add(lines []byte, b *events.Batch) []byte {
	for _, e := range b.Events {
		lines = appendObject(lines, e.Type(), e)
	}
	lines = appendSplit(lines, typeAttempts, attemptColumns, l.endedOf(b.Attempts))
	for i := range b.Omitted {
		lines = appendObject(lines, typeOmitted, &b.Omitted[i])
	}
	lines = appendSplit(lines, typeMeasurements, measurementColumns, b.Measurements)
	return appendSplit(lines, typeMemory, memoryColumns, b.Memory)
}

// endedOf returns the attempts that have ended, and stores the running ones in l.launched. It omits
// an attempt that the driver recalled from the executor's queue before the log contained the
// attempt's launch.
func (l *jsonLines) endedOf(attempts []events.Attempt) []events.Attempt {
	l.ended = l.ended[:0]
	for i := range attempts {
		a := &attempts[i]
		key := keyOf(a)
		if a.Outcome == events.OutcomeRunning {
			l.launched[key] = *a
			continue
		}
		_, unwritten := l.launched[key]
		delete(l.launched, key)
		if a.Outcome != events.OutcomeRecalled || !unwritten {
			l.ended = append(l.ended, *a)
		}
	}
	return l.ended
}

func (l *jsonLines) flush(lines []byte) []byte {
	if running := l.takeLaunched(); len(running) > 0 {
		lines = appendSplit(lines, typeAttempts, attemptColumns, running)
	}
	return lines
}

// takeLaunched returns the running attempts that are not in the log yet, and empties l.launched.
// The caller must write these attempts to the log.
func (l *jsonLines) takeLaunched() []events.Attempt {
	var running []events.Attempt
	for _, a := range l.launched {
		running = append(running, a)
	}
	clear(l.launched)
	return running
}

func (l *jsonLines) gap(lines []byte, bytes int64) []byte {
	return appendObject(lines, typeGap, missingLines{Bytes: bytes})
}

// end returns the last two frames of a log: the frame with the summary, which begins at offset, and
// the footer, which contains offset.
func (l *jsonLines) end(encoder *zstd.Encoder, summary *events.Snapshot, offset int64) []byte {
	short := *summary
	short.Jobs = short.Jobs[max(0, len(short.Jobs)-summaryJobs):]
	frame := encoder.EncodeAll(appendObject(nil, typeSummary, &short), nil)
	return append(frame, footer(offset)...)
}

func (l *jsonLines) name(application string, attempt int, state string) string {
	return fileName(application, attempt, state)
}

// fileName returns the file name of a log, such as
// "application_1700000000000_0001.1.running.jsonl.zst".
func fileName(application string, attempt int, state string) string {
	return fmt.Sprintf("%s.%d.%s%s", application, attempt, state, extension)
}

// parseName returns the parts of a file name that fileName has returned. ok is false for other
// names.
func parseName(name string) (application string, attempt int, state string, ok bool) {
	name, ok = strings.CutSuffix(name, extension)
	parts := strings.Split(name, ".")
	if !ok || len(parts) < 3 {
		return "", 0, "", false
	}
	state = parts[len(parts)-1]
	attempt, err := strconv.Atoi(parts[len(parts)-2])
	return strings.Join(parts[:len(parts)-2], "."), attempt, state, err == nil
}
