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

func TestSubmitApplication(t *testing.T) {
	server, err := ipctest.NewServer(ipctest.Options{})
	require.NoError(t, err)
	t.Cleanup(server.Close)
	requests := make(chan *pb.SubmitApplicationRequest, 1)
	ipctest.Handle(server, ApplicationClientProtocol, "submitApplication",
		func(_ context.Context, call ipctest.Call, request *pb.SubmitApplicationRequest) (*pb.SubmitApplicationResponse, error) {
			if request.GetContext().GetQueue() == "nope" {
				return nil, &ipctest.Exception{Class: "org.apache.hadoop.yarn.exceptions.YarnException", Text: "unknown queue for " + call.User}
			}
			requests <- request
			return &pb.SubmitApplicationResponse{}, nil
		})
	client := NewRMClient([]string{server.Address()}, security.UserGroup{Effective: "alice"}, ClientOptions{})
	t.Cleanup(func() { require.NoError(t, client.Close()) })

	id := ApplicationID{ClusterTimestamp: 1410901177871, Sequence: 7}
	priority := int32(0)
	size := Resource{MemoryMB: 512, VCores: 1, Others: map[string]int64{"yarn.io/gpu": 1}}
	require.NoError(t, client.SubmitApplication(within(t), Submission{
		ID: id, Name: "count", Queue: "batch", Type: "BOBBIN", Tags: []string{"a"}, Priority: &priority, MaxAttempts: 2,
		AttemptValidity: time.Hour, Resource: size, NodeLabel: "fast", AM: ContainerLaunchContext{Commands: []string{"./app"}},
		LogPatterns: &LogPatterns{Exclude: "x.*"},
	}))
	master := ResourceRequest{Name: AnyHost, Resource: size, Containers: 1, RelaxLocality: true, NodeLabel: "fast"}
	same(t, &pb.SubmitApplicationRequest{Context: &pb.ApplicationSubmissionContext{
		ApplicationId: id.proto(), ApplicationName: proto.String("count"), Queue: proto.String("batch"), Priority: &pb.Priority{Priority: &priority},
		AmContainerSpec: &pb.ContainerLaunchContext{Commands: []string{"./app"}}, MaxAppAttempts: proto.Int32(2), Resource: size.proto(),
		ApplicationType: proto.String("BOBBIN"), ApplicationTags: []string{"a"}, AttemptFailuresValidityInterval: proto.Int64(3600000),
		LogAggregationContext:       &pb.LogAggregationContext{ExcludePattern: proto.String("x.*")},
		AmContainerResourceRequests: []*pb.ResourceRequest{master.proto()},
	}}, <-requests)

	err = client.SubmitApplication(within(t), Submission{ID: id, Queue: "nope"})
	require.ErrorContains(t, err, "unknown queue for alice")
	err = client.SubmitApplication(within(t), Submission{ID: id, AM: ContainerLaunchContext{LocalResources: map[string]LocalResource{"x": {URL: "/none"}}}})
	require.ErrorContains(t, err, "submit "+id.String())
}
