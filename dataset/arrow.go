package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/bobbin-yarn/bobbin/storage"
)

// ArrowRecords returns the record batches of files in Arrow's IPC file or stream format.
// Each file is read by one task. A batch, and the strings and slices of its columns, are
// valid only until the function that receives it returns, unless that function calls the
// batch's Retain. [Text] describes how path selects files.
func ArrowRecords(p *Plan, path string, options ...ReadOption) *Of[arrow.RecordBatch] {
	n := newSource[arrow.RecordBatch](p, "ArrowRecords", path, options)
	n.source.whole = true
	return newOf(p, n, func(x *taskContext, partition int, emit func(arrow.RecordBatch) bool) {
		for _, split := range x.splits(n, partition) {
			if !x.arrowRecords(split, emit) {
				return
			}
		}
	})
}

// arrowMagic is at the beginning of an Arrow IPC file. A stream does not begin with it.
var arrowMagic = []byte("ARROW1")

// arrowRecords calls emit with each record batch of a file. It returns false if emit
// returns false, or after an error.
func (x *taskContext) arrowRecords(split storage.Split, emit func(arrow.RecordBatch) bool) bool {
	next, closeFile, err := openArrow(x, split)
	if err != nil {
		return x.fail(fmt.Errorf("%s: %w", split.Path, err))
	}
	defer closeFile()
	for index := 0; ; index++ {
		record, err := next()
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			return x.fail(fmt.Errorf("%s: record %d: %w", split.Path, index, err))
		}
		x.measured.RecordsIn++
		goOn := emit(record)
		record.Release()
		if !goOn {
			return false
		}
	}
}

// openArrow opens a file in Arrow's IPC file or stream format. next returns the next record
// batch, which the caller must release, or io.EOF at the end.
func openArrow(x *taskContext, split storage.Split) (next func() (arrow.RecordBatch, error), closeFile func(), err error) {
	if split.Compression == "" {
		file, err := x.task.Files().Open(x.task, split.Path)
		if err != nil {
			return nil, nil, err
		}
		closeFile = func() { _ = file.Close() } // it was only read
		start := make([]byte, len(arrowMagic))
		if n, _ := file.ReadAt(start, 0); bytes.Equal(start[:n], arrowMagic) {
			next, err = arrowFile(file)
		} else {
			next, err = arrowStream(file)
		}
		if err != nil {
			closeFile()
		}
		return next, closeFile, err
	}
	stream, err := split.Open(x.task)
	if err != nil {
		return nil, nil, err
	}
	if next, err = arrowStream(stream); err != nil {
		_ = stream.Close()
	}
	return next, func() { _ = stream.Close() }, err
}

func arrowFile(file storage.File) (next func() (arrow.RecordBatch, error), err error) {
	defer recoverArrow(&err)
	reader, err := ipc.NewFileReader(file)
	if err != nil {
		return nil, err
	}
	index := 0
	return func() (record arrow.RecordBatch, err error) {
		defer recoverArrow(&err)
		if index == reader.NumRecords() {
			return nil, io.EOF
		}
		if record, err = reader.RecordBatchAt(index); err != nil {
			return nil, err
		}
		index++
		return record, nil
	}, nil
}

func arrowStream(stream io.Reader) (next func() (arrow.RecordBatch, error), err error) {
	defer recoverArrow(&err)
	reader, err := ipc.NewReader(stream)
	if err != nil {
		return nil, err
	}
	return func() (record arrow.RecordBatch, err error) {
		defer recoverArrow(&err)
		if record, err = reader.Read(); err != nil {
			return nil, err
		}
		record.Retain()
		return record, nil
	}, nil
}

// recoverArrow, if deferred, turns a panic into *err, because the Arrow readers panic on
// some malformed input.
func recoverArrow(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("not a valid Arrow file: %v", r)
	}
}
