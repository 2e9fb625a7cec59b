package yarn

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/ipctest"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// newRMServer returns a client of a server that answers getApplicationReport and requires no
// authentication.
func newRMServer(t *testing.T, answer func(call ipctest.Call, request *pb.GetApplicationReportRequest) (*pb.GetApplicationReportResponse, error)) *RMClient {
	t.Helper()
	server, err := ipctest.NewServer(ipctest.Options{})
	require.NoError(t, err)
	t.Cleanup(server.Close)
	ipctest.Handle(server, ApplicationClientProtocol, "getApplicationReport",
		func(_ context.Context, call ipctest.Call, request *pb.GetApplicationReportRequest) (*pb.GetApplicationReportResponse, error) {
			return answer(call, request)
		})
	client := NewRMClient([]string{server.Address()}, security.UserGroup{Effective: "alice"}, ClientOptions{})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

func TestApplicationReport(t *testing.T) {
	id := ApplicationID{ClusterTimestamp: 1410901177871, Sequence: 7}
	attempt := AttemptID{Application: id, Attempt: 2}
	client := newRMServer(t, func(call ipctest.Call, request *pb.GetApplicationReportRequest) (*pb.GetApplicationReportResponse, error) {
		if call.User != "alice" || applicationID(request.GetApplicationId()) != id {
			return nil, &ipctest.Exception{Class: string(ErrApplicationNotFound), Text: "nobody's"}
		}
		return &pb.GetApplicationReportResponse{Report: &pb.ApplicationReport{
			ApplicationId: id.proto(), User: proto.String("alice"), Queue: proto.String("default"), Name: proto.String("count"),
			Host: proto.String("node1"), RpcPort: proto.Int32(4711), State: pb.YarnApplicationState_APPLICATION_RUNNING.Enum(),
			TrackingUrl: proto.String("http://rm/proxy"), FinalStatus: pb.FinalApplicationStatus_FINAL_STATUS_UNDEFINED.Enum(),
			CurrentAttemptId: attempt.proto(), AmRmToken: master.Proto(),
		}}, nil
	})
	report, err := client.ApplicationReport(within(t), id)
	require.NoError(t, err)
	require.Equal(t, &ApplicationReport{
		ID: id, User: "alice", Queue: "default", Name: "count", State: ApplicationRunning, Attempt: attempt,
		Host: "node1", RPCPort: 4711, TrackingURL: "http://rm/proxy", Diagnostics: "N/A", AMRMToken: &master,
	}, report)
	require.Equal(t, "running", report.State.String())
	require.False(t, report.State.Ended())

	_, err = client.ApplicationReport(within(t), ApplicationID{ClusterTimestamp: 1, Sequence: 1})
	require.ErrorIs(t, err, ErrApplicationNotFound)
}

func TestApplicationReportOfAManagedMasterHasNoToken(t *testing.T) {
	client := newRMServer(t, func(ipctest.Call, *pb.GetApplicationReportRequest) (*pb.GetApplicationReportResponse, error) {
		return &pb.GetApplicationReportResponse{Report: &pb.ApplicationReport{State: pb.YarnApplicationState_APPLICATION_KILLED.Enum()}}, nil
	})
	report, err := client.ApplicationReport(within(t), ApplicationID{})
	require.NoError(t, err)
	require.Nil(t, report.AMRMToken)
	require.True(t, report.State.Ended())
}

func TestApplicationReportThatIsMissing(t *testing.T) {
	client := newRMServer(t, func(ipctest.Call, *pb.GetApplicationReportRequest) (*pb.GetApplicationReportResponse, error) {
		return &pb.GetApplicationReportResponse{}, nil
	})
	_, err := client.ApplicationReport(within(t), ApplicationID{ClusterTimestamp: 1, Sequence: 2})
	require.ErrorContains(t, err, "without a report of application_1_0002")
}
