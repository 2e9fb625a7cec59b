package yarn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// ApplicationState is the state of an application at the ResourceManager.
type ApplicationState int32

// The states of an application, with the protocol's numbers.
const (
	ApplicationNew       ApplicationState = 1
	ApplicationNewSaving ApplicationState = 2
	ApplicationSubmitted ApplicationState = 3
	ApplicationAccepted  ApplicationState = 4
	ApplicationRunning   ApplicationState = 5
	ApplicationFinished  ApplicationState = 6
	ApplicationFailed    ApplicationState = 7
	ApplicationKilled    ApplicationState = 8
)

// String returns the state in lower case.
func (s ApplicationState) String() string {
	names := [...]string{"", "new", "new-saving", "submitted", "accepted", "running", "finished", "failed", "killed"}
	if s < ApplicationNew || int(s) >= len(names) {
		return fmt.Sprintf("unknown state %d", int32(s))
	}
	return names[s]
}

// Ended reports whether the application has ended.
func (s ApplicationState) Ended() bool { return s >= ApplicationFinished }

// ApplicationReport describes an application at the ResourceManager. For a user who may not
// view the application, most fields are empty.
type ApplicationReport struct {
	ID       ApplicationID
	User     string
	Queue    string
	Name     string
	Type     string
	Tags     []string
	State    ApplicationState
	Progress float64   // from 0 to 1
	Attempt  AttemptID // the current attempt; zero before the first attempt
	// Host and RPCPort are those that the ApplicationMaster registered; "N/A" and -1 before the
	// registration.
	Host        string
	RPCPort     int32
	TrackingURL string
	Diagnostics string
	FinalStatus FinalStatus
	Started     time.Time // time of the submission
	Launched    time.Time // zero before the ApplicationMaster is launched
	Finished    time.Time // zero before the application has ended
	// LogAggregation is "DISABLED", "NOT_START", "RUNNING", "SUCCEEDED", "FAILED",
	// "TIME_OUT" or "RUNNING_WITH_FAILURE"; "" if unknown.
	LogAggregation string
	// AMRMToken is the token of an unmanaged ApplicationMaster. The ResourceManager sends it
	// only to the application's user, and only between the launch and the registration of the
	// attempt; otherwise it is nil (RMAppImpl.createAndGetApplicationReport).
	AMRMToken *security.Token
}

// ApplicationReport returns the report on an application, or ErrApplicationNotFound.
func (c *RMClient) ApplicationReport(ctx context.Context, id ApplicationID) (*ApplicationReport, error) {
	response := &pb.GetApplicationReportResponse{}
	request := &pb.GetApplicationReportRequest{ApplicationId: id.proto()}
	if err := c.rpc.Call(ctx, "getApplicationReport", request, response, ipc.Idempotent()); err != nil {
		return nil, err
	}
	if response.Report == nil {
		return nil, errors.New("the ResourceManager answered without a report of " + id.String())
	}
	report := applicationReport(response.GetReport())
	return &report, nil
}

func applicationReport(report *pb.ApplicationReport) ApplicationReport {
	r := ApplicationReport{
		ID:          applicationID(report.GetApplicationId()),
		User:        report.GetUser(),
		Queue:       report.GetQueue(),
		Name:        report.GetName(),
		Type:        report.GetApplicationType(),
		Tags:        report.GetApplicationTags(),
		State:       ApplicationState(report.GetState()),
		Progress:    float64(report.GetProgress()),
		Attempt:     attemptID(report.GetCurrentAttemptId()),
		Host:        report.GetHost(),
		RPCPort:     report.GetRpcPort(),
		TrackingURL: report.GetTrackingUrl(),
		Diagnostics: report.GetDiagnostics(),
		FinalStatus: FinalStatus(report.GetFinalStatus()),
		Started:     timeOf(report.GetStartTime()),
		Launched:    timeOf(report.GetLaunchTime()),
		Finished:    timeOf(report.GetFinishTime()),
	}
	if status := report.GetLogAggregationStatus(); status != pb.LogAggregationStatus_LOG_AGGREGATION_UNSET {
		r.LogAggregation = strings.TrimPrefix(status.String(), "LOG_AGGREGATION_")
	}
	if report.AmRmToken != nil {
		token := security.TokenFromProto(report.AmRmToken)
		r.AMRMToken = &token
	}
	return r
}

// timeOf converts milliseconds since 1970 to a time. It returns the zero time if they are 0 or
// less.
func timeOf(since1970 int64) time.Time {
	if since1970 <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(since1970)
}

// ApplicationFilter selects the applications that match all its fields. An empty field
// matches every application.
type ApplicationFilter struct {
	Users, Queues, Types []string
	Tags                 []string // matches an application that has at least one of these tags
	States               []ApplicationState
}

// Applications returns reports on the applications that f selects.
func (c *RMClient) Applications(ctx context.Context, f ApplicationFilter) ([]ApplicationReport, error) {
	request := &pb.GetApplicationsRequest{
		ApplicationTypes: f.Types, Users: f.Users, Queues: f.Queues, ApplicationTags: f.Tags,
		ApplicationStates: convert(f.States, func(s ApplicationState) pb.YarnApplicationState { return pb.YarnApplicationState(s) }),
	}
	response := &pb.GetApplicationsResponse{}
	err := c.rpc.Call(ctx, "getApplications", request, response, ipc.Idempotent())
	return convert(response.GetApplications(), applicationReport), err
}

// AttemptReport describes an attempt of an application.
type AttemptReport struct {
	ID        AttemptID
	Host      string      // host that the ApplicationMaster registered; "N/A" before the registration
	Container ContainerID // the ApplicationMaster's container; zero before its allocation
	Started   time.Time
	Finished  time.Time // zero before the attempt has ended
}

// Attempts returns reports on all attempts of an application, or ErrApplicationNotFound.
func (c *RMClient) Attempts(ctx context.Context, id ApplicationID) ([]AttemptReport, error) {
	response := &pb.GetApplicationAttemptsResponse{}
	request := &pb.GetApplicationAttemptsRequest{ApplicationId: id.proto()}
	err := c.rpc.Call(ctx, "getApplicationAttempts", request, response, ipc.Idempotent())
	return convert(response.GetAttempts(), func(report *pb.ApplicationAttemptReport) AttemptReport {
		return AttemptReport{
			ID:        attemptID(report.GetAttemptId()),
			Host:      report.GetHost(),
			Container: containerID(report.GetAmContainerId()),
			Started:   timeOf(report.GetStartTime()),
			Finished:  timeOf(report.GetFinishTime()),
		}
	}), err
}

// ContainerReport describes a container that has not ended.
type ContainerReport struct {
	ID          ContainerID
	Node        NodeID
	HTTPAddress string // host:port of the node's web server
	Started     time.Time
}

// Containers returns reports on an attempt's containers that have not ended.
func (c *RMClient) Containers(ctx context.Context, attempt AttemptID) ([]ContainerReport, error) {
	response := &pb.GetContainersResponse{}
	request := &pb.GetContainersRequest{AttemptId: attempt.proto()}
	err := c.rpc.Call(ctx, "getContainers", request, response, ipc.Idempotent())
	return convert(response.GetContainers(), func(report *pb.ContainerReport) ContainerReport {
		address := report.GetNodeHttpAddress()
		if _, rest, found := strings.Cut(address, "://"); found {
			address = rest
		}
		return ContainerReport{
			ID:          containerID(report.GetContainerId()),
			Node:        nodeID(report.GetNodeId()),
			HTTPAddress: address,
			Started:     timeOf(report.GetCreationTime()),
		}
	}), err
}
