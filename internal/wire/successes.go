package wire

import (
	"encoding/binary"
	"errors"
)

// IsPlain reports whether an update can be encoded in Successes: it reports a success with
// metrics and without counters and gauges.
func (u *TaskUpdate) IsPlain() bool {
	return u.GetState() == TaskState_TASK_STATE_FINISHED && u.GetMetrics() != nil && u.GetValues() == nil
}

// SuccessBuilder encodes plain updates (see IsPlain) as one Successes message. The
// zero value is ready for use.
type SuccessBuilder struct {
	built *Successes
	count int
	last  uint64 // id of the most recently added attempt
}

// Add adds a plain update. The builder retains the update's result, but not the update.
func (b *SuccessBuilder) Add(u *TaskUpdate) {
	if b.built == nil {
		b.built = &Successes{}
	}
	s := b.built
	s.Attempts = binary.AppendVarint(s.Attempts, int64(u.GetAttempt()-b.last))
	b.last = u.GetAttempt()
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
			*column = make([]byte, b.count) // the values of the earlier attempts: zeros of one byte each
		}
		*column = binary.AppendUvarint(*column, *field)
	}
	b.count++
}

// Take returns the encoded updates and empties the builder. It returns nil if no update was
// added.
func (b *SuccessBuilder) Take() *Successes {
	built := b.built
	*b = SuccessBuilder{}
	return built
}

// SuccessReader decodes the updates in a Successes message one by one.
type SuccessReader struct {
	into      *TaskUpdate
	attempts  []byte
	results   [][]byte // results that have not been decoded yet
	noResults bool     // no update of the message has a result
	columns   [8]column
	used      int // number of metrics for which the message contains values
	err       error
}

// column is a list of the values of one metric, one for each attempt in a Successes message.
type column struct {
	value *uint64 // the field in which Next stores the next attempt's value
	rest  []byte  // encoded values that have not been decoded yet
}

var errUnreadable = errors.New("malformed message of successes: its results or metrics do not match its attempts, or a number exceeds 64 bits")

// Read returns a reader of the updates in the message. Each call of the reader's method Next
// overwrites *into, including the fields of into.Metrics, with the next update.
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
	r := SuccessReader{into: into, attempts: s.GetAttempts(), results: s.GetResults(), noResults: len(s.GetResults()) == 0}
	fields := metrics.fields()
	for i, content := range s.columns() {
		if len(*content) > 0 {
			r.columns[r.used] = column{value: fields[i], rest: *content}
			r.used++
		}
	}
	return r
}

// Next decodes the next update. It returns false after the last update and after an error (see
// Err).
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
	case !r.noResults:
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

// end is called after the last attempt. It sets the error if undecoded results or values of
// metrics remain, because they belong to no attempt. It always returns false, for Next to
// return.
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

// Err returns the error because of which Next returned false, or nil if there was none.
func (r *SuccessReader) Err() error { return r.err }

// columns returns the fields with encoded metrics, in the order of Metrics.fields.
func (s *Successes) columns() [8]*[]byte {
	return [...]*[]byte{&s.RunNanos, &s.ResultBytes, &s.QueueNanos, &s.DecodeNanos, &s.EncodeNanos, &s.PeakMemoryBytes, &s.BytesRead, &s.BytesWritten}
}

// fields returns pointers to the metrics, in the order of Successes.columns.
func (m *Metrics) fields() [8]*uint64 {
	return [...]*uint64{&m.RunNanos, &m.ResultBytes, &m.QueueNanos, &m.DecodeNanos, &m.EncodeNanos, &m.PeakMemoryBytes, &m.BytesRead, &m.BytesWritten}
}
