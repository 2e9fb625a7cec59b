package eventlog

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

// column describes how the log stores one value of the rows of type T.
type column[T any] struct {
	name  string
	delta bool // the log stores the difference from the value of the previous row
	get   func(*T) int64
	set   func(*T, int64)
}

// maxLineRows is the maximum number of rows in a line of the log.
const maxLineRows = 64 << 10

// attemptColumns are the columns of task attempts. otherColumn must be the last column, because
// setOther reads fields that the columns before it set.
var attemptColumns = []column[events.Attempt]{
	{"set", true, func(a *events.Attempt) int64 { return int64(a.Set) }, func(a *events.Attempt, v int64) { a.Set = uint64(v) }},
	{"task", true, func(a *events.Attempt) int64 { return int64(a.Task) }, func(a *events.Attempt, v int64) { a.Task = uint32(v) }},
	{"number", false, func(a *events.Attempt) int64 { return int64(a.Number) }, func(a *events.Attempt, v int64) { a.Number = uint32(v) }},
	{"executor", false, func(a *events.Attempt) int64 { return int64(a.Executor) }, func(a *events.Attempt, v int64) { a.Executor = uint32(v) }},
	{"locality", false, func(a *events.Attempt) int64 { return int64(a.Locality) }, func(a *events.Attempt, v int64) { a.Locality = uint8(v) }},
	{"speculative", false, func(a *events.Attempt) int64 { return toInt(a.Speculative) }, func(a *events.Attempt, v int64) { a.Speculative = v != 0 }},
	{"start", true, func(a *events.Attempt) int64 { return int64(a.Start) }, func(a *events.Attempt, v int64) { a.Start = events.Micros(v) }},
	{"outcome", false, func(a *events.Attempt) int64 { return int64(a.Outcome) }, func(a *events.Attempt, v int64) { a.Outcome = events.Outcome(v) }},
	{"queue", false, func(a *events.Attempt) int64 { return int64(a.Queue) }, func(a *events.Attempt, v int64) { a.Queue = events.Micros(v) }},
	{"decode", false, func(a *events.Attempt) int64 { return int64(a.Decode) }, func(a *events.Attempt, v int64) { a.Decode = events.Micros(v) }},
	{"run", false, func(a *events.Attempt) int64 { return int64(a.Run) }, func(a *events.Attempt, v int64) { a.Run = events.Micros(v) }},
	{"encode", false, func(a *events.Attempt) int64 { return int64(a.Encode) }, func(a *events.Attempt, v int64) { a.Encode = events.Micros(v) }},
	{"resultBytes", false, func(a *events.Attempt) int64 { return a.ResultBytes }, func(a *events.Attempt, v int64) { a.ResultBytes = v }},
	{"bytesRead", false, func(a *events.Attempt) int64 { return a.BytesRead }, func(a *events.Attempt, v int64) { a.BytesRead = v }},
	{"bytesWritten", false, func(a *events.Attempt) int64 { return a.BytesWritten }, func(a *events.Attempt, v int64) { a.BytesWritten = v }},
	{"peakMemory", true, func(a *events.Attempt) int64 { return a.PeakMemory }, func(a *events.Attempt, v int64) { a.PeakMemory = v }},
	{otherColumn, false, getOther, setOther},
}

// otherColumn is the column with the part of an attempt's duration that is not in the attempt's
// phases (see phasesEnd). The log does not store the end of an attempt, because the end is the sum
// of its start, its phases and this column.
const otherColumn = "other"

func getOther(a *events.Attempt) int64 {
	if a.Outcome == events.OutcomeRunning {
		return 0
	}
	return int64(a.End - phasesEnd(a))
}

func setOther(a *events.Attempt, other int64) {
	if a.Outcome != events.OutcomeRunning {
		a.End = phasesEnd(a) + events.Micros(other)
	}
}

// phasesEnd returns the start of an attempt plus the durations of its phases: queue, decode, run
// and encode.
func phasesEnd(a *events.Attempt) events.Micros {
	return a.Start + a.Queue + a.Decode + a.Run + a.Encode
}

var measurementColumns = []column[events.Measurement]{
	{"set", true, func(m *events.Measurement) int64 { return int64(m.Set) }, func(m *events.Measurement, v int64) { m.Set = uint64(v) }},
	{"task", true, func(m *events.Measurement) int64 { return int64(m.Task) }, func(m *events.Measurement, v int64) { m.Task = uint32(v) }},
	{"recordsIn", false, func(m *events.Measurement) int64 { return m.RecordsIn }, func(m *events.Measurement, v int64) { m.RecordsIn = v }},
	{"recordsOut", false, func(m *events.Measurement) int64 { return m.RecordsOut }, func(m *events.Measurement, v int64) { m.RecordsOut = v }},
	{"shuffleLocal", false, func(m *events.Measurement) int64 { return m.ShuffleLocal }, func(m *events.Measurement, v int64) { m.ShuffleLocal = v }},
	{"shuffleRemote", false, func(m *events.Measurement) int64 { return m.ShuffleRemote }, func(m *events.Measurement, v int64) { m.ShuffleRemote = v }},
	{"shuffleWritten", false, func(m *events.Measurement) int64 { return m.ShuffleWritten }, func(m *events.Measurement, v int64) { m.ShuffleWritten = v }},
	{"spilled", false, func(m *events.Measurement) int64 { return m.Spilled }, func(m *events.Measurement, v int64) { m.Spilled = v }},
}

var memoryColumns = []column[events.MemorySample]{
	{"executor", true, func(s *events.MemorySample) int64 { return int64(s.Executor) }, func(s *events.MemorySample, v int64) { s.Executor = uint32(v) }},
	{"time", true, func(s *events.MemorySample) int64 { return int64(s.Time) }, func(s *events.MemorySample, v int64) { s.Time = events.Micros(v) }},
	{"resident", false, func(s *events.MemorySample) int64 { return s.Resident }, func(s *events.MemorySample, v int64) { s.Resident = v }},
}

func toInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// appendRows encodes rows as one line of the log, and appends it to the buffer named line. It omits
// columns in which all values are 0.
func appendRows[T any](line []byte, kind string, columns []column[T], rows []T) []byte {
	line = append(line, `{"type":"`...)
	line = append(line, kind...)
	line = append(line, `","n":`...)
	line = strconv.AppendInt(line, int64(len(rows)), 10)
	for _, c := range columns {
		before := len(line)
		line = append(line, `,"`...)
		line = append(line, c.name...)
		line = append(line, `":[`...)
		var any, previous int64
		for i := range rows {
			value := c.get(&rows[i])
			any |= value
			if i > 0 {
				line = append(line, ',')
			}
			line = strconv.AppendInt(line, value-previous, 10)
			if c.delta {
				previous = value
			}
		}
		if line = append(line, ']'); any == 0 {
			line = line[:before]
		}
	}
	return append(line, '}', '\n')
}

// decodeRows decodes the fields of a line that appendRows has encoded. It ignores unknown columns.
func decodeRows[T any](fields map[string]json.RawMessage, columns []column[T]) ([]T, error) {
	var n int
	if err := json.Unmarshal(fields["n"], &n); err != nil {
		return nil, fmt.Errorf("the number of rows: %w", err)
	}
	if n < 0 || n > maxLineRows {
		return nil, fmt.Errorf("%d rows in a line, must be 0 to %d", n, maxLineRows)
	}
	rows := make([]T, n)
	for _, c := range columns {
		encoded := fields[c.name]
		if encoded == nil {
			if c.name == otherColumn {
				for i := range rows {
					c.set(&rows[i], 0)
				}
			}
			continue
		}
		found, err := decodeColumn(encoded, rows, c)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.name, err)
		}
		if found != n {
			return nil, fmt.Errorf("column %s has %d values for %d rows", c.name, found, n)
		}
	}
	return rows, nil
}

// decodeColumn decodes a JSON array, sets column c of rows to the array's values, and returns the
// number of values. If the array has more values than there are rows, decodeColumn returns
// len(rows)+1.
func decodeColumn[T any](encoded []byte, rows []T, c column[T]) (found int, err error) {
	var previous, value int64
	digits, negative := 0, false
	for i, b := range encoded {
		switch {
		case b >= '0' && b <= '9' && digits < 19:
			value = value*10 + int64(b-'0')
			digits++
		case b == '-' && digits == 0 && !negative:
			negative = true
		case b == '[' && i == 0, b == ' ':
		case b == ',' || b == ']':
			if digits == 0 {
				if b == ']' && found == 0 {
					return 0, nil
				}
				return found, fmt.Errorf("value %d is no whole number", found)
			}
			if found == len(rows) {
				return found + 1, nil
			}
			if negative {
				value = -value
			}
			if c.delta {
				previous += value
				value = previous
			}
			c.set(&rows[found], value)
			found++
			value, digits, negative = 0, 0, false
		default:
			return found, fmt.Errorf("value %d is no whole number", found)
		}
	}
	return found, nil
}
