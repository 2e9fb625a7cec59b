package client

import (
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// Report is the state of an application, or its result if it has ended.
type Report struct {
	ApplicationID string `json:"applicationId"`
	// RunsApplication is set only for drivers that were submitted to a standalone cluster. There,
	// ApplicationID is the id of the driver. RunsApplication is the id of the application that the
	// driver has registered; "" before the registration.
	RunsApplication string   `json:"runsApplication,omitempty"`
	Name            string   `json:"name"`
	User            string   `json:"user,omitempty"`
	Queue           string   `json:"queue"`
	Tags            []string `json:"tags,omitempty"`
	State           string   `json:"state"`
	FinalStatus     string   `json:"finalStatus"`
	// Message is a one-line reason why the application did not succeed; "" if it did.
	Message     string     `json:"message,omitempty"`
	Diagnostics string     `json:"diagnostics"` // text from YARN or the program
	TrackingURL string     `json:"trackingUrl"`
	Times       StateTimes `json:"times"`
	// Progress is the progress that the running ApplicationMaster reports; nil if none is running.
	Progress *Progress `json:"progress,omitempty"`
	// Summary is the ApplicationMaster's final report about tasks, locality and executors.
	Summary map[string]any `json:"summary,omitempty"`
}

// Failure is the error of an application that failed or was killed.
type Failure struct {
	Report  *Report
	Details string // lines about the reason, which are printed above the message
}

func (f *Failure) Error() string {
	if f.Report.State == stateKilled || f.Report.FinalStatus == stateKilled {
		return f.Report.ApplicationID + " was " + f.Report.Message
	}
	return f.Report.ApplicationID + " failed: " + f.Report.Message
}

func newReport(application *yarnrest.Application, times StateTimes) *Report {
	return &Report{
		ApplicationID: application.ID, Name: application.Name, User: application.User, Queue: application.Queue, Tags: application.Tags,
		State: string(application.State), FinalStatus: string(application.FinalStatus), Diagnostics: application.Diagnostics,
		TrackingURL: application.TrackingURL, Times: fillTimes(times, application),
	}
}

// fillTimes sets unknown times to those in the ResourceManager's report, and truncates all times to
// milliseconds.
func fillTimes(times StateTimes, application *yarnrest.Application) StateTimes {
	if times.Submitted.IsZero() {
		times.Submitted = application.Started
	}
	if times.Finished.IsZero() {
		times.Finished = application.Finished
	}
	for _, moment := range []*time.Time{&times.Submitted, &times.Accepted, &times.Running, &times.Executors, &times.Finished} {
		*moment = moment.Truncate(time.Millisecond) // YARN's times have this precision
	}
	return times
}

// conclude returns the report of an ended application, and a *Failure if the application did not
// succeed.
func conclude(application *yarnrest.Application, times StateTimes) (*Report, error) {
	report := newReport(application, times)
	if pairs := parseSummary(application.Diagnostics); pairs != nil {
		report.Summary = numbers(pairs)
	}
	if application.State == yarnrest.StateFinished && application.FinalStatus == yarnrest.StatusSucceeded {
		return report, nil
	}
	state := report.State
	if application.FinalStatus == yarnrest.StatusKilled {
		state = stateKilled
	}
	cause := explain(state, withoutSummary(application.Diagnostics))
	report.Message = cause.message
	return report, FailedError(&Failure{Report: report, Details: cause.details})
}

// AddSummary sets r.Summary to the summary of a driver in this process (see
// [InProcessDriver.Summary]), and appends the summary line to r.Diagnostics, because on YARN the
// ApplicationMaster's diagnostics contain such a line.
func (r *Report) AddSummary(pairs string) {
	if pairs == "" {
		return
	}
	r.Summary = numbers(parsePairs(pairs))
	r.Diagnostics = strings.TrimPrefix(r.Diagnostics+"\n"+summaryPrefix+pairs, "\n")
}

// Print prints the result of the application, with its summary.
func (r *Report) Print(console *Console) {
	rows := summaryRows(parseSummary(r.Diagnostics))
	if line := r.Times.line(); line != "" {
		rows = append(rows, row{"times", line})
	}
	if r.TrackingURL != "" {
		rows = append(rows, row{"tracking", r.TrackingURL})
	}
	r.print(console, rows)
}

// print prints the application's final status, and below it the rows.
func (r *Report) print(console *Console, rows []row) {
	colour := green
	if r.FinalStatus != string(yarnrest.StatusSucceeded) {
		colour = red
	}
	status := r.FinalStatus
	if r.State == stateKilled {
		status = stateKilled
	}
	took := ""
	if !r.Times.Submitted.IsZero() && r.Times.Finished.After(r.Times.Submitted) {
		took = " after " + Seconds(r.Times.Finished.Sub(r.Times.Submitted))
	}
	console.Print("%s %s%s", r.ApplicationID, console.paint(colour, status), took)
	for _, row := range rows {
		console.Print("  %-10s %s", row.label, row.text)
	}
}

// line returns the times as one line. Each time is relative to the submission.
func (t StateTimes) line() string {
	var parts []string
	for _, moment := range []struct {
		name string
		at   time.Time
	}{{"accepted", t.Accepted}, {"running", t.Running}, {"executors", t.Executors}, {"finished", t.Finished}} {
		if !moment.at.IsZero() && !t.Submitted.IsZero() {
			parts = append(parts, moment.name+" "+Seconds(max(0, moment.at.Sub(t.Submitted))))
		}
	}
	return strings.Join(parts, ", ")
}
