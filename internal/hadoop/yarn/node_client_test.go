package yarn

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/ipctest"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

func newNodeClient(t *testing.T, server *ipctest.Server) *NodeClient {
	t.Helper()
	node, err := ParseNodeID(server.Address())
	require.NoError(t, err)
	client := NewNodeClient(node, ClientOptions{Token: master})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// refusal returns a NodeManager's exception for the container n.
func refusal(n int64) *pb.ContainerException {
	return &pb.ContainerException{ContainerId: containerNumber(n).proto(), Exception: &pb.SerializedException{
		ClassName: proto.String("org.apache.hadoop.yarn.exceptions.InvalidContainerException"),
		Message:   proto.String("no such container"),
		Trace:     proto.String("\tat NodeManager"),
	}}
}

// checkRefusal checks that failed contains only the error of refusal(n).
func checkRefusal(t *testing.T, failed map[ContainerID]error, n int64) {
	t.Helper()
	require.Len(t, failed, 1)
	err := failed[containerNumber(n)]
	require.ErrorIs(t, err, ErrInvalidContainer)
	require.EqualError(t, err, "InvalidContainerException: no such container")
	var remote *ipc.RemoteError
	require.ErrorAs(t, err, &remote)
	require.Equal(t, "\tat NodeManager", remote.Stack)
}

func TestStartContainers(t *testing.T) {
	server := newServer(t)
	requests := make(chan *pb.StartContainersRequest, 1)
	ipctest.Handle(server, ContainerManagementProtocol, "startContainers", func(_ context.Context, _ ipctest.Call, request *pb.StartContainersRequest) (*pb.StartContainersResponse, error) {
		requests <- request
		return &pb.StartContainersResponse{
			Succeeded: []*pb.ContainerId{containerNumber(1).proto()},
			Failed:    []*pb.ContainerException{refusal(2)},
		}, nil
	})
	token := security.Token{Identifier: []byte("c"), Password: []byte("p"), Kind: security.KindContainer}
	started, failed, err := newNodeClient(t, server).StartContainers(within(t), []StartRequest{{
		ContainerToken: token,
		Launch: ContainerLaunchContext{
			LocalResources: map[string]LocalResource{
				"b": {URL: "hdfs://nn:8020/dir/a%20file", Size: 3, Timestamp: 4, Type: FileResource, Visibility: PrivateVisibility},
				"a": {URL: "hdfs://service/x.zip", Type: ArchiveResource, Visibility: PublicVisibility},
				"c": {URL: "file:///local", Type: ArchiveResource, Visibility: ApplicationVisibility},
			},
			Env:      map[string]string{"B": "2", "A": "1"},
			Commands: []string{"exec ./b"},
			Tokens:   []byte("HDTS"),
			ACLs:     map[Access]string{ViewAccess: "alice", ModifyAccess: "*"},
		},
	}})
	require.NoError(t, err)
	require.Equal(t, []ContainerID{containerNumber(1)}, started)
	checkRefusal(t, failed, 2)
	same(t, &pb.StartContainersRequest{Requests: []*pb.StartContainerRequest{{
		ContainerToken: token.Proto(),
		LaunchContext: &pb.ContainerLaunchContext{
			LocalResources: []*pb.StringLocalResource{
				{Key: proto.String("a"), Value: &pb.LocalResource{
					Resource: &pb.Url{Scheme: proto.String("hdfs"), Host: proto.String("service"), File: proto.String("/x.zip")},
					Size:     proto.Int64(0), Timestamp: proto.Int64(0),
					Type: pb.LocalResourceType_LOCAL_RESOURCE_ARCHIVE.Enum(), Visibility: pb.LocalResourceVisibility_LOCAL_RESOURCE_PUBLIC.Enum(),
				}},
				{Key: proto.String("b"), Value: &pb.LocalResource{
					Resource: &pb.Url{Scheme: proto.String("hdfs"), Host: proto.String("nn"), Port: proto.Int32(8020), File: proto.String("/dir/a file")},
					Size:     proto.Int64(3), Timestamp: proto.Int64(4),
					Type: pb.LocalResourceType_LOCAL_RESOURCE_FILE.Enum(), Visibility: pb.LocalResourceVisibility_LOCAL_RESOURCE_PRIVATE.Enum(),
				}},
				{Key: proto.String("c"), Value: &pb.LocalResource{
					Resource: &pb.Url{Scheme: proto.String("file"), File: proto.String("/local")},
					Size:     proto.Int64(0), Timestamp: proto.Int64(0),
					Type: pb.LocalResourceType_LOCAL_RESOURCE_ARCHIVE.Enum(), Visibility: pb.LocalResourceVisibility_LOCAL_RESOURCE_APPLICATION.Enum(),
				}},
			},
			Tokens:      []byte("HDTS"),
			Environment: []*pb.StringString{{Key: proto.String("A"), Value: proto.String("1")}, {Key: proto.String("B"), Value: proto.String("2")}},
			Commands:    []string{"exec ./b"},
			Acls: []*pb.ApplicationAcl{
				{Access: pb.ApplicationAccess_APPLICATION_ACCESS_VIEW.Enum(), Acl: proto.String("alice")},
				{Access: pb.ApplicationAccess_APPLICATION_ACCESS_MODIFY.Enum(), Acl: proto.String("*")},
			},
		},
	}}}, <-requests)
}

func TestInvalidResourceIsNotSent(t *testing.T) {
	client := NewNodeClient(NodeID{"127.0.0.1", 1}, ClientOptions{Token: master})
	defer client.Close()
	for url, want := range map[string]string{
		"/no/scheme":        `local resource "x": url "/no/scheme" lacks scheme or path`,
		"hdfs://nn:8020":    "lacks scheme or path",
		"hdfs://nn:99999/x": "port 99999 is out of range",
		"hdfs://nn:8020/%":  "invalid URL escape",
	} {
		_, _, err := client.StartContainers(within(t), []StartRequest{{
			Launch: ContainerLaunchContext{LocalResources: map[string]LocalResource{"x": {URL: url}}},
		}})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "start containers on 127.0.0.1:1")
	}
}

func TestStopContainers(t *testing.T) {
	server := newServer(t)
	ipctest.Handle(server, ContainerManagementProtocol, "stopContainers", func(_ context.Context, _ ipctest.Call, request *pb.StopContainersRequest) (*pb.StopContainersResponse, error) {
		return &pb.StopContainersResponse{Succeeded: request.GetContainerIds()[:1], Failed: []*pb.ContainerException{refusal(2)}}, nil
	})
	stopped, failed, err := newNodeClient(t, server).StopContainers(within(t), []ContainerID{containerNumber(1), containerNumber(2)})
	require.NoError(t, err)
	require.Equal(t, []ContainerID{containerNumber(1)}, stopped)
	checkRefusal(t, failed, 2)
}

func TestStatuses(t *testing.T) {
	server := newServer(t)
	ipctest.Handle(server, ContainerManagementProtocol, "getContainerStatuses", func(_ context.Context, _ ipctest.Call, request *pb.GetContainerStatusesRequest) (*pb.GetContainerStatusesResponse, error) {
		return &pb.GetContainerStatusesResponse{
			Statuses: []*pb.ContainerStatus{{ContainerId: request.GetContainerIds()[0], State: pb.ContainerState_CONTAINER_RUNNING.Enum()}},
			Failed:   []*pb.ContainerException{refusal(2)},
		}, nil
	})
	statuses, failed, err := newNodeClient(t, server).Statuses(within(t), []ContainerID{containerNumber(1), containerNumber(2)})
	require.NoError(t, err)
	require.Equal(t, []ContainerStatus{{ID: containerNumber(1), State: ContainerRunning, ExitStatus: ExitUnknown, Diagnostics: "N/A"}}, statuses)
	require.Equal(t, "running", statuses[0].State.String())
	checkRefusal(t, failed, 2)
}

func TestANodeThatIsNotReadyIsRetried(t *testing.T) {
	server := newServer(t)
	ipctest.Handle(server, ContainerManagementProtocol, "startContainers", func(_ context.Context, call ipctest.Call, _ *pb.StartContainersRequest) (*pb.StartContainersResponse, error) {
		if call.RetryCount == 0 {
			return nil, &ipctest.Exception{Class: string(ErrNodeNotReady), Text: "still recovering"}
		}
		return &pb.StartContainersResponse{Succeeded: []*pb.ContainerId{containerNumber(1).proto()}}, nil
	})
	started, _, err := newNodeClient(t, server).StartContainers(within(t), nil)
	require.NoError(t, err)
	require.Len(t, started, 1)
}

// TestNodeWithoutSecurityIsRefused connects to a server that requires no authentication. A
// NodeManager always requires NMTokens, so the client must not send the containers' tokens to
// such a server.
func TestNodeWithoutSecurityIsRefused(t *testing.T) {
	server, err := ipctest.NewServer(ipctest.Options{})
	require.NoError(t, err)
	t.Cleanup(server.Close)
	ipctest.Handle(server, ContainerManagementProtocol, "startContainers", func(context.Context, ipctest.Call, *pb.StartContainersRequest) (*pb.StartContainersResponse, error) {
		t.Error("a container's tokens were sent")
		return nil, nil
	})
	_, _, err = newNodeClient(t, server).StartContainers(within(t), nil)
	require.ErrorContains(t, err, "does not check tokens (its security is off)")
}

func TestUnreachableNode(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	node, err := ParseNodeID(listener.Addr().String())
	require.NoError(t, err)
	client := NewNodeClient(node, ClientOptions{Token: master, RetryFor: -1})
	defer client.Close()
	_, _, err = client.StartContainers(within(t), nil)
	var lost *ipc.ConnectionError
	require.ErrorAs(t, err, &lost)
	require.False(t, lost.Sent, "none was started")
}

func TestLaunchContextKeepsItsSecrets(t *testing.T) {
	c := ContainerLaunchContext{
		Tokens: []byte("geheim"), Env: map[string]string{"PASSWORD": "geheim"},
		Commands: []string{"exec ./app"},
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		for _, value := range []any{c, &c, StartRequest{Launch: c}} {
			shown := fmt.Sprintf(verb, value)
			require.NotContains(t, shown, "geheim")
			require.NotContains(t, shown, "67656865696d")
			require.NotContains(t, shown, "103 101 104")
			require.NotContains(t, shown, "0x67, 0x65")
		}
	}
}
