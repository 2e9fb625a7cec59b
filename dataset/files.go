package dataset

import (
	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/storage"
)

// WholeFiles prevents files from being split: each file is read as a whole by one task. It is
// for formats that can be read only from the beginning of a file.
func WholeFiles() ReadOption { return func(s *source) { s.whole = true } }

// SeparateSplits makes each split of a file a separate partition, however small the split
// is. By default, small files share a partition.
func SeparateSplits() ReadOption { return func(s *source) { s.separateSplits = true } }

// FileSplit is the part of a file that a task reads.
type FileSplit struct {
	// Task is the running task. It is a context: storage.From(Task) opens the file.
	Task *bobbin.Task
	// Split is a byte range of the file. The task reads the records, or blocks of records,
	// that begin in the range, even if they end after it. So each record is read exactly
	// once.
	Split storage.Split
	// Memory is how many bytes of memory the task may use.
	Memory int64
}

// Files reads files of a format that this package does not support, with the function read.
// operator is the name of the function that calls Files, for messages and the web pages.
//
// Files calls read for each split. read must call emit with each element, until emit
// returns false. If read returns an error, the task fails and is retried; it is not retried
// if the error is from [Malformed]. The error should name the file. read must depend only
// on its arguments and the arguments of the plan. It need not set fields of T with the tag
// `partition`, because Files sets them; see [PartitionBy]. [Text] describes how path
// selects files.
func Files[T any](p *Plan, operator, path string, read func(in *FileSplit, emit func(T) bool) error, options ...ReadOption) *Of[T] {
	n := newSource[T](p, operator, path, options)
	return newOf(p, n, func(x *taskContext, partition int, emit func(T) bool) {
		eachSplit(x, n, partition, emit, func(split storage.Split, emit func(T) bool) bool {
			goOn := true
			err := read(&FileSplit{Task: x.task, Split: split, Memory: x.service.TaskMemory()}, func(element T) bool {
				x.measured.RecordsIn++
				goOn = emit(element)
				return goOn
			})
			if err != nil {
				return x.fail(err)
			}
			return goOn
		})
	})
}

// Malformed returns err as an error that fails the task without a retry, because reading
// the same input again cannot help.
func Malformed(err error) error { return permanentError{err} }
