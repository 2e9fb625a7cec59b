package driver

import (
	"errors"
	"fmt"
)

// ErrCancelled ends a job that was cancelled by its id or its group.
var ErrCancelled = errors.New("was cancelled")

// CancelJob ends the job of an id, as Status has it, with ErrCancelled, and kills
// its tasks: both are told the reason. It reports whether there was such a job;
// its tasks may take a little longer to end.
func (d *Driver) CancelJob(id uint64, reason string) bool {
	return d.cancelJobs(reason, func(r *runningSet) bool { return r.id == id }) > 0
}

// CancelGroup is CancelJob for all jobs of a group that run, and returns how many
// these were.
func (d *Driver) CancelGroup(group, reason string) int {
	return d.cancelJobs(reason, func(r *runningSet) bool { return r.job.Group == group })
}

func (d *Driver) cancelJobs(reason string, meant func(*runningSet) bool) int {
	cancelled := make(chan int, 1)
	if !d.do(func(l *loop) {
		count := 0
		for _, r := range l.runs {
			if meant(r) {
				l.endRun(r, fmt.Errorf("job %q %w: %s", r.job.Name, ErrCancelled, reason))
				count++
			}
		}
		cancelled <- count
	}) {
		return 0
	}
	select {
	case count := <-cancelled:
		return count
	case <-d.ended:
		return 0
	}
}
