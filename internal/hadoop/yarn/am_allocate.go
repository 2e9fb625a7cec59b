package yarn

import (
	"context"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// AllocateRequest is an ApplicationMaster's heartbeat. It contains only what has
// changed since the previous one.
type AllocateRequest struct {
	// ResponseID is the ResponseID of the last response; 0 in the first request. A
	// request that repeats the previous ResponseID gets the previous response
	// again.
	ResponseID int32
	// Progress of the application, 0 to 1.
	Progress float32
	// Asks are the resource requests that have changed.
	Asks []ResourceRequest
	// Releases are containers to give back, whether or not they were started.
	Releases []ContainerID
	// BlacklistAdd and BlacklistRemove change the list of hosts and racks on which
	// nothing may be allocated to the application.
	BlacklistAdd    []string
	BlacklistRemove []string
}

// AMCommand is a command of the ResourceManager to an ApplicationMaster.
type AMCommand int32

// The commands, with the protocol's numbers. ResourceManagers of Hadoop 2.4 and
// later return ErrNotRegistered and ErrAttemptNotFound instead.
const (
	NoCommand AMCommand = 0
	// Resync tells the ApplicationMaster to register again.
	Resync AMCommand = 1
	// Shutdown tells the ApplicationMaster to stop without unregistering.
	Shutdown AMCommand = 2
)

// AllocateResponse contains what has changed since the last response.
type AllocateResponse struct {
	Command AMCommand
	// ResponseID is the ResponseID of the next request.
	ResponseID int32
	// Allocated are new containers. Each must be started or released within
	// yarn.resourcemanager.rm.container-allocation.expiry-interval-ms (10 min by
	// default).
	Allocated []Container
	// Completed are containers that have ended. Each is reported once, but possibly
	// again after a restart of the ResourceManager.
	Completed []ContainerStatus
	// UpdatedNodes are nodes whose state has changed.
	UpdatedNodes []NodeReport
	// ClusterNodes is the number of NodeManagers in the cluster.
	ClusterNodes int32
	// Preemption is the notice of coming preemptions; nil if there are none.
	Preemption *Preemption
	// NMTokens are the tokens for those nodes of allocated containers for which the
	// application has not yet received a valid token.
	NMTokens []NMToken
}

// Allocate sends a heartbeat. The ResourceManager fails an attempt that sends no
// heartbeat for yarn.am.liveness-monitor.expiry-interval-ms (10 min by default). A
// heartbeat whose response was lost must be sent again with the same ResponseID. If
// the response contains a new AMRMToken, Allocate uses it from then on.
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
	// After a roll-over of keys, every response contains the new AMRMToken until
	// the old one expires or a connection uses the new one. Connections that were
	// made with the old one stay open.
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
