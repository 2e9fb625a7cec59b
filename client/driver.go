package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/allocation"
	"github.com/bobbin-yarn/bobbin/internal/ui"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// progressInterval is the time between two updates of the progress of a driver in this process. For
// a driver that ends before the first update, no progress is shown.
const progressInterval = 250 * time.Millisecond

// InProcessDriver shows the progress of a driver in this process, in the same form as the progress
// of an application on YARN.
type InProcessDriver struct {
	Console *Console
	ID      string // id of the application
	Driver  *driver.Driver
	// Cluster is set if a cluster starts the executors in other processes.
	Cluster bool
	// Pages is the URL of the application's pages; "" for none. Follow prints it with the first
	// progress.
	Pages string
}

// Follow calls run, shows the driver's progress until run returns, prints the final state of the
// application, and returns run's error. If run fails after ctx has ended, Follow prints that the
// application was killed.
func (o InProcessDriver) Follow(ctx context.Context, run func() error) error {
	began := time.Now()
	done := make(chan struct{})
	var showing sync.WaitGroup
	showing.Go(func() { o.show(began, done) })
	err := run()
	close(done)
	showing.Wait()
	o.printEnd(ctx, began, err)
	return err
}

// show shows the progress until done is closed.
func (o InProcessDriver) show(began time.Time, done <-chan struct{}) {
	defer o.Console.Close()
	shown := &progressDisplay{console: o.Console, began: began, now: time.Now, state: stateRunning, tasksAt: began}
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	pages := o.Pages
	for {
		select {
		case <-ticker.C:
			if pages != "" {
				o.Console.Print("pages: %s", pages)
				pages = ""
			}
			shown.update(o.progress())
			shown.redraw()
		case <-done:
			return
		}
	}
}

// progress converts the driver's status to the form in which an ApplicationMaster reports it.
func (o InProcessDriver) progress() *Progress {
	status := o.Driver.Status()
	totals := status.Totals
	progress := &Progress{State: stateRunning, Notes: status.Notes, Slowest: status.Slowest, Tasks: TaskCounts{
		Total: totals.Done + totals.Running + totals.Waiting, Done: totals.Done, Running: totals.Running, Failed: totals.FailedAttempts,
	}}
	if o.Cluster {
		progress.Executors = ExecutorCounts{Requested: wanted(status), Running: totals.Executors}
	}
	for _, job := range status.Jobs {
		progress.TaskSets = append(progress.TaskSets, TaskSet{
			ID: job.ID, Name: job.Name, Stage: job.Stage, State: job.State, WaitReason: job.WaitReason,
			TaskCounts: TaskCounts{Total: job.Total, Done: job.Done, Running: job.Running, Failed: job.FailedAttempts},
		})
	}
	return progress
}

// wanted returns the number of executors that the driver requests. If the driver requests an
// unlimited number, wanted returns the number of registered executors.
func wanted(status driver.Status) int {
	count := 0
	for _, profile := range status.Profiles {
		count += profile.Wanted
	}
	if count >= allocation.Unbounded {
		return status.Totals.Executors
	}
	return count
}

// Summary returns the numbers of tasks and executors, and the main causes of the run time, as
// key=value pairs. See [Report.AddSummary].
func (o InProcessDriver) Summary() string {
	status := o.Driver.Status()
	summary := status.Totals.KeyValues()
	if o.Cluster {
		summary += fmt.Sprintf(" executors=%d lost_executors=%d", wanted(status), status.Totals.ExecutorsLost)
	}
	return summary + driver.CostsKeyValue(ui.Costs(o.Driver.Events().Newest(), time.Now()))
}

// printEnd prints the final state of the application.
func (o InProcessDriver) printEnd(ctx context.Context, began time.Time, failure error) {
	report := &Report{
		ApplicationID: o.ID, State: stateFinished, FinalStatus: string(yarnrest.StatusSucceeded),
		Times: StateTimes{Submitted: began, Finished: time.Now()},
	}
	switch {
	case failure != nil && ctx.Err() != nil:
		report.State, report.FinalStatus = stateKilled, stateKilled
	case failure != nil:
		report.FinalStatus = string(yarnrest.StatusFailed)
	}
	report.print(o.Console, summaryRows(parsePairs(o.Summary())))
}
