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
	// flushInterval is the maximum time that lines wait before Log writes them. Writing may take
	// two more seconds on a busy file system, so the log of a killed driver lacks at most its last
	// 5 s.
	flushInterval = 3 * time.Second
	// If the waiting lines have at least flushBytes bytes, Log writes them immediately.
	flushBytes = 256 << 10
	// touchInterval is how often Log sets the log's modification time, because HDFS does not update
	// it while the file is open. An incomplete log that was not modified for runningAge belongs to
	// an application that was killed.
	touchInterval = time.Hour
	runningAge    = 24 * time.Hour
	// maxPending limits the bytes of lines that wait to be written. If the file system is too slow,
	// Log drops further lines.
	maxPending = 16 << 20

	fileMode      fs.FileMode = 0o640
	directoryMode fs.FileMode = 0o750
)

// Options are the options of [Start] and [StartSpark].
type Options struct {
	Files        *storage.Files
	Directory    string        // directory of the log
	RequiredHome string        // if not "", the log is written only if this directory exists
	MaxAge       time.Duration // remove older logs of the same user in Directory; 0 removes none
	Application  string        // the application's id
	Attempt      int           // number of the application attempt
	Logger       *slog.Logger
}

// format encodes the lines of one kind of log and determines its file names. Its methods are not
// called concurrently.
type format interface {
	// begin returns the first lines of a log.
	begin(application string, attempt int) []byte
	// add encodes the batch b as lines and appends these to the buffer named lines.
	add(lines []byte, b *events.Batch) []byte
	// flush is called before the end of a frame. It appends the lines that the frame must still
	// contain, if any, to the buffer named lines.
	flush(lines []byte) []byte
	// gap appends a line that records the total size in bytes of lines that were dropped.
	gap(lines []byte, bytes int64) []byte
	// end returns the last bytes of the file. offset is the position at which they will be written.
	end(encoder *zstd.Encoder, summary *events.Snapshot, offset int64) []byte
	// name returns the file name of a log while the application is in the given state.
	name(application string, attempt int, state string) string
}

// Log writes the event log of an application attempt.
type Log struct {
	options Options
	format  format
	encoder *zstd.Encoder
	wake    chan struct{} // contains an element if at least flushBytes bytes of lines wait
	closing chan struct{} // closed by Close
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	lines   []byte // lines that wait to be written
	missing int64  // bytes of lines that were dropped since the last write
	failed  bool   // an error has occurred; nothing more is written

	// Only the goroutine of run uses these fields. When that goroutine has ended, Close uses them.
	path   string
	file   *storage.Writer
	offset int64 // size of the file in bytes
}

// Start creates a log in bobbin's own format. It writes errors to Options.Logger instead of
// returning them. The caller must call Close.
func Start(options Options) *Log { return start(options, newLines()) }

// StartSpark creates a log in Spark's format, for Spark's history server. It ignores
// Options.MaxAge, because Spark's history server removes old logs itself. Otherwise see [Start].
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

// Consume adds a batch of events to the log. It implements events.Consumer.
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

// fail logs the error and stops the log: nothing more is written.
func (l *Log) fail(err error) {
	if errors.Is(err, errNoHome) {
		l.options.Logger.Info("no event log is written, as the user has no home directory: see eventLog.dir", "home", l.options.RequiredHome)
	} else {
		l.options.Logger.Warn("the event log ends here: the history of this application is not complete", "path", l.path, "error", err)
	}
	if l.file != nil {
		_ = l.file.Abandon() // closes the file without removing its content
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

// removeOld removes the logs in the directory that are older than Options.MaxAge and belong to the
// user of this log. It removes an incomplete log only if the log is also older than runningAge.
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

// flush writes the lines that were added since the last flush as one frame, and makes the frame
// visible to readers.
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

// Close writes the remaining lines and a summary, and renames the file, because the file name
// contains the application's state. If ctx ends earlier, the log stays incomplete. Errors are
// logged to Options.Logger. The caller must have closed the recorder before.
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

// complete writes the last frames, and closes and renames the file. The new name contains the
// application's state.
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
