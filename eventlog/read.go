package eventlog

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/storage"
)

// Entry describes a log file in a directory.
type Entry struct {
	Path        string    `json:"path"`
	Application string    `json:"application"`
	Attempt     int       `json:"attempt"`
	State       string    `json:"state"` // events.StateRunning if the application is running or was killed
	Size        int64     `json:"size"`
	Modified    time.Time `json:"modified"`
	Owner       string    `json:"owner,omitempty"` // owner of the file; see storage.Info
}

// DefaultDirectory returns the HDFS directory of a user's logs if the setting eventLog.dir is not
// set.
func DefaultDirectory(user string) string { return "/user/" + user + "/.bobbin/history" }

// List returns the logs in a directory, the most recently modified first. If the directory does not
// exist, List returns nil and no error.
func List(ctx context.Context, files *storage.Files, directory string) ([]Entry, error) {
	infos, err := files.List(ctx, directory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, info := range infos {
		application, attempt, state, ok := parseName(info.Name)
		if !ok || info.Dir {
			continue
		}
		entries = append(entries, Entry{
			Path: info.Path, Application: application, Attempt: attempt, State: state, Size: info.Size, Modified: info.ModTime, Owner: info.Owner,
		})
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(b.Modified.Compare(a.Modified), cmp.Compare(b.Application, a.Application), cmp.Compare(b.Attempt, a.Attempt))
	})
	return entries, nil
}

// LoadSummary returns the summary at the end of a log. The summary contains no task attempts, and
// only the latest 1,000 jobs. LoadSummary returns nil and no error if the log has no summary,
// because the application is running or was killed.
func LoadSummary(ctx context.Context, files *storage.Files, path string) (*events.Snapshot, error) {
	file, err := files.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read, so an error does not matter
	return readSummary(file, file.Stat().Size, path)
}

func readSummary(file io.ReaderAt, size int64, path string) (*events.Snapshot, error) {
	var end [footerSize]byte
	if size < footerSize {
		return nil, nil
	}
	if _, err := file.ReadAt(end[:], size-footerSize); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	at := readFooter(end[:])
	if at < 0 {
		return nil, nil
	}
	fail := func(err error) (*events.Snapshot, error) {
		return nil, fmt.Errorf("%s: the summary at byte %d: %w", path, at, err)
	}
	if at > size-footerSize {
		return fail(errors.New("it is beyond the end of the file"))
	}
	frame, _, err := nextFrame(bufio.NewReader(io.NewSectionReader(file, at, size-footerSize-at)))
	if err != nil {
		return fail(err)
	}
	decoder, err := newDecoder()
	if err != nil {
		return fail(err)
	}
	defer decoder.Close()
	line, err := decoder.DecodeAll(frame, nil)
	if err != nil {
		return fail(err)
	}
	summary := &events.Snapshot{}
	if err := json.Unmarshal(line, summary); err != nil {
		return fail(err)
	}
	return summary, nil
}

func newDecoder() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxFrame))
}

// Load reads a log and returns the state of the application. truncated reports whether the log ends
// within a frame, as the log of a killed application may; the state then excludes that frame. If
// the log is damaged, Load returns the state before the damage and an error.
func Load(ctx context.Context, files *storage.Files, path string, limits events.Limits) (model *events.Model, truncated bool, err error) {
	model = events.NewModel(limits)
	file, err := files.Open(ctx, path)
	if err != nil {
		return model, false, err
	}
	defer func() { _ = file.Close() }() // only read, so an error does not matter
	truncated, err = Read(ctx, file, path, model)
	return model, truncated, err
}

// decodedFrame is a decoded frame that begins at offset in the log.
type decodedFrame struct {
	offset int64
	batch  *events.Batch
	err    error
}

// Read passes the content of a log to a consumer, one batch for each frame. truncated reports
// whether the log ends within a frame. Errors contain path and the offset of the frame. The
// consumer may store the batches, because Read does not reuse them.
func Read(ctx context.Context, log io.Reader, path string, consumer events.Consumer) (truncated bool, err error) {
	decoder, err := newDecoder()
	if err != nil {
		return false, err
	}
	defer decoder.Close()
	ctx, cancel := context.WithCancel(ctx)
	// Several frames are decoded concurrently. frames has one channel for each of these frames, in
	// the order of the log.
	frames := make(chan chan decodedFrame, runtime.GOMAXPROCS(0))
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	reading.Go(func() {
		defer close(frames)
		readFrames(ctx, log, decoder, frames)
	})
	for frame := range frames {
		content := <-frame
		if errors.Is(content.err, errTruncated) {
			return true, nil
		}
		if content.batch != nil {
			consumer.Consume(content.batch)
		}
		if content.err != nil {
			return false, fmt.Errorf("%s: at byte %d: %w", path, content.offset, content.err)
		}
	}
	return false, context.Cause(ctx)
}

// readFrames reads frames up to the end of the log or the first error, and decodes each frame in
// its own goroutine. For each frame, readFrames sends a channel to frames; the goroutine sends the
// decoded frame to that channel.
func readFrames(ctx context.Context, log io.Reader, decoder *zstd.Decoder, frames chan<- chan decodedFrame) {
	var decoding sync.WaitGroup
	defer decoding.Wait()
	buffered := bufio.NewReaderSize(log, 1<<20)
	var offset int64
	for {
		frame, size, err := nextFrame(buffered)
		if errors.Is(err, io.EOF) && size == 0 {
			return
		}
		result := make(chan decodedFrame, 1)
		select {
		case frames <- result:
		case <-ctx.Done():
			return
		}
		if err != nil {
			result <- decodedFrame{offset: offset, err: err}
			return
		}
		at := offset
		decoding.Go(func() {
			batch, err := decodeFrame(decoder, frame)
			result <- decodedFrame{offset: at, batch: batch, err: err}
		})
		offset += size
	}
}

// decodeFrame decodes the lines of a frame. If a line cannot be decoded, decodeFrame returns the
// preceding lines and an error.
func decodeFrame(decoder *zstd.Decoder, frame []byte) (*events.Batch, error) {
	batch := &events.Batch{}
	if frame == nil {
		return batch, nil
	}
	lines, err := decoder.DecodeAll(frame, nil)
	if err != nil {
		return nil, err
	}
	for number := 1; len(lines) > 0; number++ {
		line, rest, _ := bytes.Cut(lines, []byte("\n"))
		lines = rest
		if len(line) == 0 {
			continue
		}
		if err := decodeLine(line, batch); err != nil {
			return batch, fmt.Errorf("line %d of the frame: %w", number, err)
		}
	}
	return batch, nil
}

// LoadStart returns the first event of a log. LoadStart fails if the log does not begin with an
// ApplicationStarted event, because the application has just started or the file is damaged.
func LoadStart(ctx context.Context, files *storage.Files, path string) (*events.ApplicationStarted, error) {
	file, err := files.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read, so an error does not matter
	decoder, err := newDecoder()
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	frame, _, err := nextFrame(bufio.NewReader(file))
	if err == nil {
		var batch *events.Batch
		if batch, err = decodeFrame(decoder, frame); batch != nil && len(batch.Events) > 0 {
			if started, ok := batch.Events[0].(*events.ApplicationStarted); ok {
				return started, nil
			}
		}
	}
	return nil, fmt.Errorf("%s: the log does not begin with the application's start: %w", path, cmp.Or(err, errors.New("its first lines are others")))
}

// WithEnd returns state, and changes it if the log contains no end of the application. In that case
// the driver was probably killed, so WithEnd sets the application's state to killed and its end to
// the time of its latest event.
func WithEnd(state *events.Snapshot) *events.Snapshot {
	if state.Application.State == events.StateRunning {
		state.Application.State, state.Application.Ended = events.StateKilled, state.Latest
		state.Application.Error = "The log has no end: the driver was killed, or the application runs and has written nothing later."
	}
	return state
}
