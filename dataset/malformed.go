package dataset

import (
	"errors"
	"log/slog"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/storage"
)

// Handling is what a source does with records that it cannot decode; see [OnMalformed].
type Handling int

const (
	// Fail fails the job. The error names the file and the line of the record.
	Fail Handling = iota
	// Drop omits the record, and counts it in [DroppedRecords].
	Drop
)

// OnMalformed sets what [JSON] and [CSV] do with records that they cannot decode. The
// default is [Fail]. [MalformedOf] returns these records.
//
// In CSV, a quote that is not closed makes the rest of the file part of one record. If this
// record exceeds the memory that a task may use, the job fails, even with [Drop]. If fields
// have no line breaks, use [LineRecords]: then only the line with the quote is malformed.
func OnMalformed(handling Handling) ReadOption { return func(s *source) { s.malformed = handling } }

// DroppedRecords counts the records that sources with OnMalformed([Drop]) omitted.
var DroppedRecords = bobbin.NewCounter("dropped malformed records")

// MalformedRecord is a record of a file that a source cannot decode.
type MalformedRecord struct {
	Path string // full URI of the file
	// Line is the number of the record's first line. Offset is the byte offset in the file,
	// as stored, after which lines are counted: the first line that begins after it is line
	// 1. If Offset is 0, line 1 is the first line of the file.
	Line, Offset int64
	// Text is the line or, for CSV, the fields that were read, without their quotes.
	Text  string
	Error string
}

// MalformedOf returns the records that a [JSON] or [CSV] source cannot decode, whatever its
// option [OnMalformed] is. in must be the result of JSON or CSV. If the elements of in are
// computed too, the files are read twice.
func MalformedOf[T any](in *Of[T]) *Of[MalformedRecord] {
	n := &node{operator: "MalformedOf", source: in.node.source, arguments: in.node.arguments}
	reject := in.node.malformed
	if reject == nil {
		in.plan.reject("MalformedOf", errors.New("its data set must be that of JSON or CSV, in the same plan"))
		n.source = &source{}
	}
	n.partitions = func(l *layout) int { return l.Sources[n.ref()] }
	return newOf(in.plan, n, func(x *taskContext, partition int, emit func(MalformedRecord) bool) {
		for _, split := range x.splits(n, partition) {
			if !reject(x, split, emit) {
				return
			}
		}
	})
}

// malformedFunc is called with each malformed record. It returns false to stop reading.
type malformedFunc func(line int64, text string, err error) bool

// newRecords adds a source whose records may be malformed. read calls emit with each
// element of a split, and reject with each malformed record. It stops and returns false if
// emit or reject returns false.
func newRecords[T any](p *Plan, n *node, read func(x *taskContext, split storage.Split, emit func(T) bool, reject malformedFunc) bool) *Of[T] {
	n.malformed = func(x *taskContext, split storage.Split, emit func(MalformedRecord) bool) bool {
		return read(x, split, func(T) bool { return true }, func(line int64, text string, err error) bool {
			return emit(MalformedRecord{Path: split.Path, Line: line, Offset: split.Offset, Text: text, Error: err.Error()})
		})
	}
	return newOf(p, n, func(x *taskContext, partition int, emit func(T) bool) {
		dropped := 0
		eachSplit(x, n, partition, emit, func(split storage.Split, emit func(T) bool) bool {
			return read(x, split, emit, func(line int64, _ string, err error) bool {
				err = lineError(split, line, err)
				if n.source.malformed == Fail {
					return x.fail(err)
				}
				DroppedRecords.Add(x.task, 1)
				if dropped++; dropped <= maxDroppedLogs {
					slog.Warn("a malformed record was dropped", "error", err)
				}
				return true
			})
		})
	})
}

// maxDroppedLogs is the largest number of dropped records that are logged for each
// partition.
const maxDroppedLogs = 10
