package launch

import "time"

// DiaryFile is the name, in the AM's log directory, of the file in which the AM
// notes its executors' containers: one DiaryEntry in JSON a line.
const DiaryFile = "containers.jsonl"

// States of a container in the diary.
const (
	DiaryStarted   = "started"
	DiaryCompleted = "completed"
	// DiaryLauncher is the state of an entry without a container: the AM itself
	// only launches executors, for a driver outside the cluster.
	DiaryLauncher = "launcher"
)

// DiaryEntry tells that an executor's container has started or ended, or what
// the AM is.
type DiaryEntry struct {
	Time            time.Time `json:"time"`
	Container       string    `json:"container"`
	Executor        string    `json:"executor"`
	Host            string    `json:"host"`
	NodeHTTPAddress string    `json:"nodeHttpAddress"` // host:port
	State           string    `json:"state"`           // one of the Diary constants
	ExitStatus      int       `json:"exitStatus"`      // of a completed one
}
