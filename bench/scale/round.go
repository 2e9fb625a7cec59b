package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// round is one driver with its executors. The fields that are exported go to
// the driver's process.
type round struct {
	Executors int
	Cores     int // of each executor
	Hosts     int // over which the executors are spread
	Tasks     int
	Sets      int    // of so many tasks each, one after the other
	Prefer    bool   // every task prefers a host
	Profiles  string // directory for profiles; "" for none
	processes int    // that share the executors
}

// outcome is what a round measured.
type outcome struct {
	driverFigures
	registering time.Duration // from the word to all executors to the last one's registration
	refused     int           // executors that did not register at their first try
	reason      string        // why the first of them did not
	ownKB       float64       // memory of one simulated executor
}

// invitation is what executors need to join; the driver's first words.
type invitation struct {
	Address string
	Pass    []byte
}

// arrived says who has registered, once all have or no more are waited for.
type arrived struct {
	Executors int
	Last      time.Time     // when the last one registered
	CPU       time.Duration // that the driver took for all of them
}

// driverFigures are the driver's last words.
type driverFigures struct {
	TasksPerSecond   float64
	Worked           int     // executors that ran any of the tasks
	CPUMicros        float64 // of the driver, user and system, a task
	CollectorMicros  float64 // that the collector of its memory took, a task, by the runtime's own estimate
	AllocatedBytes   float64 // of the driver's heap, a task
	ResidentMB       float64 // the most at any time, in units of 1,000,000 bytes
	ExecutorKB       float64 // memory of the driver for a registered executor, in units of 1,000 bytes
	WaitingTaskBytes float64 // memory of the driver for a waiting task
}

// share is the part of the executors that one process has.
type share struct {
	invitation
	First    int // the first executor's id; the others follow
	Count    int
	Cores    int
	Hosts    int
	Profiles [2]string // files for CPU profiles of registering and of tasks; "" for none
}

// shareReport is how it went for a share's executors, and what they took.
type shareReport struct {
	Refused int    // have ended, or had to try again
	Reason  string // of the first
	HeapKB  float64
}

// profile is the file of a profile of some phase; "" for none.
func (r round) profile(phase string) string {
	if r.Profiles == "" {
		return ""
	}
	return filepath.Join(r.Profiles, fmt.Sprintf("%s-%d.pprof", phase, r.Executors))
}

// run measures a round.
func (r round) run(ctx context.Context) (result outcome, err error) {
	driver, err := startChild(ctx, roleDriver)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, driver.end()) }()
	var invited invitation
	if err := errors.Join(driver.tell(r), driver.hear(&invited)); err != nil {
		return result, err
	}
	executors, err := r.startExecutors(ctx, invited)
	defer func() {
		for _, child := range executors {
			err = errors.Join(err, child.end())
		}
	}()
	if err != nil {
		return result, err
	}

	began := time.Now()
	for _, child := range executors {
		if err := child.tell("join"); err != nil {
			return result, err
		}
	}
	var came arrived
	if err := driver.hear(&came); err != nil {
		return result, err
	}
	result.registering = came.Last.Sub(began)
	for _, child := range executors {
		weighed := ""
		if err := errors.Join(child.tell("weigh"), child.hear(&weighed)); err != nil {
			return result, err
		}
	}
	if err := driver.tell("run"); err != nil {
		return result, err
	}
	fmt.Fprintf(os.Stderr, "%d of %d executors registered in %.2f s, %.2f s of the driver's CPU; running %d x %d tasks\n",
		came.Executors, r.Executors, result.registering.Seconds(), came.CPU.Seconds(), r.Sets, r.Tasks)
	if err := driver.hear(&result.driverFigures); err != nil {
		return result, err
	}
	fmt.Fprintf(os.Stderr, "%d executors: %.0f tasks/s, %.1f µs of the driver's CPU a task, of which the collector has about %.1f; %.0f bytes allocated a task; %d executors had some\n",
		r.Executors, result.TasksPerSecond, result.CPUMicros, result.CollectorMicros, result.AllocatedBytes, result.Worked)
	for _, child := range executors {
		var report shareReport
		if err := errors.Join(child.tell("report"), child.hear(&report)); err != nil {
			return result, err
		}
		result.ownKB += report.HeapKB / float64(len(executors))
		if result.refused == 0 {
			result.reason = report.Reason
		}
		result.refused += report.Refused
	}
	stopped := ""
	if err := errors.Join(driver.tell("stop"), driver.hear(&stopped)); err != nil {
		return result, err
	}
	if missing := r.Executors - came.Executors; missing > result.refused {
		result.refused, result.reason = missing, fmt.Sprintf("after %v they were not there", registerWait)
	}
	return result, nil
}

// startExecutors starts the executors' processes, which then wait for the word.
func (r round) startExecutors(ctx context.Context, invited invitation) ([]*child, error) {
	var executors []*child
	first := 1
	for i := range r.processes {
		count := (r.Executors + i) / r.processes // adds up to all of them
		if count == 0 {
			continue
		}
		child, err := startChild(ctx, roleExecutors)
		if err != nil {
			return executors, err
		}
		executors = append(executors, child)
		part := share{invitation: invited, First: first, Count: count, Cores: r.Cores, Hosts: r.Hosts}
		if i == 0 {
			part.Profiles = [2]string{r.profile("executors-registering"), r.profile("executors-tasks")}
		}
		ready := ""
		if err := errors.Join(child.tell(part), child.hear(&ready)); err != nil {
			return executors, err
		}
		first += count
	}
	return executors, nil
}
