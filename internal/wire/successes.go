package wire

import (
	"encoding/binary"
	"errors"
)

// IsPlain is whether an update tells of a success, and of nothing that Successes
// has no field for.
func (u *TaskUpdate) IsPlain() bool {
	return u.GetState() == TaskState_TASK_STATE_FINISHED && u.GetMetrics() != nil && u.GetValues() == nil
}

// SuccessBuilder collects what plain updates tell. The zero value has nothing yet.
type SuccessBuilder struct {
	told   *Successes
	count  int
	latest uint64 // attempt
}

// Add adds what a plain update tells. Nothing of the update is kept but its result.
func (b *SuccessBuilder) Add(u *TaskUpdate) {
	if b.told == nil {
		b.told = &Successes{}
	}
	s := b.told
	s.Attempts = binary.AppendVarint(s.Attempts, int64(u.GetAttempt()-b.latest))
	b.latest = u.GetAttempt()
	if len(u.GetResult()) > 0 && s.Results == nil {
		s.Results = make([][]byte, b.count)
	}
	if s.Results != nil {
		s.Results = append(s.Results, u.GetResult())
	}
	columns := s.columns()
	for i, field := range u.Metrics.fields() {
		column := columns[i]
		if *field == 0 && *column == nil {
			continue
		}
		if *column == nil {
			*column = make([]byte, b.count) // zeros, of a byte each
		}
		*column = binary.AppendUvarint(*column, *field)
	}
	b.count++
}

// Take returns what was added, nil for nothing, and begins anew.
func (b *SuccessBuilder) Take() *Successes {
	told := b.told
	*b = SuccessBuilder{}
	return told
}

// SuccessReader reads what Successes tell, one attempt after the other.
type SuccessReader struct {
	into     *TaskUpdate
	attempts []byte
	results  [][]byte // those that are left
	plain    bool     // there are no results
	columns  [8]column
	used     int // of the columns
	err      error
}

// column is what is left of a metric, and where it goes.
type column struct {
	value *uint64
	rest  []byte
}

var errUnreadable = errors.New("a message of successes has not as much of everything as it has attempts, or numbers beyond 64 bits")

// Read reads what is told from the beginning, attempt by attempt, into an update and
// its metrics: one serves for all.
func (s *Successes) Read(into *TaskUpdate) SuccessReader {
	if s == nil {
		return SuccessReader{}
	}
	metrics := into.GetMetrics()
	if metrics == nil {
		metrics = &Metrics{}
	}
	metrics.Reset()
	into.Reset()
	into.State, into.Metrics = TaskState_TASK_STATE_FINISHED, metrics
	r := SuccessReader{into: into, attempts: s.GetAttempts(), results: s.GetResults(), plain: len(s.GetResults()) == 0}
	fields := metrics.fields()
	for i, content := range s.columns() {
		if len(*content) > 0 {
			r.columns[r.used] = column{value: fields[i], rest: *content}
			r.used++
		}
	}
	return r
}

// Next reads what is told of the next attempt. It returns false where there is no
// further one, or an error.
func (r *SuccessReader) Next() bool {
	if len(r.attempts) == 0 {
		return r.end()
	}
	step, n := binary.Varint(r.attempts)
	if n <= 0 {
		return r.fail()
	}
	r.attempts = r.attempts[n:]
	r.into.Attempt += uint64(step)
	r.into.Result = nil
	switch {
	case len(r.results) > 0:
		r.into.Result, r.results = r.results[0], r.results[1:]
	case !r.plain:
		return r.fail()
	}
	for i := range r.columns[:r.used] {
		c := &r.columns[i]
		if *c.value, n = binary.Uvarint(c.rest); n <= 0 {
			return r.fail()
		}
		c.rest = c.rest[n:]
	}
	return true
}

// end looks whether anything is left that is no attempt's.
func (r *SuccessReader) end() bool {
	left := len(r.results)
	for i := range r.columns[:r.used] {
		left += len(r.columns[i].rest)
	}
	if left > 0 {
		return r.fail()
	}
	return false
}

func (r *SuccessReader) fail() bool {
	r.attempts, r.err = nil, errUnreadable
	return false
}

// Err is why Next returned false; nil where all was read.
func (r *SuccessReader) Err() error { return r.err }

// columns are the metrics of all attempts, field by field.
func (s *Successes) columns() [8]*[]byte {
	return [...]*[]byte{&s.RunNanos, &s.ResultBytes, &s.QueueNanos, &s.DecodeNanos, &s.EncodeNanos, &s.PeakMemoryBytes, &s.BytesRead, &s.BytesWritten}
}

// fields are those of the columns.
func (m *Metrics) fields() [8]*uint64 {
	return [...]*uint64{&m.RunNanos, &m.ResultBytes, &m.QueueNanos, &m.DecodeNanos, &m.EncodeNanos, &m.PeakMemoryBytes, &m.BytesRead, &m.BytesWritten}
}
