package bobbin

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/role"
	"github.com/bobbin-yarn/bobbin/storage"
)

var (
	// ErrClosed is the error of jobs that were running when [Session.Close] was called, and of jobs
	// that were submitted later.
	ErrClosed = errors.New("the session is closed")
	// ErrCancelled is the error of jobs that [Session.CancelJob] or [Session.CancelGroup]
	// cancelled. The error's text contains the reason.
	ErrCancelled = driver.ErrCancelled
)

// Session is a program's connection to its executors. It is safe for concurrent use.
type Session struct {
	app   *role.Application
	ctx   context.Context // see Session.Context
	close context.CancelCauseFunc
}

// NewSession connects the driver function to the application's executors. ctx must be the context
// of the driver function or derived from it. NewSession fails for any other context, and if ctx has
// ended.
func NewSession(ctx context.Context) (*Session, error) {
	app := role.FromContext(ctx)
	if app == nil {
		return nil, errors.New("no session without a driver: call NewSession in the function that bobbin.Main or " +
			"bobbin.RunLocal runs, with the context it got")
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	app.SessionCreated()
	session := &Session{app: app}
	session.ctx, session.close = context.WithCancelCause(ctx)
	return session, nil
}

// Close ends the session's running jobs with the error [ErrClosed]. The executors keep running
// until the driver function returns.
func (s *Session) Close() { s.close(ErrClosed) }

// Context returns a context that ends when the session is closed or when the context of the driver
// function ends. If the session was closed, the cause is [ErrClosed].
func (s *Session) Context() context.Context { return s.ctx }

// Release ends all holds on a key (see [Task.Hold]) on all executors. Call Release when no task
// needs the key's data any more. Release does not delete the data.
func (s *Session) Release(key string) { s.app.Driver.Release(key) }

// ApplicationID returns the application's id. On YARN, the ResourceManager assigns the id, and all
// attempts of the application share it. On a local master, the id is "local-…".
func (s *Session) ApplicationID() string { return s.app.ID }

// Files returns the file systems: HDFS and the driver's local disk. HDFS is accessed as the user
// who submitted the application.
func (s *Session) Files() *storage.Files { return s.app.Files }

// Job is the state of a job, which is one call of [Function.Run] or [Function.Stream].
type Job struct {
	ID          uint64
	Name        string
	Group       string // see [Group]
	Description string
	Pool        string // "" if scheduler.mode is FIFO
	State       string // "running", "succeeded", "failed" or "cancelled"
	Tasks       int
	Done        int // tasks that have succeeded
	Running     int // running task attempts
	Submitted   time.Time
	// WaitReason is the reason why the cluster cannot start any task of the job, such as "no
	// executor … has registered". It is "" if tasks can start, or if other jobs are ahead of this
	// job.
	WaitReason string
}

// Jobs returns the jobs of all sessions of this process in the order of their submission: all
// running jobs, and the latest 100 jobs that have ended.
func (s *Session) Jobs() []Job {
	status := s.app.Driver.Status()
	jobs := make([]Job, len(status.Jobs))
	for i, job := range status.Jobs {
		jobs[i] = Job{
			ID: job.ID, Name: job.Name, Group: job.Group, Description: job.Description, Pool: job.Pool, State: job.State,
			Tasks: job.Total, Done: job.Done, Running: job.Running, Submitted: job.Submitted, WaitReason: job.WaitReason,
		}
	}
	return jobs
}

// CancelJob ends a running job with the error [ErrCancelled] and kills its tasks. The cause of the
// tasks' contexts includes the reason. CancelJob reports whether the job was running. See [Task]
// for tasks that ignore the end of their context.
func (s *Session) CancelJob(id uint64, reason string) bool { return s.app.Driver.CancelJob(id, reason) }

// CancelGroup cancels each running job of a [Group], and returns how many jobs it has cancelled.
func (s *Session) CancelGroup(name, reason string) int { return s.app.Driver.CancelGroup(name, reason) }
