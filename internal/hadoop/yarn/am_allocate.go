package yarn

import (
	"context"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// AllocateRequest is an ApplicationMaster's heartbeat, with the changes since the previous
// heartbeat.
type AllocateRequest struct {
	// ResponseID is the ResponseID of the last response; 0 in the first request. A request
	// that repeats the previous ResponseID gets the previous response again.
	ResponseID int32
	Progress   float32           // progress of the application, 0 to 1
	Asks       []ResourceRequest // the resource requests that have changed
	Releases   []ContainerID     // containers to release; running ones are killed
	// BlacklistAdd and BlacklistRemove are names of hosts and racks to add to, or remove from,
	// the application's blacklist.
	BlacklistAdd    []string
	BlacklistRemove []string
}

// AMCommand is a command of the ResourceManager to an ApplicationMaster.
type AMCommand int32

// The commands, with the protocol's numbers. ResourceManagers of Hadoop 2.4 and later
// return ErrNotRegistered instead of Resync, and ErrAttemptNotFound instead of Shutdown.
const (
	NoCommand AMCommand = 0
	Resync    AMCommand = 1 // register again
	Shutdown  AMCommand = 2 // stop without unregistering
)

// AllocateResponse contains what has changed since the last response.
type AllocateResponse struct {
	Command    AMCommand
	ResponseID int32 // the ResponseID that the next request must have
	// Allocated are new containers. The ResourceManager releases a container that is not
	// started within yarn.resourcemanager.rm.container-allocation.expiry-interval-ms (10 min by
	// default).
	Allocated []Container
	// Completed are containers that have ended. Each is reported once, and possibly again
	// after a restart of the ResourceManager.
	Completed    []ContainerStatus
	UpdatedNodes []NodeReport // nodes whose state has changed
	ClusterNodes int32        // number of NodeManagers in the cluster
	Preemption   *Preemption  // notice of coming preemptions; nil if there are none
	// NMTokens has a token for each node of Allocated for which the ResourceManager has not sent
	// a token before.
	NMTokens []NMToken
}

// Allocate sends a heartbeat. The ResourceManager fails an attempt that sends no heartbeat for
// yarn.am.liveness-monitor.expiry-interval-ms (10 min by default). If the response to a
// heartbeat is lost, the caller must send the heartbeat again with the same ResponseID. If the
// response contains a new AMRMToken, Allocate sets it as the token of new connections.
func (c *AMClient) Allocate(ctx context.Context, request AllocateRequest) (*AllocateResponse, error) {
	response := &pb.AllocateResponse{}
	err := c.rpc.Call(ctx, "allocate", &pb.AllocateRequest{
		Asks:             convert(request.Asks, ResourceRequest.proto),
		Releases:         convert(request.Releases, ContainerID.proto),
		BlacklistRequest: blacklist(request.BlacklistAdd, request.BlacklistRemove),
		ResponseId:       &request.ResponseID,
		Progress:         &request.Progress,
	}, response, ipc.Idempotent())
	if err != nil {
		return nil, err
	}
	// After a roll-over of keys, responses contain a new AMRMToken until the old token
	// expires or a connection uses the new one. Connections made with the old token stay
	// open.
	if rolled := response.GetAmRmToken(); rolled != nil {
		c.SetToken(security.TokenFromProto(rolled))
	}
	return &AllocateResponse{
		Command:      AMCommand(response.GetCommand()),
		ResponseID:   response.GetResponseId(),
		Allocated:    convert(response.GetAllocatedContainers(), container),
		Completed:    convert(response.GetCompletedContainerStatuses(), containerStatus),
		UpdatedNodes: convert(response.GetUpdatedNodes(), nodeReport),
		ClusterNodes: response.GetNumClusterNodes(),
		Preemption:   preemption(response.GetPreempt()),
		NMTokens:     convert(response.GetNmTokens(), nmToken),
	}, nil
}
