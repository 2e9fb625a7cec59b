package client

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/ipctest"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// askByRPC starts a fake ResourceManager. It returns a client of its RPCs, and the server.
func askByRPC(t *testing.T, nodes ...yarnrest.Node) (*rpcApplications, *ipctest.Server) {
	server, err := ipctest.NewServer(ipctest.Options{})
	require.NoError(t, err)
	t.Cleanup(server.Close)
	manager := yarn.NewRMClient([]string{server.Address()}, security.UserGroup{Effective: "ann"}, yarn.ClientOptions{Logger: slog.New(slog.DiscardHandler), RetryFor: -1})
	t.Cleanup(func() { require.NoError(t, manager.Close()) })
	return &rpcApplications{
		manager: func() (*yarn.RMClient, error) { return manager, nil },
		nodes:   func(context.Context, ...string) ([]yarnrest.Node, error) { return nodes, nil },
	}, server
}

var (
	rpcID      = &pb.ApplicationId{ClusterTimestamp: proto.Int64(1700000000000), Id: proto.Int32(1)}
	rpcAttempt = &pb.ApplicationAttemptId{ApplicationId: rpcID, AttemptId: proto.Int32(2)}
)

// reportOfRunning returns the report of a running application that its user receives.
func reportOfRunning() *pb.ApplicationReport {
	return &pb.ApplicationReport{
		ApplicationId: rpcID, User: proto.String("ann"), Queue: proto.String("default"), Name: proto.String("count"), ApplicationType: proto.String("BOBBIN"),
		Host: proto.String("a1"), State: pb.YarnApplicationState_APPLICATION_RUNNING.Enum(), TrackingUrl: proto.String("http://rm/proxy/x/"), Progress: proto.Float32(0.5),
		StartTime: proto.Int64(1700000001000), LaunchTime: proto.Int64(1700000002000), FinishTime: proto.Int64(0), CurrentAttemptId: rpcAttempt,
		ApplicationTags: []string{"t"}, LogAggregationStatus: pb.LogAggregationStatus_LOG_AGGREGATION_NOT_START.Enum(),
	}
}

func TestApplicationsByRPC(t *testing.T) {
	apps, server := askByRPC(t)
	ipctest.Handle(server, yarn.ApplicationClientProtocol, "getApplicationReport",
		func(_ context.Context, _ ipctest.Call, request *pb.GetApplicationReportRequest) (*pb.GetApplicationReportResponse, error) {
			switch request.GetApplicationId().GetId() {
			case 1:
				return &pb.GetApplicationReportResponse{Report: reportOfRunning()}, nil
			case 2: // report for a user who may not view the application
				return &pb.GetApplicationReportResponse{Report: &pb.ApplicationReport{
					ApplicationId: rpcID, State: pb.YarnApplicationState_APPLICATION_FAILED.Enum(), Host: proto.String("N/A"), TrackingUrl: proto.String("N/A"),
					FinalStatus: pb.FinalApplicationStatus_FINAL_STATUS_FAILED.Enum(), FinishTime: proto.Int64(1700000003000),
				}}, nil
			}
			return nil, &ipctest.Exception{Class: string(yarn.ErrApplicationNotFound), Text: "Application with id doesn't exist in RM."}
		})
	var asked *pb.GetApplicationsRequest
	ipctest.Handle(server, yarn.ApplicationClientProtocol, "getApplications",
		func(_ context.Context, _ ipctest.Call, request *pb.GetApplicationsRequest) (*pb.GetApplicationsResponse, error) {
			asked = request
			return &pb.GetApplicationsResponse{Applications: []*pb.ApplicationReport{reportOfRunning()}}, nil
		})
	require.False(t, apps.HasAnswered())

	got, err := apps.Application(t.Context(), fakeID)
	require.NoError(t, err)
	want := yarnrest.Application{
		ID: fakeID, User: "ann", Name: "count", Queue: "default", Type: "BOBBIN", Tags: []string{"t"}, State: yarnrest.StateRunning, FinalStatus: yarnrest.StatusUndefined,
		Progress: 50, TrackingURL: "http://rm/proxy/x/", Started: time.UnixMilli(1700000001000), Launched: time.UnixMilli(1700000002000),
		AMHostHTTPAddress: "a1", AMContainerLogs: "appattempt_1700000000000_0001_000002", LogAggregationStatus: "NOT_START",
	}
	require.Equal(t, want, *got)
	require.True(t, apps.HasAnswered())
	hidden, err := apps.Application(t.Context(), "application_1700000000000_0002")
	require.NoError(t, err)
	require.Equal(t, yarnrest.Application{
		ID: fakeID, State: yarnrest.StateFailed, FinalStatus: yarnrest.StatusFailed, Finished: time.UnixMilli(1700000003000),
	}, *hidden)
	state, err := apps.State(t.Context(), fakeID)
	require.NoError(t, err)
	require.Equal(t, yarnrest.StateRunning, state)
	_, err = apps.Application(t.Context(), "application_1700000000000_0003")
	require.ErrorIs(t, err, yarnrest.ErrNotFound)
	require.ErrorContains(t, UnknownApplication("application_1700000000000_0003", err), "the ResourceManager "+server.Address()+" does not know application_1700000000000_0003")

	all, err := apps.Applications(t.Context(), yarnrest.Filter{
		User: "ann", Queue: "default", Types: []string{"BOBBIN"}, Tags: []string{"t"}, States: []yarnrest.ApplicationState{yarnrest.StateNewSaving, yarnrest.StateRunning},
	})
	require.NoError(t, err)
	require.Equal(t, []yarnrest.Application{want}, all)
	require.True(t, proto.Equal(&pb.GetApplicationsRequest{
		Users: []string{"ann"}, Queues: []string{"default"}, ApplicationTypes: []string{"BOBBIN"}, ApplicationTags: []string{"t"},
		ApplicationStates: []pb.YarnApplicationState{pb.YarnApplicationState_APPLICATION_NEW_SAVING, pb.YarnApplicationState_APPLICATION_RUNNING},
	}, asked), "%v", asked)

	server.Close()
	_, err = apps.Application(t.Context(), fakeID)
	silent, ok := err.(*yarnrest.UnavailableError)
	require.True(t, ok, "%v", err)
	require.Equal(t, server.Address(), silent.Attempts[0].Address)
}

func TestAttemptsAndContainersByRPC(t *testing.T) {
	container := func(id int64) *pb.ContainerId { return &pb.ContainerId{AttemptId: rpcAttempt, Id: proto.Int64(id)} }
	first := &pb.ApplicationAttemptId{ApplicationId: rpcID, AttemptId: proto.Int32(1)}
	apps, server := askByRPC(t, yarnrest.Node{Host: "a1", HTTPAddress: "a1:8042"}, yarnrest.Node{Host: "a2", HTTPAddress: "a2:8042"})
	ipctest.Handle(server, yarn.ApplicationClientProtocol, "getApplicationAttempts",
		func(context.Context, ipctest.Call, *pb.GetApplicationAttemptsRequest) (*pb.GetApplicationAttemptsResponse, error) {
			return &pb.GetApplicationAttemptsResponse{Attempts: []*pb.ApplicationAttemptReport{
				{AttemptId: rpcAttempt, Host: proto.String("N/A"), AmContainerId: container(1), StartTime: proto.Int64(1700000002000)},
				{AttemptId: first, Host: proto.String("a2"), AmContainerId: &pb.ContainerId{AttemptId: first, Id: proto.Int64(1)}},
				{AttemptId: &pb.ApplicationAttemptId{ApplicationId: rpcID, AttemptId: proto.Int32(3)}, Host: proto.String("N/A")},
			}}, nil
		})
	ipctest.Handle(server, yarn.ApplicationClientProtocol, "getContainers",
		func(_ context.Context, _ ipctest.Call, request *pb.GetContainersRequest) (*pb.GetContainersResponse, error) {
			if request.GetAttemptId().GetAttemptId() != 2 {
				return nil, &ipctest.Exception{Class: string(yarn.ErrAttemptNotFound), Text: "none"}
			}
			return &pb.GetContainersResponse{Containers: []*pb.ContainerReport{
				{ContainerId: container(1), NodeId: &pb.NodeId{Host: proto.String("a1"), Port: proto.Int32(45454)}, NodeHttpAddress: proto.String("http://a1:8042")},
				{ContainerId: container(2), NodeId: &pb.NodeId{Host: proto.String("a2"), Port: proto.Int32(45454)}, NodeHttpAddress: proto.String("https://a2:8044"), CreationTime: proto.Int64(1700000003000)},
			}}, nil
		})

	attempts, err := apps.Attempts(t.Context(), fakeID)
	require.NoError(t, err)
	require.Equal(t, []yarnrest.ApplicationAttempt{
		{ID: "appattempt_1700000000000_0001_000001", Number: 1, ContainerID: "container_1700000000000_0001_01_000001", NodeHTTPAddress: "a2:8042"},
		{
			ID: "appattempt_1700000000000_0001_000002", Number: 2, ContainerID: "container_1700000000000_0001_02_000001", NodeHTTPAddress: "a1:8042",
			Started: time.UnixMilli(1700000002000),
		},
		{ID: "appattempt_1700000000000_0001_000003", Number: 3},
	}, attempts)
	containers, err := apps.Containers(t.Context(), fakeID, attempts[1].ID)
	require.NoError(t, err)
	require.Equal(t, []yarnrest.Container{
		{ID: "container_1700000000000_0001_02_000001", NodeID: "a1:45454", NodeHTTPAddress: "a1:8042"},
		{ID: "container_1700000000000_0001_02_000002", NodeID: "a2:45454", NodeHTTPAddress: "a2:8044", Started: time.UnixMilli(1700000003000)},
	}, containers)
	_, err = apps.Containers(t.Context(), fakeID, attempts[0].ID)
	require.ErrorIs(t, err, yarnrest.ErrNotFound)
}
