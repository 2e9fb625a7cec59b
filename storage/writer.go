package storage

import (
	"bufio"
	"context"
	"errors"
)

// writeBuffer is the size in bytes of a Writer's buffer. It is the amount of data in one packet
// of HDFS's data transfer protocol.
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

// Write appends p to the file. Because the Writer has a buffer, Write may return the error of an
// earlier write.
func (w *Writer) Write(p []byte) (int, error) { return w.buffer.Write(p) }

// WriteString appends s to the file.
func (w *Writer) WriteString(s string) (int, error) { return w.buffer.WriteString(s) }

// Flush makes the data written so far visible to readers that open the file afterwards, even if
// this process dies. In HDFS, it sends the data to datanodes, and reports the new length to the
// NameNode with an RPC in each call.
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
		_ = w.sink.Abort() // return the first error
	}
	return w.err
}

// Abort stops writing and removes the file. After Close or Abandon, it does nothing, so it can
// be deferred.
func (w *Writer) Abort() error {
	if w.done {
		return nil
	}
	w.done, w.err = true, errAborted
	return w.sink.Abort()
}

// Abandon stops writing and leaves the file with the flushed data. HDFS completes the file when
// the writer's lease expires. After Close or Abort, Abandon does nothing.
func (w *Writer) Abandon() error {
	if w.done {
		return nil
	}
	w.done, w.err = true, errAborted
	return w.sink.Abandon()
}
