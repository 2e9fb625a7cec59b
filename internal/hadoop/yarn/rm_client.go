package yarn

import (
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// ApplicationClientProtocol is the Java interface (ApplicationClientProtocolPB's
// ProtocolInfo; version 1).
const ApplicationClientProtocol = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"

// RMClient makes the calls to the ResourceManager that the REST API cannot replace. It is
// safe for concurrent use.
type RMClient struct{ rpc *ipc.Client }

// NewRMClient returns a client of the ResourceManagers at addresses, host:port
// (yarn.resourcemanager.address; port 8032 by default). Without a token or Kerberos in
// options, it states the name of user. It connects with the first call.
func NewRMClient(addresses []string, user security.UserGroup, options ClientOptions) *RMClient {
	rpc := options.ipcOptions(ApplicationClientProtocol, amRetryFor)
	rpc.Simple, rpc.User = options.Token.IsZero() && options.Kerberos == nil, user
	return &RMClient{rpc: ipc.NewClient(addresses, rpc)}
}

// Close closes the connection and waits for its goroutines. Pending calls fail with
// ipc.ErrClosed.
func (c *RMClient) Close() error { return c.rpc.Close() }

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

// ApplicationReport describes an application as the ResourceManager sees it.
type ApplicationReport struct {
	ID      ApplicationID
	User    string
	Queue   string
	Name    string
	State   ApplicationState
	Attempt AttemptID // the current attempt; zero before the first attempt
	// Host and RPCPort are as the ApplicationMaster registered; "N/A" and -1 before.
	Host        string
	RPCPort     int32
	TrackingURL string
	Diagnostics string
	FinalStatus FinalStatus
	// AMRMToken is the token of an unmanaged ApplicationMaster, for the application's
	// user while the attempt is launched but not registered; else nil
	// (RMAppImpl.createAndGetApplicationReport).
	AMRMToken *security.Token
}

// ApplicationReport returns the report on an application, or ErrApplicationNotFound.
func (c *RMClient) ApplicationReport(ctx context.Context, id ApplicationID) (*ApplicationReport, error) {
	response := &pb.GetApplicationReportResponse{}
	request := &pb.GetApplicationReportRequest{ApplicationId: id.proto()}
	if err := c.rpc.Call(ctx, "getApplicationReport", request, response, ipc.Idempotent()); err != nil {
		return nil, err
	}
	report := response.GetReport()
	if report == nil {
		return nil, errors.New("the ResourceManager answered without a report of " + id.String())
	}
	r := &ApplicationReport{
		ID:          applicationID(report.GetApplicationId()),
		User:        report.GetUser(),
		Queue:       report.GetQueue(),
		Name:        report.GetName(),
		State:       ApplicationState(report.GetState()),
		Attempt:     attemptID(report.GetCurrentAttemptId()),
		Host:        report.GetHost(),
		RPCPort:     report.GetRpcPort(),
		TrackingURL: report.GetTrackingUrl(),
		Diagnostics: report.GetDiagnostics(),
		FinalStatus: FinalStatus(report.GetFinalStatus()),
	}
	if report.AmRmToken != nil {
		token := security.TokenFromProto(report.AmRmToken)
		r.AMRMToken = &token
	}
	return r, nil
}
