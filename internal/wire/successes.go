package wire

// metricsFields is how many fields Metrics has.
const metricsFields = 8

// IsPlain is whether an update tells of a success, and of nothing that Successes
// has no field for.
func (u *TaskUpdate) IsPlain() bool {
	return u.GetState() == TaskState_TASK_STATE_FINISHED && u.GetMetrics() != nil && u.GetValues() == nil
}

// NewSuccesses tells what plain updates do.
func NewSuccesses(updates []*TaskUpdate) *Successes {
	s := &Successes{Attempts: make([]uint64, 0, len(updates))}
	width := 0 // of the metrics that are told
	for i, u := range updates {
		s.Attempts = append(s.Attempts, u.GetAttempt())
		if len(u.GetResult()) > 0 && s.Results == nil {
			s.Results = make([][]byte, len(updates))
		}
		if s.Results != nil {
			s.Results[i] = u.GetResult()
		}
		for at, value := range u.GetMetrics().fields() {
			if value != 0 {
				width = max(width, at+1)
			}
		}
	}
	s.Metrics = make([]uint64, 0, width*len(updates))
	for _, u := range updates {
		fields := u.GetMetrics().fields()
		s.Metrics = append(s.Metrics, fields[:width]...)
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
	var fields [metricsFields]uint64
	width := len(s.GetMetrics()) / len(s.GetAttempts())
	copy(fields[:], s.GetMetrics()[at*width:(at+1)*width])
	into.Metrics.set(fields)
}

// fields are the metrics in the order of their numbers.
func (m *Metrics) fields() [metricsFields]uint64 {
	return [...]uint64{m.GetRunNanos(), m.GetResultBytes(), m.GetQueueNanos(), m.GetDecodeNanos(), m.GetEncodeNanos(),
		m.GetPeakMemoryBytes(), m.GetBytesRead(), m.GetBytesWritten()}
}

func (m *Metrics) set(fields [metricsFields]uint64) {
	m.RunNanos, m.ResultBytes, m.QueueNanos, m.DecodeNanos = fields[0], fields[1], fields[2], fields[3]
	m.EncodeNanos, m.PeakMemoryBytes, m.BytesRead, m.BytesWritten = fields[4], fields[5], fields[6], fields[7]
}
