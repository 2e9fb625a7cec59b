package yarn

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/ipctest"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	spb "github.com/bobbin-yarn/bobbin/internal/hadoop/security/pb"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// The test's servers accept the tokens master and rolled.
var (
	master = security.Token{Identifier: []byte("old"), Password: []byte("old password"), Kind: security.KindAMRM}
	rolled = security.Token{Identifier: []byte("new"), Password: []byte("new password"), Kind: security.KindAMRM}
)

// newServer returns a server that accepts the tokens master and rolled.
func newServer(t *testing.T) *ipctest.Server {
	t.Helper()
	server, err := ipctest.NewServer(ipctest.Options{Password: func(identifier []byte) ([]byte, error) {
		for _, token := range []security.Token{master, rolled} {
			if string(token.Identifier) == string(identifier) {
				return token.Password, nil
			}
		}
		return nil, errors.New("unknown")
	}})
	require.NoError(t, err)
	t.Cleanup(server.Close)
	return server
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// newAMServer returns a client, and a server that implements one method of
// ApplicationMasterProtocol. The method returns response, and sends each request to the
// channel.
func newAMServer[Request, Response any, PRequest interface {
	*Request
	proto.Message
}, PResponse interface {
	*Response
	proto.Message
}](t *testing.T, method string, response PResponse) (*AMClient, *ipctest.Server, chan PRequest) {
	t.Helper()
	server := newServer(t)
	requests := make(chan PRequest, 10)
	ipctest.Handle(server, ApplicationMasterProtocol, method, func(_ context.Context, _ ipctest.Call, request PRequest) (PResponse, error) {
		requests <- request
		return response, nil
	})
	client := NewAMClient([]string{server.Address()}, ClientOptions{Token: master})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client, server, requests
}

// same fails the test if the messages differ.
func same(t *testing.T, want, got proto.Message) {
	t.Helper()
	require.Empty(t, cmp.Diff(want, got, protocmp.Transform()))
}

func protoContainer(n int64) *pb.Container {
	return &pb.Container{
		Id:                  containerNumber(n).proto(),
		NodeId:              &pb.NodeId{Host: proto.String("node1"), Port: proto.Int32(45454)},
		NodeHttpAddress:     proto.String("node1:8042"),
		Resource:            Resource{MemoryMB: 1024, VCores: 2}.proto(),
		Priority:            &pb.Priority{Priority: proto.Int32(3)},
		ContainerToken:      security.Token{Identifier: []byte("c"), Kind: security.KindContainer, Service: "node1:45454"}.Proto(),
		AllocationRequestId: proto.Int64(7),
	}
}

func goContainer(n int64) Container {
	return Container{
		ID:                  containerNumber(n),
		Node:                NodeID{"node1", 45454},
		NodeHTTPAddress:     "node1:8042",
		Resource:            Resource{MemoryMB: 1024, VCores: 2},
		Priority:            3,
		Token:               security.Token{Identifier: []byte("c"), Password: []byte{}, Kind: security.KindContainer, Service: "node1:45454"},
		AllocationRequestID: 7,
	}
}

func protoNMToken() *pb.NMToken {
	return &pb.NMToken{
		NodeId: &pb.NodeId{Host: proto.String("node1"), Port: proto.Int32(45454)},
		Token:  &spb.Token{Identifier: []byte("i"), Password: []byte("p"), Kind: proto.String(security.KindNM), Service: proto.String("node1:45454")},
	}
}

var goNMToken = NMToken{
	Node:  NodeID{"node1", 45454},
	Token: security.Token{Identifier: []byte("i"), Password: []byte("p"), Kind: security.KindNM, Service: "node1:45454"},
}

func TestRegister(t *testing.T) {
	client, _, requests := newAMServer[pb.RegisterApplicationMasterRequest](t, "registerApplicationMaster", &pb.RegisterApplicationMasterResponse{
		MaximumCapability:            Resource{MemoryMB: 8192, VCores: 4}.proto(),
		Queue:                        proto.String("root.default"),
		NmTokensFromPreviousAttempts: []*pb.NMToken{protoNMToken()},
		SchedulerResourceTypes:       []pb.SchedulerResourceType{pb.SchedulerResourceType_SCHEDULER_RESOURCE_MEMORY, pb.SchedulerResourceType_SCHEDULER_RESOURCE_CPU},
	})
	response, err := client.Register(within(t), RegisterRequest{Host: "node1", RPCPort: -1, TrackingURL: "http://node1:1234"})
	require.NoError(t, err)
	same(t, &pb.RegisterApplicationMasterRequest{
		Host: proto.String("node1"), RpcPort: proto.Int32(-1), TrackingUrl: proto.String("http://node1:1234"),
	}, <-requests)
	require.Equal(t, &RegisterResponse{
		MaxResource: Resource{MemoryMB: 8192, VCores: 4},
		Queue:       "root.default",
		NMTokens:    []NMToken{goNMToken},
		ChecksCores: true,
	}, response)
}

func TestAllocateRequest(t *testing.T) {
	client, _, requests := newAMServer[pb.AllocateRequest](t, "allocate", &pb.AllocateResponse{})
	_, err := client.Allocate(within(t), AllocateRequest{ResponseID: 3, Progress: 0.5})
	require.NoError(t, err)
	same(t, &pb.AllocateRequest{ResponseId: proto.Int32(3), Progress: proto.Float32(0.5)}, <-requests)

	_, err = client.Allocate(within(t), AllocateRequest{
		Asks: []ResourceRequest{{
			Priority: 1, Name: "node1", Resource: Resource{MemoryMB: 1024, VCores: 1}, Containers: 2, RelaxLocality: true,
			NodeLabel: "fast", ExecutionType: Opportunistic, AllocationRequestID: 9,
		}},
		Releases:        []ContainerID{containerNumber(4)},
		BlacklistAdd:    []string{"bad"},
		BlacklistRemove: []string{"good"},
	})
	require.NoError(t, err)
	same(t, &pb.AllocateRequest{
		ResponseId: proto.Int32(0),
		Progress:   proto.Float32(0),
		Asks: []*pb.ResourceRequest{{
			Priority: &pb.Priority{Priority: proto.Int32(1)}, ResourceName: proto.String("node1"),
			Capability: &pb.Resource{Memory: proto.Int64(1024), VirtualCores: proto.Int32(1)},
			Containers: proto.Int32(2), RelaxLocality: proto.Bool(true), NodeLabelExpression: proto.String("fast"),
			ExecutionTypeRequest: &pb.ExecutionTypeRequest{
				ExecutionType: pb.ExecutionType_EXECUTION_OPPORTUNISTIC.Enum(), EnforceExecutionType: proto.Bool(false),
			},
			AllocationRequestId: proto.Int64(9),
		}},
		Releases:         []*pb.ContainerId{containerNumber(4).proto()},
		BlacklistRequest: &pb.ResourceBlacklistRequest{Additions: []string{"bad"}, Removals: []string{"good"}},
	}, <-requests)
}

func TestAllocateResponse(t *testing.T) {
	wish := ResourceRequest{Priority: 1, Name: AnyHost, Resource: Resource{MemoryMB: 1}, Containers: 1, RelaxLocality: true, AllocationRequestID: 2}
	client, _, _ := newAMServer[pb.AllocateRequest](t, "allocate", &pb.AllocateResponse{
		Command:             pb.AMCommand_AM_COMMAND_RESYNC.Enum(),
		ResponseId:          proto.Int32(4),
		AllocatedContainers: []*pb.Container{protoContainer(5)},
		CompletedContainerStatuses: []*pb.ContainerStatus{
			{
				ContainerId: containerNumber(2).proto(), State: pb.ContainerState_CONTAINER_COMPLETE.Enum(),
				ExitStatus: proto.Int32(-104), Diagnostics: proto.String("too big"), Capability: Resource{MemoryMB: 1}.proto(),
			},
			{ContainerId: containerNumber(3).proto()},
		},
		UpdatedNodes: []*pb.NodeReport{{
			NodeId: &pb.NodeId{Host: proto.String("node2"), Port: proto.Int32(1)}, HttpAddress: proto.String("node2:8042"),
			RackName: proto.String("/rack"), State: pb.NodeState_NODE_DECOMMISSIONING.Enum(), Containers: proto.Int32(2),
			HealthReport: proto.String("fine"), Labels: []string{"fast"}, DecommissioningTimeout: proto.Uint32(60),
		}},
		NumClusterNodes: proto.Int32(2),
		Preempt: &pb.PreemptionMessage{
			Strict: &pb.StrictPreemptionContract{Containers: []*pb.PreemptionContainer{{Id: containerNumber(8).proto()}}},
			Contract: &pb.PreemptionContract{
				Containers: []*pb.PreemptionContainer{{Id: containerNumber(9).proto()}},
				Resources:  []*pb.PreemptionResourceRequest{{Resource: wish.proto()}},
			},
		},
		NmTokens: []*pb.NMToken{protoNMToken()},
	})
	response, err := client.Allocate(within(t), AllocateRequest{})
	require.NoError(t, err)
	require.Equal(t, &AllocateResponse{
		Command:    Resync,
		ResponseID: 4,
		Allocated:  []Container{goContainer(5)},
		Completed: []ContainerStatus{
			{ID: containerNumber(2), State: ContainerComplete, ExitStatus: ExitExceededPhysicalMemory, Diagnostics: "too big", Resource: Resource{MemoryMB: 1}},
			{ID: containerNumber(3), ExitStatus: ExitUnknown, Diagnostics: "N/A"},
		},
		UpdatedNodes: []NodeReport{{
			ID: NodeID{"node2", 1}, HTTPAddress: "node2:8042", Rack: "/rack", State: NodeDecommissioning, Containers: 2,
			HealthReport: "fine", Labels: []string{"fast"}, DecommissioningTimeout: time.Minute,
		}},
		ClusterNodes: 2,
		Preemption:   &Preemption{Strict: []ContainerID{containerNumber(8)}, Containers: []ContainerID{containerNumber(9)}, Resources: []ResourceRequest{wish}},
		NMTokens:     []NMToken{goNMToken},
	}, response)
}

func TestRolledTokenServesTheNextConnection(t *testing.T) {
	server := newServer(t)
	identifiers := make(chan string, 10)
	ipctest.Handle(server, ApplicationMasterProtocol, "allocate", func(_ context.Context, call ipctest.Call, _ *pb.AllocateRequest) (*pb.AllocateResponse, error) {
		identifiers <- string(call.Identifier)
		return &pb.AllocateResponse{AmRmToken: rolled.Proto()}, nil
	})
	client := NewAMClient([]string{server.Address()}, ClientOptions{Token: master})
	defer client.Close()
	_, err := client.Allocate(within(t), AllocateRequest{})
	require.NoError(t, err)
	require.Equal(t, "old", <-identifiers)
	server.DropConnections()
	_, err = client.Allocate(within(t), AllocateRequest{})
	require.NoError(t, err)
	require.Equal(t, "new", <-identifiers)
}

func TestExceptionsAreTyped(t *testing.T) {
	for class, want := range map[string]error{
		"org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException":  ErrNotRegistered,
		"org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException":      ErrAttemptNotFound,
		"org.apache.hadoop.yarn.exceptions.InvalidApplicationMasterRequestException": ErrInvalidMasterRequest,
		"org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException":          ErrInvalidResourceRequest,
		"org.apache.hadoop.yarn.exceptions.InvalidLabelResourceRequestException":     ErrInvalidLabelRequest,
		"org.apache.hadoop.yarn.exceptions.InvalidResourceBlacklistRequestException": ErrInvalidBlacklist,
		"org.apache.hadoop.yarn.exceptions.InvalidContainerReleaseException":         ErrInvalidRelease,
		"org.apache.hadoop.security.token.SecretManager$InvalidToken":                ErrInvalidToken,
	} {
		server := newServer(t)
		ipctest.Handle(server, ApplicationMasterProtocol, "allocate", func(context.Context, ipctest.Call, *pb.AllocateRequest) (*pb.AllocateResponse, error) {
			return nil, &ipctest.Exception{Class: class, Text: class + ": no"}
		})
		client := NewAMClient([]string{server.Address()}, ClientOptions{Token: master})
		_, err := client.Allocate(within(t), AllocateRequest{})
		require.ErrorIs(t, err, want)
		require.NoError(t, client.Close())
	}
}

func TestFinish(t *testing.T) {
	client, _, requests := newAMServer[pb.FinishApplicationMasterRequest](t, "finishApplicationMaster", &pb.FinishApplicationMasterResponse{IsUnregistered: proto.Bool(true)})
	done, err := client.Finish(within(t), FinishRequest{Status: FinalFailed, Diagnostics: "it broke", TrackingURL: "http://history/1"})
	require.NoError(t, err)
	require.True(t, done)
	same(t, &pb.FinishApplicationMasterRequest{
		FinalStatus: pb.FinalApplicationStatus_FINAL_STATUS_FAILED.Enum(), Diagnostics: proto.String("it broke"), TrackingUrl: proto.String("http://history/1"),
	}, <-requests)
}
