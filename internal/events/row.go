package events

import "time"

// Micros is a duration in microseconds, or a time in microseconds since 1970 (UTC).
type Micros int64

// MicrosOf returns a time as Micros. It returns 0 for the zero time.
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

// Outcome is the result of an attempt: whether it runs, or how it ended.
type Outcome uint8

// Outcomes of attempts.
const (
	OutcomeRunning      Outcome = iota
	OutcomeSucceeded            // the attempt's result was used
	OutcomeFailed               // the task function failed
	OutcomeExecutorLost         // the executor was lost
	OutcomeKilled               // the driver killed the attempt: another attempt was faster, or the job ended
	OutcomeRecalled             // the driver withdrew the attempt while it waited at the executor for a core
)

// Attempt is a row for one attempt of a task. One row is recorded when the attempt starts, and
// another when it ends.
type Attempt struct {
	Set         uint64  `json:"set"`
	Task        uint32  `json:"task"`     // index of the task in its task set
	Number      uint32  `json:"number"`   // 0 for the task's first attempt
	Executor    uint32  `json:"executor"` // number of the executor's registration, see ExecutorRegistered
	Outcome     Outcome `json:"outcome"`
	Locality    uint8   `json:"locality"` // one of the Locality constants
	Speculative bool    `json:"speculative,omitempty"`
	// Start is when the driver launched the attempt. End is when the driver received the
	// result; 0 while the attempt runs.
	Start Micros `json:"start"`
	End   Micros `json:"end,omitempty"`
	// Queue is how long the attempt waited at the executor for a core. Decode, Run and Encode
	// are how long the executor took to decode the input, run the function and encode the
	// result. The rest of End - Start is time in the driver and on the network.
	Queue        Micros `json:"queue,omitempty"`
	Decode       Micros `json:"decode,omitempty"`
	Run          Micros `json:"run,omitempty"`
	Encode       Micros `json:"encode,omitempty"`
	ResultBytes  int64  `json:"resultBytes,omitempty"`
	BytesRead    int64  `json:"bytesRead,omitempty"`
	BytesWritten int64  `json:"bytesWritten,omitempty"`
	PeakMemory   int64  `json:"peakMemory,omitempty"` // the largest heap of the executor's process during the attempt, in bytes
}

// Took returns the duration of an attempt that has ended.
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

// Measurement is a row with the amounts of data that a task of a data set's stage has
// processed. Bytes of shuffles are counted after compression.
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

// MemorySample is a row with the memory of an executor's process at a certain time.
type MemorySample struct {
	Executor uint32
	Time     Micros
	Resident int64 // in bytes
}

// Omitted counts attempts of a task set that have no rows, because too many attempts started in
// one second. All counted attempts that have ended have succeeded.
type Omitted struct {
	Set      uint64 `json:"set"`
	Launched int    `json:"launched,omitempty"` // attempts that started
	Ended    int    `json:"ended,omitempty"`    // attempts that ended
	Sums     Sums   `json:"sums,omitzero"`      // over the attempts that ended; but Localities counts the attempts that started
	// Took counts the durations of the ended attempts.
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
	PeakMemory   int64              `json:"peakMemory,omitempty"` // the maximum over the attempts, in bytes
	Localities   [localityCount]int `json:"localities,omitzero"`  // number of launched attempts, by locality level
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

// Batch contains the events and rows of a short time. Consumers must neither change a Batch nor
// use it after Consume has returned.
type Batch struct {
	Events []Event
	// Attempts contains a row for the start (OutcomeRunning) and a row for the end of each
	// attempt, in the order of these starts and ends.
	Attempts     []Attempt
	Omitted      []Omitted
	Measurements []Measurement
	Memory       []MemorySample
}
