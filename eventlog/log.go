package eventlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/storage"
)

const (
	// flushInterval is how old lines get at most before they are written.
	flushInterval = 5 * time.Second
	// flushBytes is how many bytes of lines make a frame.
	flushBytes = 256 << 10
	// maxPending limits the bytes of lines that wait for a slow file system.
	maxPending = 16 << 20
	// summaryJobs is how many jobs, the latest, the summary has.
	summaryJobs = 1000

	fileMode      fs.FileMode = 0o640
	directoryMode fs.FileMode = 0o750

	extension = ".jsonl.zst"
)

// Options describe a Log.
type Options struct {
	Files       *storage.Files
	Directory   string        // where the log is written
	Home        string        // if it is not "", the log is written only if this directory exists
	MaxAge      time.Duration // logs in the directory that were completed longer ago are removed; 0 keeps all
	Application string        // the application's id
	Attempt     int           // its attempt
	Logger      *slog.Logger
}

// Log writes the log of an attempt of an application.
type Log struct {
	options Options
	encoder *zstd.Encoder
	wake    chan struct{} // has an element if flushBytes of lines wait
	closing chan struct{}
	cancel  context.CancelFunc
	writing sync.WaitGroup

	mu      sync.Mutex
	lines   []byte
	missing int64 // bytes of lines that were dropped since the last write
	failed  bool  // a write failed: nothing more is written

	launched map[launchKey]events.Attempt // attempts that run and are not in the log yet
	ended    []events.Attempt             // the result of endedOf; reused

	// The goroutine of run owns these until it has ended.
	path   string
	file   *storage.Writer
	offset int64 // size of the file
}

// launchKey identifies an attempt.
type launchKey struct {
	set          uint64
	task, number uint32
}

func keyOf(a *events.Attempt) launchKey { return launchKey{a.Set, a.Task, a.Number} }

// Start begins a log. Errors are logged: the caller must call Close in any case.
func Start(options Options) *Log {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Log{
		options:  options,
		wake:     make(chan struct{}, 1),
		closing:  make(chan struct{}),
		cancel:   cancel,
		launched: map[launchKey]events.Attempt{},
	}
	l.encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault)) // fails only for invalid options
	l.lines = appendObject(nil, typeLog, header{Version: Version, Application: options.Application, Attempt: options.Attempt})
	l.writing.Go(func() { l.run(ctx) })
	return l
}

// Consume adds a batch to the log. It implements events.Consumer.
func (l *Log) Consume(b *events.Batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed {
		return
	}
	before := len(l.lines)
	for _, e := range b.Events {
		l.lines = appendObject(l.lines, e.Type(), e)
	}
	l.lines = appendSplit(l.lines, typeAttempts, attemptColumns, l.endedOf(b.Attempts))
	for i := range b.Omitted {
		l.lines = appendObject(l.lines, typeOmitted, &b.Omitted[i])
	}
	l.lines = appendSplit(l.lines, typeMeasurements, measurementColumns, b.Measurements)
	l.lines = appendSplit(l.lines, typeMemory, memoryColumns, b.Memory)
	if len(l.lines) > maxPending {
		l.missing += int64(len(l.lines) - before)
		l.lines = l.lines[:before]
	}
	if len(l.lines) >= flushBytes {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// endedOf returns the attempts that have ended, without those that were recalled before
// their launch was written. It keeps those that run for takeLaunched.
func (l *Log) endedOf(attempts []events.Attempt) []events.Attempt {
	l.ended = l.ended[:0]
	for i := range attempts {
		a := &attempts[i]
		key := keyOf(a)
		if a.Outcome == events.StillRunning {
			l.launched[key] = *a
			continue
		}
		_, unwritten := l.launched[key]
		delete(l.launched, key)
		if a.Outcome != events.AttemptRecalled || !unwritten {
			l.ended = append(l.ended, *a)
		}
	}
	return l.ended
}

// run writes lines until Close is called.
func (l *Log) run(ctx context.Context) {
	if err := l.create(ctx); err != nil {
		l.fail(err)
		return
	}
	l.removeOld(ctx)
	ticker := time.NewTicker(flushInterval)
	defer ticker.Stop()
	for {
		select {
		case <-l.wake:
		case <-ticker.C:
		case <-l.closing:
			return
		}
		if err := l.flush(); err != nil {
			l.fail(err)
			return
		}
	}
}

// errNoHome is the error of create if Options.Home does not exist.
var errNoHome = errors.New("the user has no home directory")

// fail ends the log after an error.
func (l *Log) fail(err error) {
	if errors.Is(err, errNoHome) {
		l.options.Logger.Info("no event log is written, as the user has no home directory: see eventLog.dir", "home", l.options.Home)
	} else {
		l.options.Logger.Warn("the event log ends here: the history of this application is not complete", "path", l.path, "error", err)
	}
	if l.file != nil {
		_ = l.file.Abandon() // keeps what is there
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed, l.lines, l.launched = true, nil, nil
}

func (l *Log) create(ctx context.Context) error {
	if l.options.Home != "" {
		if exists, err := l.options.Files.Exists(ctx, l.options.Home); err != nil || !exists {
			return cmp.Or(err, errNoHome)
		}
	}
	if err := l.options.Files.MkdirAll(ctx, l.options.Directory, directoryMode); err != nil {
		return err
	}
	l.path = l.pathFor(events.Running)
	file, err := l.options.Files.Create(ctx, l.path, storage.Overwrite(), storage.Perm(fileMode))
	l.file = file
	return err
}

// removeOld removes old logs. Those that are not complete stay: HDFS does not tell when they
// were last written.
func (l *Log) removeOld(ctx context.Context) {
	if l.options.MaxAge <= 0 {
		return
	}
	logs, err := List(ctx, l.options.Files, l.options.Directory)
	for _, old := range logs {
		if old.State == events.Running || time.Since(old.Modified) < l.options.MaxAge {
			continue
		}
		if failure := l.options.Files.Remove(ctx, old.Path); !errors.Is(failure, fs.ErrNotExist) {
			err = errors.Join(err, failure)
		}
	}
	if err != nil {
		l.options.Logger.Debug("removing old event logs", "error", err)
	}
}

func (l *Log) pathFor(state string) string {
	return strings.TrimSuffix(l.options.Directory, "/") + "/" + fileName(l.options.Application, l.options.Attempt, state)
}

// flush writes what was added since the last flush, as a frame, so that readers see it.
func (l *Log) flush() error {
	l.mu.Lock()
	lines, missing := l.lines, l.missing
	l.lines, l.missing = nil, 0
	if running := l.takeLaunched(); len(running) > 0 {
		lines = appendSplit(lines, typeAttempts, attemptColumns, running)
	}
	l.mu.Unlock()
	if missing > 0 {
		l.options.Logger.Warn("the event log has a gap: its file system is too slow", "path", l.path, "bytes", missing)
		lines = appendObject(lines, typeGap, gap{Bytes: missing})
	}
	if len(lines) == 0 {
		return nil
	}
	return l.write(l.encoder.EncodeAll(lines, nil))
}

// takeLaunched returns the attempts that run and are not in the log yet.
func (l *Log) takeLaunched() []events.Attempt {
	var running []events.Attempt
	for _, a := range l.launched {
		running = append(running, a)
	}
	clear(l.launched)
	return running
}

func (l *Log) write(frame []byte) error {
	n, err := l.file.Write(frame)
	l.offset += int64(n)
	if err != nil {
		return err
	}
	return l.file.Flush()
}

// Close writes the rest of the log and a summary, and renames the file for the
// application's state. If ctx ends, the log stays as it is then. Errors are logged. The
// recorder must have been closed before.
func (l *Log) Close(ctx context.Context, state string, summary *events.Snapshot) {
	stop := context.AfterFunc(ctx, l.cancel)
	defer l.cancel()
	defer stop()
	close(l.closing)
	l.writing.Wait()
	if l.failed {
		return
	}
	if err := l.complete(ctx, state, summary); err != nil {
		l.fail(err)
	}
}

// complete writes the last frames, and closes and renames the file.
func (l *Log) complete(ctx context.Context, state string, summary *events.Snapshot) error {
	if err := l.flush(); err != nil {
		return err
	}
	short := *summary
	short.Jobs = short.Jobs[max(0, len(short.Jobs)-summaryJobs):]
	at := l.offset
	frame := l.encoder.EncodeAll(appendObject(nil, typeSummary, &short), nil)
	if err := l.write(append(frame, footer(at)...)); err != nil {
		return err
	}
	if err := l.file.Close(); err != nil {
		return err
	}
	return l.options.Files.Rename(ctx, l.path, l.pathFor(state))
}

// fileName returns the name of a log, such as
// "application_1700000000000_0001.1.running.jsonl.zst".
func fileName(application string, attempt int, state string) string {
	return fmt.Sprintf("%s.%d.%s%s", application, attempt, state, extension)
}

// parseName takes a name of fileName apart.
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
