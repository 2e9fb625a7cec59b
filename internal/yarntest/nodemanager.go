package yarntest

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/ipctest"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// yarnException is the Java class of most exceptions of a NodeManager.
const yarnException = "org.apache.hadoop.yarn.exceptions.YarnException"

func (n *Node) serve() error {
	c := n.cluster
	n.server = ipctest.New(ipctest.Options{Password: n.nmPassword, Fault: c.faultsAt(n.spec.Host)})
	ipctest.Handle(n.server, yarn.ContainerManagementProtocol, "startContainers", n.startContainers)
	ipctest.Handle(n.server, yarn.ContainerManagementProtocol, "stopContainers", n.stopContainers)
	ipctest.Handle(n.server, yarn.ContainerManagementProtocol, "getContainerStatuses", n.containerStatuses)
	var err error
	if n.rpc, err = c.network.listen(n.spec.Host, 0, n.server.ServeConn); err != nil {
		return fmt.Errorf("node %s: %w", n.spec.Host, err)
	}
	n.id = yarn.NodeID{Host: n.spec.Host, Port: int32(n.rpc.port())}
	return nil
}

// failure converts an error about one container to its form in the response of a NodeManager.
func failure(id *pb.ContainerId, err error) *pb.ContainerException {
	class, text := yarnException, err.Error()
	if exception, ok := err.(*ipctest.Exception); ok {
		class, text = exception.Class, exception.Text
	}
	return &pb.ContainerException{ContainerId: id, Exception: &pb.SerializedException{ClassName: &class, Message: &text}}
}

// caller returns the application attempt in the NMToken of a call.
func caller(call ipctest.Call) yarn.AttemptID {
	message := &pb.NMTokenIdentifier{}
	if proto.Unmarshal(call.Identifier, message) != nil {
		return yarn.AttemptID{}
	}
	return attemptIDOf(message.GetAttemptId())
}

func (n *Node) startContainers(_ context.Context, call ipctest.Call, request *pb.StartContainersRequest) (*pb.StartContainersResponse, error) {
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.changed()
	if n.registration == nil {
		return nil, &ipctest.Exception{Class: string(yarn.ErrNodeNotReady), Text: "Rejecting new containers as NodeManager has not yet connected with ResourceManager"}
	}
	response := &pb.StartContainersResponse{}
	for _, start := range request.GetRequests() {
		message, err := n.verifyContainerToken(security.TokenFromProto(start.GetContainerToken()))
		if err != nil {
			return nil, err // containers that this call has started already continue to run
		}
		if err := n.start(caller(call), message, start.GetLaunchContext()); err != nil {
			response.Failed = append(response.Failed, failure(message.GetContainerId(), err))
			continue
		}
		response.Succeeded = append(response.Succeeded, message.GetContainerId())
	}
	return response, nil
}

// start starts a container after the same checks as in Hadoop's ContainerManagerImpl.
func (n *Node) start(caller yarn.AttemptID, token *pb.ContainerTokenIdentifier, launch *pb.ContainerLaunchContext) error {
	c := n.cluster
	id := containerIDOf(token.GetContainerId())
	unauthorized := func(why string) error {
		return &ipctest.Exception{Class: yarnException, Text: "Unauthorized request to start container. " + why}
	}
	switch {
	case id.Attempt.Application != caller.Application:
		return unauthorized(fmt.Sprintf("\nNMToken for application attempt : %v was used for starting container with container token issued for application attempt : %v", caller, id.Attempt))
	case n.local[id] != nil:
		return unauthorized(fmt.Sprintf("\nAttempt to relaunch the same container with id %v.", id))
	case time.UnixMilli(token.GetExpiryTime()).Before(time.Now()):
		return unauthorized("\nThis token is expired. current time is " + fmt.Sprint(time.Now().UnixMilli()) + " found " + fmt.Sprint(token.GetExpiryTime()))
	case token.GetRmIdentifier() != n.cluster.identifier:
		return &ipctest.Exception{Class: string(yarn.ErrInvalidContainer), Text: fmt.Sprintf("Container %v rejected as it is allocated by a previous RM", id)}
	case n.failing != "":
		return &ipctest.Exception{Class: yarnException, Text: n.failing}
	}
	k := c.containers[id]
	if k == nil {
		return unauthorized("\nno container " + id.String())
	}
	k.environment = map[string]string{}
	for _, variable := range launch.GetEnvironment() {
		k.environment[variable.GetKey()] = variable.GetValue()
	}
	k.commands = launch.GetCommands()
	n.local[id] = k
	if since, ok := k.attempt.blacklist[n.spec.Host]; ok && !k.acquiredAt.Before(since) {
		c.violations = append(c.violations, fmt.Sprintf("%v was started on node %s, which was blacklisted before its allocation", id, n.spec.Host))
	}
	c.begin(k)
	n.launches = append(n.launches, k)
	n.scheduleHeartbeat()
	return nil
}

func (n *Node) stopContainers(_ context.Context, call ipctest.Call, request *pb.StopContainersRequest) (*pb.StopContainersResponse, error) {
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.changed()
	response := &pb.StopContainersResponse{}
	for _, id := range request.GetContainerIds() {
		if containerIDOf(id).Attempt.Application != caller(call).Application {
			response.Failed = append(response.Failed, failure(id, fmt.Errorf("container %v is not of %v", containerIDOf(id), caller(call).Application)))
			continue
		}
		k := n.local[containerIDOf(id)]
		if k == nil {
			response.Failed = append(response.Failed, failure(id, n.notHandled(containerIDOf(id))))
			continue
		}
		c.exit(k, yarn.ExitKilledByApplicationMaster, "Container killed by the ApplicationMaster.")
		response.Succeeded = append(response.Succeeded, id)
	}
	return response, nil
}

func (n *Node) notHandled(id yarn.ContainerID) error {
	return &ipctest.Exception{Class: yarnException, Text: fmt.Sprintf("Container %v is not handled by this NodeManager", id)}
}

func (n *Node) containerStatuses(_ context.Context, _ ipctest.Call, request *pb.GetContainerStatusesRequest) (*pb.GetContainerStatusesResponse, error) {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	response := &pb.GetContainerStatusesResponse{}
	for _, id := range request.GetContainerIds() {
		k := n.local[containerIDOf(id)]
		if k == nil {
			response.Failed = append(response.Failed, failure(id, n.notHandled(containerIDOf(id))))
			continue
		}
		response.Statuses = append(response.Statuses, k.status())
	}
	return response, nil
}
