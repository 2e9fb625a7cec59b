package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
)

const (
	// killTimeout is how long Kill waits for the end of the driver or application.
	killTimeout = 30 * time.Second
	// firstInterval is the pause between the first two polls of a state. Kill pauses this long
	// between all polls.
	firstInterval = 200 * time.Millisecond
)

// Status returns the report of a driver or an application. If a driver has failed, the
// report's message is the last line of the driver's stderr, if it can be read.
func (s *Cluster) Status(ctx context.Context, id string) (*client.Report, error) {
	found, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if found.FinalStatus == finalFailed {
		s.addDriverError(ctx, found.Report)
	}
	found.AddSummary(found.summary)
	return found.Report, nil
}

// lookedUp is the master's information about a driver or an application.
type lookedUp struct {
	*client.Report
	ended   bool
	pages   string // address of the web page of the running application; "" if it has none
	summary string // summary of the ended application; see client.Report.AddSummary
}

func (s *Cluster) find(ctx context.Context, id string) (*lookedUp, error) {
	driver, err := isDriver(id)
	if err != nil {
		return nil, err
	}
	if !driver {
		a, err := s.application(ctx, id)
		if err != nil {
			return nil, err
		}
		_, ended := applicationEnded(a)
		return &lookedUp{Report: applicationReport(a), ended: ended, pages: a.WebURL, summary: a.Summary}, nil
	}
	reply, err := s.masters.Driver(ctx, id)
	if err != nil {
		return nil, refusedErrorFor(ctx, id, err)
	}
	report := driverReport(reply, "")
	_, ended := driverEnded(report.State)
	return &lookedUp{Report: report, ended: ended, pages: reply.GetWebUrl(), summary: reply.GetSummary()}, nil
}

// Kill ends a driver or an application, and waits for its end. It fails if this takes longer
// than 30 s.
func (s *Cluster) Kill(ctx context.Context, id string) (*client.Report, error) {
	killed, err := s.kill(ctx, id)
	if err != nil {
		return nil, err
	}
	return killed.Report, nil
}

func (s *Cluster) kill(ctx context.Context, id string) (*lookedUp, error) {
	driver, err := isDriver(id)
	if err != nil {
		return nil, err
	}
	if driver {
		_, err = s.masters.KillDriver(ctx, id)
		err = refusedErrorFor(ctx, id, err)
	} else { // not refusedErrorFor, because NotFound may also mean that the application has ended
		err = refusedError(ctx, s.masters.KillApplication(ctx, id))
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	for {
		found, err := s.find(ctx, id)
		if err != nil || found.ended {
			return found, err
		}
		select {
		case <-ctx.Done():
			return nil, client.RefusedError(fmt.Errorf("%s was told to end and is still %s: %w", id, found.State, context.Cause(ctx)))
		case <-time.After(firstInterval):
		}
	}
}

// Queues returns nil, because standalone clusters have no queues.
func (s *Cluster) Queues(context.Context) ([]string, error) { return nil, nil }

// List returns the drivers and applications that match selection, newest first. It fails if
// selection contains a queue or a tag, because standalone clusters have neither.
func (s *Cluster) List(ctx context.Context, selection client.Selection) ([]client.ListedApplication, error) {
	if selection.Queue != "" {
		return nil, client.UsageErrorf("--queue: a standalone cluster has no queues")
	}
	if len(selection.Tags) > 0 {
		return nil, client.UsageErrorf("--tag: a standalone cluster's applications have no tags")
	}
	state, err := s.status(ctx)
	if err != nil {
		return nil, err
	}
	var listed []client.ListedApplication
	for _, a := range slices.Concat(state.Applications, state.EndedApplications) {
		final, _ := applicationEnded(&a)
		listed = append(listed, client.ListedApplication{
			ApplicationID: a.ID, Name: a.Name, User: a.User, State: string(a.State), FinalStatus: final,
			Started: a.Started, Finished: a.Ended, TrackingURL: a.WebURL,
		})
	}
	for _, d := range slices.Concat(state.Drivers, state.EndedDrivers) {
		final, _ := driverEnded(d.State)
		listed = append(listed, client.ListedApplication{
			ApplicationID: d.ID, Name: d.Name, User: d.User, State: d.State, FinalStatus: final,
			Started: d.Submitted, Finished: d.Ended, TrackingURL: cmp.Or(d.WebURL, d.LogURL),
		})
	}
	listed = slices.DeleteFunc(listed, func(l client.ListedApplication) bool {
		return selection.User != "" && l.User != selection.User || !selection.Matches(l.Name) ||
			len(selection.States) > 0 && !slices.Contains(selection.States, l.State)
	})
	slices.SortStableFunc(listed, func(a, b client.ListedApplication) int { return b.Started.Compare(a.Started) })
	if selection.Limit > 0 && len(listed) > selection.Limit {
		listed = listed[:selection.Limit]
	}
	return listed, nil
}

// Wait waits for the end of a driver or an application, and prints its progress. It returns a
// *client.Failure if the driver or application did not succeed. If ctx ends or o.Timeout
// passes first, Wait kills the driver or application, unless o.KeepRunning returns true.
func (s *Cluster) Wait(ctx context.Context, id string, o client.WaitOptions) (*client.Report, error) {
	following, cancel := client.WithTimeout(ctx, o.Timeout)
	defer cancel()
	ended, err := s.untilEnd(following, id, o)
	if err == nil {
		return s.conclude(ctx, ended, o.Console)
	}
	if following.Err() == nil {
		return nil, err
	}
	cause := context.Cause(following)
	if o.KeepRunning != nil && o.KeepRunning(cause) {
		return nil, client.FailedError(fmt.Errorf("%w; %s goes on", cause, id))
	}
	o.Console.Print("%v: killing %s; a second Ctrl-C exits at once", cause, id)
	killing, cancelKill := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancelKill()
	if ended, err = s.kill(killing, id); err != nil {
		return nil, client.RefusedError(fmt.Errorf("%s may still be running, stop it with yarn-submit kill %[1]s: %w", id, err))
	}
	ended.Message = cause.Error()
	return s.conclude(killing, ended, o.Console)
}

// untilEnd polls a driver or an application until it has ended. It prints state changes and
// the address of the application's web page.
func (s *Cluster) untilEnd(ctx context.Context, id string, o client.WaitOptions) (*lookedUp, error) {
	defer o.Console.SetLive("")
	state, pages, began := "", "", time.Now()
	for pause := firstInterval; ; pause = min(pause*3/2, time.Second) {
		found, err := s.find(ctx, id)
		if err != nil || found.ended {
			return found, err
		}
		if found.State != state {
			o.Console.Print("%s %s", id, found.State)
			state = found.State
		}
		if found.pages != "" && found.pages != pages {
			o.Console.Print("pages: %s", found.pages)
			pages = found.pages
		}
		o.Console.SetLive(fmt.Sprintf("%s %s %s", id, found.State, client.Seconds(time.Since(began))))
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// conclude prints the report of an ended driver or application. It returns a *client.Failure
// if the driver or application did not succeed.
func (s *Cluster) conclude(ctx context.Context, ended *lookedUp, console *client.Console) (*client.Report, error) {
	report := ended.Report
	if report.Times.Finished.IsZero() {
		report.Times.Finished = time.Now().Truncate(time.Millisecond)
	}
	if report.FinalStatus == finalSucceeded {
		report.AddSummary(ended.summary)
		report.Print(console)
		return report, nil
	}
	failure := &client.Failure{Report: report}
	if report.State == finalKilled {
		report.Message = strings.TrimSuffix("killed: "+report.Message, ": ")
	} else {
		s.addDriverError(ctx, report)
	}
	report.AddSummary(ended.summary)
	report.Print(console)
	return report, client.FailedError(failure)
}

// addDriverError sets the message of a failed driver's report to the last line of the driver's
// stderr, if it can be read.
func (s *Cluster) addDriverError(ctx context.Context, report *client.Report) {
	if !strings.HasPrefix(report.ApplicationID, driverPrefix) {
		return
	}
	if line := s.lastStderrLine(ctx, report.TrackingURL); line != "" {
		report.Message, report.Diagnostics = strings.TrimPrefix(line, report.Name+": "), line
	}
}
