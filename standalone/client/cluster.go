package client

import (
	"cmp"
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

// Cluster is one user's client of a standalone cluster. An id of the form driver-… is that of
// a driver that was submitted to the cluster. An id of the form app-… is that of an
// application, whose driver may run outside the cluster.
type Cluster struct {
	masters *Masters
	user    string
	log     *slog.Logger
}

// Connect returns a client. It reads the masters' addresses and the credentials from the
// settings. It does not connect to a master yet.
func Connect(settings *config.Config, log *slog.Logger) (*Cluster, error) {
	addresses, err := masterurl.ParseStandalone(config.Master.In(settings))
	if err != nil {
		return nil, client.UsageError(err)
	}
	credentials, err := protocol.Load(settings)
	if err != nil {
		return nil, client.UsageError(err)
	}
	user, err := security.CurrentUser()
	if err != nil {
		return nil, client.UsageError(err)
	}
	return &Cluster{masters: NewMasters(addresses, credentials.DialOptions()), user: user.Effective, log: log}, nil
}

// Close closes the connections to the masters.
func (s *Cluster) Close() { s.masters.Close() }

// Prefixes of the two kinds of ids.
const (
	driverPrefix      = "driver-"
	applicationPrefix = "app-"
)

// isDriver reports whether an id is that of a driver. It fails if the id has neither prefix.
func isDriver(id string) (bool, error) {
	switch {
	case strings.HasPrefix(id, driverPrefix):
		return true, nil
	case strings.HasPrefix(id, applicationPrefix):
		return false, nil
	}
	return false, client.UsageErrorf("%q is no id of a standalone cluster: it looks like driver-… or app-…, see yarn-submit list --master bobbin://…", id)
}

// refusedError wraps the error of a call with the exit status client.ExitCluster. If ctx has
// ended, it returns ctx's cause instead.
func refusedError(ctx context.Context, err error) error {
	return client.RefusedError(client.InterruptedError(ctx, err))
}

// refusedErrorFor is refusedError for a call about an id. If the leading master does not know
// the id, it returns an *unknownIDError.
func refusedErrorFor(ctx context.Context, id string, err error) error {
	if status.Code(err) == codes.NotFound {
		return client.RefusedError(&unknownIDError{id})
	}
	return refusedError(ctx, err)
}

// unknownIDError is the error for an id that the leading master does not know.
type unknownIDError struct{ id string }

func (e *unknownIDError) Error() string {
	return "the cluster does not know " + e.id + ": it forgets what has ended after some time"
}

func (s *Cluster) status(ctx context.Context) (*cluster.Status, error) {
	encoded, err := s.masters.Status(ctx)
	if err != nil {
		return nil, refusedError(ctx, err)
	}
	state := &cluster.Status{}
	if err := json.Unmarshal(encoded, state); err != nil {
		return nil, client.RefusedError(fmt.Errorf("the master's status: %w", err))
	}
	return state, nil
}

func (s *Cluster) application(ctx context.Context, id string) (*cluster.ApplicationStatus, error) {
	state, err := s.status(ctx)
	if err != nil {
		return nil, err
	}
	return applicationIn(state, id)
}

// applicationIn returns the status of an application from the state of the cluster. It fails
// if the application is unknown.
func applicationIn(state *cluster.Status, id string) (*cluster.ApplicationStatus, error) {
	for _, list := range [][]cluster.ApplicationStatus{state.Applications, state.EndedApplications} {
		for i := range list {
			if list[i].ID == id {
				return &list[i], nil
			}
		}
	}
	return nil, client.RefusedError(&unknownIDError{id})
}

// Final statuses, as in YARN. FAILED and KILLED are also names of states.
const (
	finalUndefined = "UNDEFINED"
	finalSucceeded = "SUCCEEDED"
	finalFailed    = "FAILED"
	finalKilled    = "KILLED"
)

// driverEnded returns the final status that corresponds to a driver's state, and whether the
// driver has ended.
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

// applicationEnded is like driverEnded, for an application.
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

// driverReport converts a master's reply to a report. user is the driver's user, which the
// reply does not contain.
func driverReport(d *protocol.DriverReply, user string) *client.Report {
	state := strings.TrimPrefix(d.GetState().String(), "DRIVER_")
	report := &client.Report{
		ApplicationID: d.GetDriverId(), RunsApplication: d.GetApplicationId(), Name: d.GetName(), User: user, State: state, Diagnostics: d.GetText(), TrackingURL: d.GetLogUrl(),
		Times: client.StateTimes{Submitted: time.Unix(0, d.GetSubmitted()).Truncate(time.Millisecond)},
	}
	ended := false
	if report.FinalStatus, ended = driverEnded(state); !ended {
		report.TrackingURL = cmp.Or(d.GetWebUrl(), d.GetLogUrl())
	}
	report.Message = d.GetText()
	return report
}

func applicationReport(a *cluster.ApplicationStatus) *client.Report {
	final, ended := applicationEnded(a)
	report := &client.Report{
		ApplicationID: a.ID, Name: a.Name, User: a.User, State: string(a.State), FinalStatus: final,
		Message: strings.TrimSpace(a.Reason), Diagnostics: a.Reason, TrackingURL: a.WebURL,
		Times: client.StateTimes{Submitted: a.Started.Truncate(time.Millisecond), Finished: a.Ended.Truncate(time.Millisecond)},
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
	if a.WaitReason != "" {
		report.Progress.Notes = append(report.Progress.Notes, a.WaitReason)
	}
	return report
}
