package client

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// Cluster is a standalone cluster. What it runs has two kinds of ids: drivers
// that were submitted to it, "driver-…", and the applications of those and of
// drivers elsewhere, "app-…".
type Cluster struct {
	masters *Masters
	user    string
	log     *slog.Logger
}

// Connect reads which masters the settings name, and by what they know
// their clients. It asks them nothing yet.
func Connect(settings *config.Config, log *slog.Logger) (*Cluster, error) {
	addresses, err := masterurl.ParseStandalone(config.Master.In(settings))
	if err != nil {
		return nil, client.Usage(err)
	}
	credentials, err := protocol.Load(settings)
	if err != nil {
		return nil, client.Usage(err)
	}
	user, err := security.CurrentUser()
	if err != nil {
		return nil, client.Usage(err)
	}
	return &Cluster{masters: NewMasters(addresses, credentials.DialOptions()), user: user.Effective, log: log}, nil
}

// Close ends the connections.
func (s *Cluster) Close() { s.masters.Close() }

// What the two kinds of ids begin with.
const (
	driverPrefix      = "driver-"
	applicationPrefix = "app-"
)

// isDriver tells the two kinds of ids apart, and refuses others.
func isDriver(id string) (bool, error) {
	switch {
	case strings.HasPrefix(id, driverPrefix):
		return true, nil
	case strings.HasPrefix(id, applicationPrefix):
		return false, nil
	}
	return false, client.Usagef("%q is no id of a standalone cluster: it looks like driver-… or app-…, see yarn-submit list --master bobbin://…", id)
}

// refusedFor marks what masters said of an id as the cluster's refusal.
func refusedFor(ctx context.Context, id string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return client.Failed(context.Cause(ctx))
	}
	if status.Code(err) == codes.NotFound {
		return client.Refused(&unknownIDError{id})
	}
	return client.Refused(err)
}

// unknownIDError is of an id that no master knows.
type unknownIDError struct{ id string }

func (e *unknownIDError) Error() string {
	return "the cluster does not know " + e.id + ": it forgets what has ended after some time"
}

// look is what the cluster runs and ran.
func (s *Cluster) look(ctx context.Context) (*cluster.Status, error) {
	encoded, err := s.masters.Status(ctx)
	if err != nil {
		return nil, refusedFor(ctx, "", err)
	}
	seen := &cluster.Status{}
	if err := json.Unmarshal(encoded, seen); err != nil {
		return nil, client.Refused(fmt.Errorf("the master's status: %w", err))
	}
	return seen, nil
}

// application asks for an application.
func (s *Cluster) application(ctx context.Context, id string) (*cluster.ApplicationStatus, error) {
	seen, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	return applicationIn(seen, id)
}

// applicationIn finds an application in what the cluster runs and ran.
func applicationIn(seen *cluster.Status, id string) (*cluster.ApplicationStatus, error) {
	for _, list := range [][]cluster.ApplicationStatus{seen.Applications, seen.EndedApplications} {
		for i := range list {
			if list[i].ID == id {
				return &list[i], nil
			}
		}
	}
	return nil, client.Refused(&unknownIDError{id})
}

// Final statuses, as YARN calls them. The latter two are states as well.
const (
	finalUndefined = "UNDEFINED"
	finalSucceeded = "SUCCEEDED"
	finalFailed    = "FAILED"
	finalKilled    = "KILLED"
)

// driverEnded tells whether a driver's state is one in which it stays, and how it
// ended.
func driverEnded(state string) (final string, ended bool) {
	switch state {
	case "FINISHED":
		return finalSucceeded, true
	case "FAILED", "ERROR":
		return finalFailed, true
	case finalKilled:
		return finalKilled, true
	}
	return finalUndefined, false
}

// applicationEnded is driverEnded for an application.
func applicationEnded(a *cluster.ApplicationStatus) (final string, ended bool) {
	switch state := string(a.State); {
	case a.Ended.IsZero():
		return finalUndefined, false
	case state == "FINISHED":
		return finalSucceeded, true
	case state == finalKilled:
		return finalKilled, true
	}
	return finalFailed, true
}

// driverReport is what became of a driver so far.
func driverReport(d *protocol.DriverReply, user string) *client.Report {
	state := strings.TrimPrefix(d.GetState().String(), "DRIVER_")
	report := &client.Report{
		ApplicationID: d.GetDriverId(), Name: d.GetName(), User: user, State: state, Diagnostics: d.GetText(), TrackingURL: d.GetLogUrl(),
		Times: client.Times{Submitted: time.Unix(0, d.GetSubmitted()).Truncate(time.Millisecond)},
	}
	report.FinalStatus, _ = driverEnded(state)
	report.Message = d.GetText()
	return report
}

// applicationReport is what became of an application so far.
func applicationReport(a *cluster.ApplicationStatus) *client.Report {
	final, ended := applicationEnded(a)
	report := &client.Report{
		ApplicationID: a.ID, Name: a.Name, User: a.User, State: string(a.State), FinalStatus: final,
		Message: strings.TrimSpace(a.Reason), Diagnostics: a.Reason, TrackingURL: a.WebURL,
		Times: client.Times{Submitted: a.Started.Truncate(time.Millisecond), Finished: a.Ended.Truncate(time.Millisecond)},
	}
	if ended {
		return report
	}
	executors := client.ExecutorCounts{Failed: a.Failures}
	for _, executor := range a.Executors {
		switch {
		case executor.Registered:
			executors.Running++
		default:
			executors.Launching++
		}
		if executor.State == cluster.WorkerDecommissioning {
			executors.Decommissioning++
		}
	}
	for _, wanted := range a.Wanted {
		if wanted.Total != protocol.Unlimited {
			executors.Requested += int(wanted.Total)
		}
	}
	executors.Requested = max(executors.Requested, executors.Running+executors.Launching)
	executors.Pending = executors.Requested - executors.Running - executors.Launching
	report.Progress = &client.Progress{Executors: executors}
	if a.Hindrance != "" {
		report.Progress.Notes = append(report.Progress.Notes, a.Hindrance)
	}
	return report
}
