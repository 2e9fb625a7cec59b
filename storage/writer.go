package storage

import (
	"bufio"
	"context"
	"errors"
)

// writeBuffer is the size in bytes of a Writer's buffer: that of the data in one packet of
// HDFS's data transfer protocol.
const writeBuffer = 64 << 10

var errAborted = errors.New("the writing of this file was aborted")

// Writer writes a new file through a buffer. The file is complete only after Close
// returns nil. A Writer must not be used concurrently.
type Writer struct {
	buffer *bufio.Writer
	sink   sink
	done   bool
	err    error // result of Close
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

// Write appends p to the file, through a buffer. It may return the error of an earlier write.
func (w *Writer) Write(p []byte) (int, error) { return w.buffer.Write(p) }

// WriteString appends s to the file.
func (w *Writer) WriteString(s string) (int, error) { return w.buffer.WriteString(s) }

// Flush makes what was written so far visible to readers that open the file afterwards, even
// if this process dies. In HDFS, it sends what was written to datanodes, and sets the
// length that the NameNode reports; each call costs a call to the NameNode.
func (w *Writer) Flush() error {
	if err := w.buffer.Flush(); err != nil {
		return err
	}
	return w.sink.Flush()
}

// Close completes the file. If this or an earlier write fails, Close removes the file and
// returns the error. Further calls return the same result.
func (w *Writer) Close() error {
	if w.done {
		return w.err
	}
	w.done = true
	if w.err = w.buffer.Flush(); w.err == nil {
		w.err = w.sink.Close()
	}
	if w.err != nil {
		_ = w.sink.Abort() // the first error counts
	}
	return w.err
}

// Abort removes the file. After Close or Abandon it does nothing, so it can be deferred.
func (w *Writer) Abort() error {
	if w.done {
		return nil
	}
	w.done, w.err = true, errAborted
	return w.sink.Abort()
}

// Abandon ends the writing and keeps what was flushed. HDFS completes the file when the
// writer's lease expires. After Close or Abort it does nothing.
func (w *Writer) Abandon() error {
	if w.done {
		return nil
	}
	w.done, w.err = true, errAborted
	return w.sink.Abandon()
}
