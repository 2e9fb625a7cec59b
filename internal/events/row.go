package events

import "time"

// Micros is a duration in microseconds, or a time in microseconds since 1970 (UTC).
type Micros int64

// MicrosOf returns a time as Micros; 0 for the zero time.
func MicrosOf(t time.Time) Micros {
	if t.IsZero() {
		return 0
	}
	return Micros(t.UnixMicro())
}

// Time returns m as a time.
func (m Micros) Time() time.Time { return time.UnixMicro(int64(m)).UTC() }

// Duration returns m as a duration.
func (m Micros) Duration() time.Duration { return time.Duration(m) * time.Microsecond }

// Outcome is how an attempt ended, or that it has not ended.
type Outcome uint8

// Outcomes of attempts.
const (
	OutcomeRunning      Outcome = iota
	OutcomeSucceeded            // its result counts
	OutcomeFailed               // its function failed
	OutcomeExecutorLost         // its executor was lost
	OutcomeKilled               // the driver killed it: another attempt was faster, or the job ended
	OutcomeRecalled             // it was queued at its executor and taken back before it started
)

// Attempt is a row for one attempt of a task. It is recorded when the attempt begins and again
// when it ends.
type Attempt struct {
	Set         uint64  `json:"set"`
	Task        uint32  `json:"task"`     // its index
	Number      uint32  `json:"number"`   // 0 for the task's first attempt
	Executor    uint32  `json:"executor"` // number of the executor's registration
	Outcome     Outcome `json:"outcome"`
	Locality    uint8   `json:"locality"` // one of the Locality constants
	Speculative bool    `json:"speculative,omitempty"`
	// Start is when the driver launched the attempt. End is when the driver learned that it
	// had ended; 0 if it runs.
	Start Micros `json:"start"`
	End   Micros `json:"end,omitempty"`
	// Queue is how long the attempt waited at the executor for a core. Decode (of the input),
	// Run (of the function) and Encode (of the result) are how long its phases at the executor
	// took. The rest of End - Start is spent in the driver and on the network.
	Queue        Micros `json:"queue,omitempty"`
	Decode       Micros `json:"decode,omitempty"`
	Run          Micros `json:"run,omitempty"`
	Encode       Micros `json:"encode,omitempty"`
	ResultBytes  int64  `json:"resultBytes,omitempty"`
	BytesRead    int64  `json:"bytesRead,omitempty"`
	BytesWritten int64  `json:"bytesWritten,omitempty"`
	PeakMemory   int64  `json:"peakMemory,omitempty"` // the executor's largest heap meanwhile, in bytes
}

// Took returns how long an attempt took. The attempt must have ended.
func (a *Attempt) Took() time.Duration { return (a.End - a.Start).Duration() }

// Levels of locality.
const (
	LocalityProcess uint8 = iota
	LocalityNode
	LocalityNoPreference
	LocalityRack
	LocalityAny
	localityCount
)

// Measurement is a row that says what a task of a data set's stage has processed. The bytes of
// shuffles are those that are stored and sent, which may be compressed.
type Measurement struct {
	Set            uint64
	Task           uint32
	RecordsIn      int64
	RecordsOut     int64
	ShuffleLocal   int64 // bytes of shuffles read on the task's host
	ShuffleRemote  int64 // bytes of shuffles fetched from other hosts
	ShuffleWritten int64
	Spilled        int64 // bytes written to disk because memory was full
}

// MemorySample is a row with the memory of an executor's process at one time.
type MemorySample struct {
	Executor uint32
	Time     Micros
	Resident int64 // bytes
}

// Omitted counts attempts of a task set that have no rows, because too many attempts started
// in a second. Those of them that have ended have all succeeded.
type Omitted struct {
	Set      uint64 `json:"set"`
	Launched int    `json:"launched,omitempty"` // attempts that started
	Ended    int    `json:"ended,omitempty"`    // attempts that ended
	Sums     Sums   `json:"sums,omitzero"`      // over those that ended; Localities of those launched
	// Took has the durations of those that ended.
	Took Histogram `json:"took,omitzero"`
}

// Sums are sums over attempts, except PeakMemory, which is a maximum.
type Sums struct {
	Took         Micros             `json:"took,omitempty"`
	Queue        Micros             `json:"queue,omitempty"`
	Decode       Micros             `json:"decode,omitempty"`
	Run          Micros             `json:"run,omitempty"`
	Encode       Micros             `json:"encode,omitempty"`
	ResultBytes  int64              `json:"resultBytes,omitempty"`
	BytesRead    int64              `json:"bytesRead,omitempty"`
	BytesWritten int64              `json:"bytesWritten,omitempty"`
	PeakMemory   int64              `json:"peakMemory,omitempty"` // the largest one
	Localities   [localityCount]int `json:"localities,omitzero"`  // launched attempts, by level
}

func (s *Sums) add(a *Attempt) {
	s.Took += a.End - a.Start
	s.Queue += a.Queue
	s.Decode += a.Decode
	s.Run += a.Run
	s.Encode += a.Encode
	s.ResultBytes += a.ResultBytes
	s.BytesRead += a.BytesRead
	s.BytesWritten += a.BytesWritten
	s.PeakMemory = max(s.PeakMemory, a.PeakMemory)
}

func (s *Sums) merge(other *Sums) {
	s.Took += other.Took
	s.Queue += other.Queue
	s.Decode += other.Decode
	s.Run += other.Run
	s.Encode += other.Encode
	s.ResultBytes += other.ResultBytes
	s.BytesRead += other.BytesRead
	s.BytesWritten += other.BytesWritten
	s.PeakMemory = max(s.PeakMemory, other.PeakMemory)
	for level, n := range other.Localities {
		s.Localities[level] += n
	}
}

// Batch has the events and rows that were recorded in a short time. Consumers must neither
// change nor keep it.
type Batch struct {
	Events []Event
	// Attempts has a row for each attempt that began (OutcomeRunning), and one for each that
	// ended, in the order in which they did.
	Attempts     []Attempt
	Omitted      []Omitted
	Measurements []Measurement
	Memory       []MemorySample
}
