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
	// Asks are the rows that change in the table of wants.
	Asks []ResourceRequest
	// Releases gives containers back, started or not.
	Releases []ContainerID
	// BlacklistAdd and BlacklistRemove change the hosts and racks on which
	// nothing is to be allocated.
	BlacklistAdd    []string
	BlacklistRemove []string
	// Updates asks to change containers.
	Updates []UpdateRequest
	// TrackingURL replaces the one registered, empty to keep it.
	TrackingURL string
}

// AMCommand is an order of the ResourceManager.
type AMCommand int32

// The orders, with the protocol's numbers. ResourceManagers of Hadoop 2.4 and
// later send ErrNotRegistered and ErrAttemptNotFound instead.
const (
	NoCommand AMCommand = 0
	// Resync orders to register again.
	Resync AMCommand = 1
	// Shutdown orders to end without unregistering.
	Shutdown AMCommand = 2
)

// AllocateResponse is what happened since the last one.
type AllocateResponse struct {
	Command AMCommand
	// ResponseID goes into the next request.
	ResponseID int32
	// Allocated containers are to be started, or released, within
	// yarn.resourcemanager.rm.container-allocation.expiry-interval-ms (10 min).
	Allocated []Container
	// Completed containers have ended; each is told of once, and again after a
	// restart of the ResourceManager.
	Completed []ContainerStatus
	// Headroom is what the application could still get now.
	Headroom Resource
	// UpdatedNodes are nodes of which the state has changed.
	UpdatedNodes []NodeReport
	// ClusterNodes counts the cluster's NodeManagers.
	ClusterNodes int32
	// Preemption is nil where nothing is to be taken.
	Preemption *Preemption
	// NMTokens are for nodes of which the application has no valid token yet.
	NMTokens []NMToken
	// AMRMToken replaces the ApplicationMaster's own token; nil where it stays.
	// Allocate has already passed it on to SetToken. Every response brings it
	// again until the old one becomes invalid, or a connection uses the new one;
	// connections made with the old one go on.
	AMRMToken *security.Token
	// Priority of the application in its queue.
	Priority int32
	// UpdateErrors and UpdatedContainers answer AllocateRequest.Updates.
	UpdateErrors      []UpdateError
	UpdatedContainers []UpdatedContainer
	// PreviousContainers of earlier attempts were reported by their nodes only
	// after the registration.
	PreviousContainers []Container
}

// Allocate sends a heartbeat. It must come at least every
// yarn.am.liveness-monitor.expiry-interval-ms (10 min), or the attempt is given
// up. A heartbeat whose answer was lost is sent again with the same response
// id, which the ResourceManager recognizes.
func (c *AMClient) Allocate(ctx context.Context, request AllocateRequest) (*AllocateResponse, error) {
	response := &pb.AllocateResponse{}
	err := c.rpc.Call(ctx, "allocate", &pb.AllocateRequest{
		Asks:             convert(request.Asks, ResourceRequest.proto),
		Releases:         convert(request.Releases, ContainerID.proto),
		BlacklistRequest: blacklist(request.BlacklistAdd, request.BlacklistRemove),
		ResponseId:       &request.ResponseID,
		Progress:         &request.Progress,
		UpdateRequests:   convert(request.Updates, UpdateRequest.proto),
		TrackingUrl:      optionalString(request.TrackingURL),
	}, response, ipc.Idempotent())
	if err != nil {
		return nil, err
	}
	r := &AllocateResponse{
		Command:            AMCommand(response.GetCommand()),
		ResponseID:         response.GetResponseId(),
		Allocated:          convert(response.GetAllocatedContainers(), container),
		Completed:          convert(response.GetCompletedContainerStatuses(), containerStatus),
		Headroom:           resource(response.GetLimit()),
		UpdatedNodes:       convert(response.GetUpdatedNodes(), nodeReport),
		ClusterNodes:       response.GetNumClusterNodes(),
		Preemption:         preemption(response.GetPreempt()),
		NMTokens:           convert(response.GetNmTokens(), nmToken),
		Priority:           response.GetApplicationPriority().GetPriority(),
		UpdateErrors:       convert(response.GetUpdateErrors(), updateError),
		UpdatedContainers:  convert(response.GetUpdatedContainers(), updatedContainer),
		PreviousContainers: convert(response.GetContainersFromPreviousAttempts(), container),
	}
	if rolled := response.GetAmRmToken(); rolled != nil {
		token := security.TokenFromProto(rolled)
		r.AMRMToken = &token
		c.SetToken(token)
	}
	return r, nil
}
