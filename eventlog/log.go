package eventlog

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/storage"
)

const (
	// flushInterval is how long lines wait at most before they are written. It leaves a second
	// for writing them if the file system is busy, so that the log of a driver that was killed
	// lacks at most the last 5 s.
	flushInterval = 4 * time.Second
	// flushBytes is how many bytes of lines are enough for a frame: then they are written at
	// once.
	flushBytes = 256 << 10
	// touchInterval is how often a log's modification time is set, because HDFS does not change
	// it while the file is open. If the modification time of an incomplete log is older than
	// runningAge, its application was killed.
	touchInterval = time.Hour
	runningAge    = 24 * time.Hour
	// maxPending limits the bytes of lines that wait to be written. If the file system is too
	// slow, further lines are dropped.
	maxPending = 16 << 20

	fileMode      fs.FileMode = 0o640
	directoryMode fs.FileMode = 0o750
)

// Options describe a Log.
type Options struct {
	Files        *storage.Files
	Directory    string        // where the log is written
	RequiredHome string        // if not "", the log is written only if this directory exists
	MaxAge       time.Duration // older logs of the user in Directory are removed; 0 keeps all
	Application  string        // the application's id
	Attempt      int           // number of the application's attempt
	Logger       *slog.Logger
}

// format encodes the lines and makes the file names of one kind of log. Its methods are not
// called concurrently.
type format interface {
	// begin returns the first lines of a log.
	begin(application string, attempt int) []byte
	// add appends the lines for a batch to lines.
	add(lines []byte, b *events.Batch) []byte
	// flush appends the lines that end a frame to lines, if there are any.
	flush(lines []byte) []byte
	// gap appends a line that says that lines of this many bytes are missing.
	gap(lines []byte, bytes int64) []byte
	// end returns the last bytes of the file, which will be at offset.
	end(encoder *zstd.Encoder, summary *events.Snapshot, offset int64) []byte
	// name returns the name of the file while the application is in state.
	name(application string, attempt int, state string) string
}

// Log writes the log of an attempt of an application.
type Log struct {
	options Options
	format  format
	encoder *zstd.Encoder
	wake    chan struct{} // has an element if flushBytes of lines wait
	closing chan struct{} // closed by Close
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	lines   []byte // that wait to be written
	missing int64  // bytes of lines that were dropped since the last write
	failed  bool   // true after an error; then nothing more is written

	// Only the goroutine of run uses these fields until it has ended; then Close does.
	path   string
	file   *storage.Writer
	offset int64 // size of the file
}

// Start begins a log. It returns no error: errors go to Options.Logger. The caller must call
// Close.
func Start(options Options) *Log { return start(options, newLines()) }

// StartSpark begins a log in the format of Spark, for Spark's history server.
// Options.MaxAge has no effect, because the history server removes old logs itself.
func StartSpark(options Options) *Log {
	options.MaxAge = 0
	return start(options, newSparkLines())
}

func start(options Options, format format) *Log {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Log{
		options: options,
		format:  format,
		wake:    make(chan struct{}, 1),
		closing: make(chan struct{}),
		cancel:  cancel,
	}
	l.encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault)) // fails only for invalid options
	l.lines = format.begin(options.Application, options.Attempt)
	l.running.Go(func() { l.run(ctx) })
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
	l.lines = l.format.add(l.lines, b)
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

// run creates the file and writes lines to it, until Close is called or an error occurs.
func (l *Log) run(ctx context.Context) {
	if err := l.create(ctx); err != nil {
		l.fail(err)
		return
	}
	l.removeOld(ctx)
	ticker := time.NewTicker(flushInterval)
	defer ticker.Stop()
	touches := time.NewTicker(touchInterval)
	defer touches.Stop()
	for {
		select {
		case <-l.wake:
		case <-ticker.C:
		case now := <-touches.C:
			if err := l.options.Files.SetTimes(ctx, l.path, time.Time{}, now); err != nil {
				l.options.Logger.Debug("setting the time of the event log", "error", err)
			}
		case <-l.closing:
			return
		}
		if err := l.flush(); err != nil {
			l.fail(err)
			return
		}
	}
}

// errNoHome is the error of create if Options.RequiredHome does not exist.
var errNoHome = errors.New("the user has no home directory")

// fail ends the log after an error.
func (l *Log) fail(err error) {
	if errors.Is(err, errNoHome) {
		l.options.Logger.Info("no event log is written, as the user has no home directory: see eventLog.dir", "home", l.options.RequiredHome)
	} else {
		l.options.Logger.Warn("the event log ends here: the history of this application is not complete", "path", l.path, "error", err)
	}
	if l.file != nil {
		_ = l.file.Abandon() // keeps what was written
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed, l.lines = true, nil
}

func (l *Log) create(ctx context.Context) error {
	if l.options.RequiredHome != "" {
		if exists, err := l.options.Files.Exists(ctx, l.options.RequiredHome); err != nil || !exists {
			return cmp.Or(err, errNoHome)
		}
	}
	if err := l.options.Files.MkdirAll(ctx, l.options.Directory, directoryMode); err != nil {
		return err
	}
	l.path = l.pathFor(events.StateRunning)
	file, err := l.options.Files.Create(ctx, l.path, storage.Overwrite(), storage.Perm(fileMode))
	l.file = file
	return err
}

// removeOld removes the logs in the directory that are older than Options.MaxAge and belong to
// the same user as this log. The logs of other users stay. A log that is not complete must also
// be older than runningAge.
func (l *Log) removeOld(ctx context.Context) {
	if l.options.MaxAge <= 0 {
		return
	}
	own, err := l.options.Files.Stat(ctx, l.path)
	var logs []Entry
	if err == nil {
		logs, err = List(ctx, l.options.Files, l.options.Directory)
	}
	for _, old := range logs {
		age := l.options.MaxAge
		if old.State == events.StateRunning {
			age = max(age, runningAge)
		}
		if old.Owner != own.Owner || time.Since(old.Modified) < age {
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
	return strings.TrimSuffix(l.options.Directory, "/") + "/" + l.format.name(l.options.Application, l.options.Attempt, state)
}

// flush writes the lines that were added since the last flush as a frame, and makes them visible
// to readers.
func (l *Log) flush() error {
	l.mu.Lock()
	lines, missing := l.lines, l.missing
	l.lines, l.missing = nil, 0
	lines = l.format.flush(lines)
	if missing > 0 {
		lines = l.format.gap(lines, missing)
	}
	l.mu.Unlock()
	if missing > 0 {
		l.options.Logger.Warn("the event log has a gap: its file system is too slow", "path", l.path, "bytes", missing)
	}
	if len(lines) == 0 {
		return nil
	}
	return l.write(l.encoder.EncodeAll(lines, nil))
}

func (l *Log) write(frame []byte) error {
	n, err := l.file.Write(frame)
	l.offset += int64(n)
	if err != nil {
		return err
	}
	return l.file.Flush()
}

// Close writes the rest of the log and a summary, and renames the file, because its name
// contains the application's state. If ctx ends before, the log stays incomplete. Errors go to
// Options.Logger. The recorder must have been closed before.
func (l *Log) Close(ctx context.Context, state string, summary *events.Snapshot) {
	stop := context.AfterFunc(ctx, l.cancel)
	defer l.cancel()
	defer stop()
	close(l.closing)
	l.running.Wait()
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
	if last := l.format.end(l.encoder, summary, l.offset); len(last) > 0 {
		if err := l.write(last); err != nil {
			return err
		}
	}
	if err := l.file.Close(); err != nil {
		return err
	}
	return l.options.Files.Rename(ctx, l.path, l.pathFor(state))
}
