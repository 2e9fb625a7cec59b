package eventlog

import "encoding/json"

// sparkEvent is the first field of each line: the type of the event.
type sparkEvent struct {
	Event string `json:"Event"`
}

func sparkType(name string) sparkEvent { return sparkEvent{Event: "SparkListener" + name} }

type sparkStage struct {
	ID              uint64             `json:"Stage ID"`
	Attempt         int                `json:"Stage Attempt ID"`
	Name            string             `json:"Stage Name"`
	Tasks           int                `json:"Number of Tasks"`
	RDDs            []struct{}         `json:"RDD Info"`
	Parents         []uint64           `json:"Parent IDs"`
	Details         string             `json:"Details"`
	Submitted       int64              `json:"Submission Time,omitempty"`
	Completed       int64              `json:"Completion Time,omitempty"`
	Failure         string             `json:"Failure Reason,omitempty"`
	Accumulables    []sparkAccumulable `json:"Accumulables"`
	ResourceProfile int                `json:"Resource Profile Id"`
}

type sparkAccumulable struct {
	ID          int    `json:"ID"`
	Name        string `json:"Name"`
	Value       string `json:"Value"`
	Internal    bool   `json:"Internal"`
	CountFailed bool   `json:"Count Failed Values"`
}

type sparkTask struct {
	ID            int64      `json:"Task ID"`
	Index         uint32     `json:"Index"`
	Attempt       uint32     `json:"Attempt"`
	Partition     uint32     `json:"Partition ID"`
	Launched      int64      `json:"Launch Time"`
	Executor      string     `json:"Executor ID"`
	Host          string     `json:"Host"`
	Locality      string     `json:"Locality"`
	Speculative   bool       `json:"Speculative"`
	GettingResult int64      `json:"Getting Result Time"`
	Finished      int64      `json:"Finish Time"`
	Failed        bool       `json:"Failed"`
	Killed        bool       `json:"Killed"`
	Accumulables  []struct{} `json:"Accumulables"`
}

type sparkTaskStart struct {
	sparkEvent
	Stage   uint64    `json:"Stage ID"`
	Attempt int       `json:"Stage Attempt ID"`
	Task    sparkTask `json:"Task Info"`
}

type sparkTaskEnd struct {
	sparkEvent
	Stage           uint64           `json:"Stage ID"`
	Attempt         int              `json:"Stage Attempt ID"`
	Type            string           `json:"Task Type"`
	Reason          any              `json:"Task End Reason"`
	Task            sparkTask        `json:"Task Info"`
	ExecutorMetrics map[string]int64 `json:"Task Executor Metrics"`
	Metrics         sparkMetrics     `json:"Task Metrics"`
}

// sparkMetrics are the metrics of a task attempt. Times are in milliseconds, except CPU times
// and the shuffle write time, which are in nanoseconds. Sizes are in bytes.
type sparkMetrics struct {
	DeserializeTime    int64 `json:"Executor Deserialize Time"`
	DeserializeCPUTime int64 `json:"Executor Deserialize CPU Time"`
	RunTime            int64 `json:"Executor Run Time"`
	CPUTime            int64 `json:"Executor CPU Time"`
	PeakMemory         int64 `json:"Peak Execution Memory"`
	ResultSize         int64 `json:"Result Size"`
	GCTime             int64 `json:"JVM GC Time"`
	SerializationTime  int64 `json:"Result Serialization Time"`
	MemorySpilled      int64 `json:"Memory Bytes Spilled"`
	DiskSpilled        int64 `json:"Disk Bytes Spilled"`
	ShuffleRead        struct {
		RemoteBlocks      int64 `json:"Remote Blocks Fetched"`
		LocalBlocks       int64 `json:"Local Blocks Fetched"`
		FetchWait         int64 `json:"Fetch Wait Time"`
		RemoteBytes       int64 `json:"Remote Bytes Read"`
		RemoteBytesToDisk int64 `json:"Remote Bytes Read To Disk"`
		LocalBytes        int64 `json:"Local Bytes Read"`
		Records           int64 `json:"Total Records Read"`
	} `json:"Shuffle Read Metrics"`
	ShuffleWrite struct {
		Bytes   int64 `json:"Shuffle Bytes Written"`
		Time    int64 `json:"Shuffle Write Time"`
		Records int64 `json:"Shuffle Records Written"`
	} `json:"Shuffle Write Metrics"`
	Input struct {
		Bytes   int64 `json:"Bytes Read"`
		Records int64 `json:"Records Read"`
	} `json:"Input Metrics"`
	Output struct {
		Bytes   int64 `json:"Bytes Written"`
		Records int64 `json:"Records Written"`
	} `json:"Output Metrics"`
	UpdatedBlocks []struct{} `json:"Updated Blocks"`
}

func appendSpark(lines []byte, object any) []byte {
	encoded, err := json.Marshal(object)
	if err != nil {
		return lines // never happens, because all fields of these types can be encoded as JSON
	}
	return append(append(lines, encoded...), '\n')
}

func newSparkStage(id uint64, attempt int, name string, tasks int, parents []uint64) sparkStage {
	return sparkStage{
		ID: id, Attempt: attempt, Name: name, Tasks: tasks, RDDs: []struct{}{}, Parents: append([]uint64{}, parents...), Accumulables: []sparkAccumulable{},
	}
}
