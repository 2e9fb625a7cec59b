package storage

import (
	"bufio"
	"context"
	"errors"
)

// writeBuffer is what a Writer gathers before it passes bytes on: one packet
// of HDFS.
const writeBuffer = 64 << 10

var errAborted = errors.New("the writing of this file was aborted")

// Writer writes a new file. Small writes are gathered. It is for one goroutine
// at a time.
type Writer struct {
	buffer *bufio.Writer
	sink   sink
	done   bool
	err    error // what Close came to
}

func create(ctx context.Context, l location, settings createSettings) (*Writer, error) {
	s, err := l.system.create(ctx, l.path, settings)
	if err != nil {
		return nil, err
	}
	if usage := usageOf(ctx); usage != nil {
		s = &countedSink{sink: s, usage: usage}
	}
	return &Writer{buffer: bufio.NewWriterSize(s, writeBuffer), sink: s}, nil
}

// Write adds p to the file. An error may be that of an earlier write.
func (w *Writer) Write(p []byte) (int, error) { return w.buffer.Write(p) }

// WriteString adds s to the file.
func (w *Writer) WriteString(s string) (int, error) { return w.buffer.WriteString(s) }

// Close completes the file. Only when it returns nil is all that was written
// stored; otherwise it returns what went wrong, and the file is removed. A
// further Close returns the same again.
func (w *Writer) Close() error {
	if w.done {
		return w.err
	}
	w.done = true
	if w.err = w.buffer.Flush(); w.err == nil {
		w.err = w.sink.Close()
	}
	if w.err != nil {
		// What went wrong first is what counts.
		_ = w.sink.Abort()
	}
	return w.err
}

// Abort gives the file up and removes it. After Close it does nothing, so
// that it can be deferred.
func (w *Writer) Abort() error {
	if w.done {
		return nil
	}
	w.done, w.err = true, errAborted
	return w.sink.Abort()
}
