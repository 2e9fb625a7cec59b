package yarn

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/ipctest"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

func TestControlOfApplications(t *testing.T) {
	server, err := ipctest.NewServer(ipctest.Options{})
	require.NoError(t, err)
	t.Cleanup(server.Close)
	id := ApplicationID{ClusterTimestamp: 1410901177871, Sequence: 7}
	largest := Resource{MemoryMB: 4096, VCores: 4}
	kills := make(chan *pb.KillApplicationRequest, 1)
	limits := make(chan *pb.UpdateApplicationTimeoutsRequest, 1)
	ipctest.Handle(server, ApplicationClientProtocol, "getNewApplication",
		func(context.Context, ipctest.Call, *pb.GetNewApplicationRequest) (*pb.GetNewApplicationResponse, error) {
			return &pb.GetNewApplicationResponse{ApplicationId: id.proto(), MaximumCapability: largest.proto()}, nil
		})
	ipctest.Handle(server, ApplicationClientProtocol, "forceKillApplication",
		func(_ context.Context, _ ipctest.Call, request *pb.KillApplicationRequest) (*pb.KillApplicationResponse, error) {
			kills <- request
			return &pb.KillApplicationResponse{}, nil
		})
	ipctest.Handle(server, ApplicationClientProtocol, "updateApplicationTimeouts",
		func(_ context.Context, _ ipctest.Call, request *pb.UpdateApplicationTimeoutsRequest) (*pb.UpdateApplicationTimeoutsResponse, error) {
			limits <- request
			return &pb.UpdateApplicationTimeoutsResponse{}, nil
		})
	client := NewRMClient([]string{server.Address()}, security.UserGroup{Effective: "alice"}, ClientOptions{})
	t.Cleanup(func() { require.NoError(t, client.Close()) })

	got, maximum, err := client.NewApplication(within(t))
	require.NoError(t, err)
	require.Equal(t, id, got)
	require.Equal(t, largest.MemoryMB, maximum.MemoryMB)
	require.Equal(t, largest.VCores, maximum.VCores)
	require.NoError(t, client.KillApplication(within(t), id, "why"))
	same(t, &pb.KillApplicationRequest{ApplicationId: id.proto(), Diagnostics: proto.String("why")}, <-kills)
	require.NoError(t, client.LimitLifetime(within(t), id, time.Date(2026, 1, 2, 3, 4, 5, 6000000, time.UTC)))
	same(t, &pb.UpdateApplicationTimeoutsRequest{ApplicationId: id.proto(), Timeouts: []*pb.ApplicationTimeout{
		{Type: pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME.Enum(), ExpireTime: proto.String("2026-01-02T03:04:05.006+0000")},
	}}, <-limits)
}
