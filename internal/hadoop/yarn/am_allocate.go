package yarn

import (
	"context"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// AllocateRequest is an ApplicationMaster's heartbeat, with what has changed
// since the last one.
type AllocateRequest struct {
	// ResponseID is that of the last response, 0 in the first request. A request
	// that repeats an id gets the same response again.
	ResponseID int32
	// Progress of the application, 0 to 1.
	Progress float32
	// Asks are the requests that have changed.
	Asks []ResourceRequest
	// Releases are containers to release, started or not.
	Releases []ContainerID
	// BlacklistAdd and BlacklistRemove change the hosts and racks on which nothing
	// must be allocated.
	BlacklistAdd    []string
	BlacklistRemove []string
}

// AMCommand is an order of the ResourceManager.
type AMCommand int32

// The orders, with the protocol's numbers. ResourceManagers of Hadoop 2.4 and
// later send ErrNotRegistered and ErrAttemptNotFound instead.
const (
	NoCommand AMCommand = 0
	// Resync orders to register again.
	Resync AMCommand = 1
	// Shutdown orders to stop without unregistering.
	Shutdown AMCommand = 2
)

// AllocateResponse has the changes since the last response.
type AllocateResponse struct {
	Command AMCommand
	// ResponseID goes into the next request.
	ResponseID int32
	// Allocated containers must be started, or released, within
	// yarn.resourcemanager.rm.container-allocation.expiry-interval-ms (10 min).
	Allocated []Container
	// Completed containers have ended. Each is reported once, and again after a restart
	// of the ResourceManager.
	Completed []ContainerStatus
	// UpdatedNodes are nodes whose state has changed.
	UpdatedNodes []NodeReport
	// ClusterNodes counts the cluster's NodeManagers.
	ClusterNodes int32
	// Preemption is nil if nothing will be preempted.
	Preemption *Preemption
	// NMTokens are for nodes for which the application has no valid token yet.
	NMTokens []NMToken
}

// Allocate sends a heartbeat. The ResourceManager gives up an attempt that sends none
// for yarn.am.liveness-monitor.expiry-interval-ms (10 min). A heartbeat whose answer
// was lost must be sent again with the same response id. Allocate applies the new
// token of a roll-over itself.
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
	// Every response has the new token until the old one expires or a connection uses
	// the new one. Connections made with the old one stay open.
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
