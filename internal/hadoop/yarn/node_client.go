package yarn

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// ContainerManagementProtocol is the protocol's name in RPC calls, the name of a Java interface
// (ProtocolInfo of ContainerManagementProtocolPB; version 1).
const ContainerManagementProtocol = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"

// nodeRetryFor is the default of ClientOptions.RetryFor for calls to a NodeManager. It is
// Hadoop's default of yarn.client.nodemanager-connect.max-wait-ms.
const nodeRetryFor = 3 * time.Minute

// NodeClient calls one NodeManager. It is safe for concurrent use.
type NodeClient struct {
	node NodeID
	rpc  *ipc.Client
}

// NewNodeClient returns a client of the NodeManager at node, whose NMToken is options.Token.
// The client connects at the first call.
func NewNodeClient(node NodeID, options ClientOptions) *NodeClient {
	return &NodeClient{
		node: node,
		rpc:  ipc.NewClient([]string{node.String()}, options.ipcOptions(ContainerManagementProtocol, nodeRetryFor)),
	}
}

// SetToken replaces the token that new connections use.
func (c *NodeClient) SetToken(token security.Token) { c.rpc.SetToken(token) }

// Close closes the connection and waits for its goroutines. Pending calls fail with
// ipc.ErrClosed.
func (c *NodeClient) Close() error { return c.rpc.Close() }

// StartRequest is the request to start one container.
type StartRequest struct {
	ContainerToken security.Token // Token of the allocated Container
	Launch         ContainerLaunchContext
}

// StartContainers starts containers that were allocated on the node. started lists the
// containers that the NodeManager accepted; the NodeManager then fetches their files before it
// starts them. failed has an error for each other container. If err is not nil, any of the
// containers may have been started, except if err wraps a *ipc.ConnectionError whose Sent is
// false.
func (c *NodeClient) StartContainers(ctx context.Context, requests []StartRequest) (started []ContainerID, failed map[ContainerID]error, err error) {
	message := &pb.StartContainersRequest{}
	for _, request := range requests {
		launch, err := request.Launch.proto()
		if err != nil {
			return nil, nil, fmt.Errorf("start containers on %s: %w", c.node, err)
		}
		message.Requests = append(message.Requests, &pb.StartContainerRequest{
			LaunchContext:  launch,
			ContainerToken: request.ContainerToken.Proto(),
		})
	}
	response := &pb.StartContainersResponse{}
	if err := c.rpc.Call(ctx, "startContainers", message, response); err != nil {
		return nil, nil, err
	}
	return convert(response.GetSucceeded(), containerID), containerErrors(response.GetFailed()), nil
}

// StopContainers kills containers on the node. stopped includes containers that had ended
// shortly before. failed has an error for each container that the NodeManager does not know.
func (c *NodeClient) StopContainers(ctx context.Context, ids []ContainerID) (stopped []ContainerID, failed map[ContainerID]error, err error) {
	response := &pb.StopContainersResponse{}
	request := &pb.StopContainersRequest{ContainerIds: convert(ids, ContainerID.proto)}
	if err := c.rpc.Call(ctx, "stopContainers", request, response, ipc.Idempotent()); err != nil {
		return nil, nil, err
	}
	return convert(response.GetSucceeded(), containerID), containerErrors(response.GetFailed()), nil
}

// Statuses returns the statuses of containers. failed has an error for each container
// that the NodeManager does not know.
func (c *NodeClient) Statuses(ctx context.Context, ids []ContainerID) (statuses []ContainerStatus, failed map[ContainerID]error, err error) {
	response := &pb.GetContainerStatusesResponse{}
	request := &pb.GetContainerStatusesRequest{ContainerIds: convert(ids, ContainerID.proto)}
	if err := c.rpc.Call(ctx, "getContainerStatuses", request, response, ipc.Idempotent()); err != nil {
		return nil, nil, err
	}
	return convert(response.GetStatuses(), containerStatus), containerErrors(response.GetFailed()), nil
}

// containerErrors returns the exceptions of a response by container; nil if there are none.
func containerErrors(failed []*pb.ContainerException) map[ContainerID]error {
	if len(failed) == 0 {
		return nil
	}
	errs := make(map[ContainerID]error, len(failed))
	for _, f := range failed {
		errs[containerID(f.GetContainerId())] = containerError(f.GetException())
	}
	return errs
}
