package bobbin

import (
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
)

// ErrCancelled ends a run that [Session.CancelJob] or [Session.CancelGroup]
// cancelled; the error's text has the reason.
var ErrCancelled = driver.ErrCancelled

// Job is one run of a function, as [Session.Jobs] tells of it.
type Job struct {
	ID          uint64
	Name        string
	Group       string // of the run's context; see [Group]
	Description string
	Pool        string // "" where there are none, as scheduler.mode is FIFO
	State       string // "running", "succeeded", "failed" or "cancelled"
	Tasks       int
	Done        int // tasks
	Running     int // attempts of tasks
	Submitted   time.Time
	// Waits is why nothing of it is started, where that is worth a look: "no
	// executor … has registered"; else "".
	Waits string
}

// Jobs are the runs of this process, of all sessions, as they were submitted:
// those that run, and of those that have ended the latest hundred.
func (s *Session) Jobs() []Job {
	status := s.app.Driver.Status()
	jobs := make([]Job, len(status.Jobs))
	for i, job := range status.Jobs {
		jobs[i] = Job{
			ID: job.ID, Name: job.Name, Group: job.Group, Description: job.Description, Pool: job.Pool, State: job.State,
			Tasks: job.Total, Done: job.Done, Running: job.Running, Submitted: job.Submitted, Waits: job.Waits,
		}
	}
	return jobs
}

// CancelJob ends the run of an id with [ErrCancelled], and kills its tasks, whose
// contexts have the reason in their cause. It reports whether such a run was going
// on. A task that does not heed its context costs its executor after
// task.reaper.killTimeout.
func (s *Session) CancelJob(id uint64, reason string) bool { return s.app.Driver.CancelJob(id, reason) }

// CancelGroup is CancelJob for every run of a [Group] that goes on, and returns
// how many these were.
func (s *Session) CancelGroup(name, reason string) int { return s.app.Driver.CancelGroup(name, reason) }
