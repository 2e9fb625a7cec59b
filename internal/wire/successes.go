package wire

// IsPlain is whether an update tells of a success, and of nothing that Successes
// has no field for.
func (u *TaskUpdate) IsPlain() bool {
	return u.GetState() == TaskState_TASK_STATE_FINISHED && u.GetMetrics() != nil && u.GetValues() == nil
}

// NewSuccesses tells what plain updates do.
func NewSuccesses(updates []*TaskUpdate) *Successes {
	s := &Successes{Attempts: make([]uint64, len(updates))}
	columns := s.columns()
	for i, u := range updates {
		s.Attempts[i] = u.GetAttempt()
		if len(u.GetResult()) > 0 && s.Results == nil {
			s.Results = make([][]byte, len(updates))
		}
		if s.Results != nil {
			s.Results[i] = u.GetResult()
		}
		for at, field := range u.Metrics.fields() {
			if *field == 0 {
				continue
			}
			if column := columns[at]; *column == nil {
				*column = make([]uint64, len(updates))
			}
			(*columns[at])[i] = *field
		}
	}
	return s
}

// Update is what is told of the attempt at a place. It overwrites into and its
// metrics, so that one update serves for all.
func (s *Successes) Update(at int, into *TaskUpdate) {
	into.Attempt, into.State, into.Result = s.GetAttempts()[at], TaskState_TASK_STATE_FINISHED, nil
	if results := s.GetResults(); at < len(results) {
		into.Result = results[at]
	}
	if into.Metrics == nil {
		into.Metrics = &Metrics{}
	}
	fields := into.Metrics.fields()
	for i, column := range s.columns() {
		*fields[i] = 0
		if at < len(*column) {
			*fields[i] = (*column)[at]
		}
	}
}

// columns are the metrics of all attempts, field by field.
func (s *Successes) columns() [8]*[]uint64 {
	return [...]*[]uint64{&s.RunNanos, &s.ResultBytes, &s.QueueNanos, &s.DecodeNanos, &s.EncodeNanos, &s.PeakMemoryBytes, &s.BytesRead, &s.BytesWritten}
}

// fields are those of the columns.
func (m *Metrics) fields() [8]*uint64 {
	return [...]*uint64{&m.RunNanos, &m.ResultBytes, &m.QueueNanos, &m.DecodeNanos, &m.EncodeNanos, &m.PeakMemoryBytes, &m.BytesRead, &m.BytesWritten}
}
