package yarntest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/ipctest"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

func exception(class ipc.ErrorClass, format string, args ...any) error {
	return &ipctest.Exception{Class: string(class), Text: fmt.Sprintf(format, args...)}
}

// callingAttempt returns the attempt to which the AMRMToken of a call belongs, and the
// identifier of the token.
func (c *Cluster) callingAttempt(call ipctest.Call) (*attempt, *pb.AMRMTokenIdentifier, error) {
	token := &pb.AMRMTokenIdentifier{}
	if err := proto.Unmarshal(call.Identifier, token); err != nil {
		return nil, nil, invalidToken("malformed identifier: %v", err)
	}
	id := attemptIDOf(token.GetAttemptId())
	a := c.attempt(id)
	if a == nil || a.ended && !a.app.stored {
		return nil, nil, exception(yarn.ErrAttemptNotFound, "Application attempt %v doesn't exist in ApplicationMasterService cache.", id)
	}
	return a, token, nil
}

func (c *Cluster) registerMaster(_ context.Context, call ipctest.Call, request *pb.RegisterApplicationMasterRequest) (*pb.RegisterApplicationMasterResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.changed()
	a, _, err := c.callingAttempt(call)
	if err != nil {
		return nil, err
	}
	if a.ended {
		return nil, exception(yarn.ErrInvalidMasterRequest, "Application doesn't exist in cache %v", a.id)
	}
	c.ping(a)
	if a.registered && !(!a.app.Managed && a.app.KeepContainers) {
		return nil, exception(yarn.ErrInvalidMasterRequest, "Application Master is already registered : %v", a.app.id)
	}
	a.registered, a.lastID, a.last = true, 0, nil
	a.host, a.port = request.GetHost(), request.GetRpcPort()
	a.app.state, a.app.trackingURL = yarn.ApplicationRunning, request.GetTrackingUrl()
	clear(a.tokensFor)
	response := &pb.RegisterApplicationMasterResponse{
		MaximumCapability: resourceProto(c.options.MaxContainer),
		Queue:             proto.String(a.app.queue.spec.Name),
		SchedulerResourceTypes: []pb.SchedulerResourceType{
			pb.SchedulerResourceType_SCHEDULER_RESOURCE_MEMORY, pb.SchedulerResourceType_SCHEDULER_RESOURCE_CPU,
		},
		ResourceTypes: []*pb.ResourceTypeInfo{{Name: proto.String("memory-mb"), Units: proto.String("Mi")}, {Name: proto.String("vcores")}},
	}
	for name := range c.options.MaxContainer.Others {
		response.ResourceTypes = append(response.ResourceTypes, &pb.ResourceTypeInfo{Name: proto.String(name)})
	}
	for _, k := range a.previous {
		if !k.held() {
			continue
		}
		response.ContainersFromPreviousAttempts = append(response.ContainersFromPreviousAttempts, k.proto())
		if token := c.tokenFor(a, k.node); token != nil {
			response.NmTokensFromPreviousAttempts = append(response.NmTokensFromPreviousAttempts, token)
		}
	}
	a.previous = nil
	return response, nil
}

// tokenFor returns the attempt's NMToken for a node; nil if the token was sent to the attempt
// before.
func (c *Cluster) tokenFor(a *attempt, n *Node) *pb.NMToken {
	if a.tokensFor[n] {
		return nil
	}
	a.tokensFor[n] = true
	return &pb.NMToken{NodeId: nodeIDProto(n.id), Token: c.nmToken(a, n).Proto()}
}

func (c *Cluster) allocateCall(_ context.Context, call ipctest.Call, request *pb.AllocateRequest) (*pb.AllocateResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.changed()
	a, token, err := c.callingAttempt(call)
	if err != nil {
		return nil, err
	}
	if !a.registered {
		if a.ended {
			return nil, exception(yarn.ErrAttemptNotFound, "Application attempt %v doesn't exist in ApplicationMasterService cache.", a.id)
		}
		return nil, exception(yarn.ErrNotRegistered, "AM is not registered for known application attempt: %v or RM had restarted after AM registered. AM should re-register.", a.id)
	}
	c.ping(a)
	id := request.GetResponseId()
	if a.last != nil && id+1 == a.lastID {
		return a.last, nil // the request is repeated, because the response was lost
	}
	if id != a.lastID {
		return nil, exception(yarn.ErrInvalidMasterRequest, "Invalid responseId in AllocateRequest from application attempt: %v, expect responseId to be %d, but get %d", a.id, a.lastID, id)
	}
	if err := c.validate(a, request); err != nil {
		return nil, err
	}
	c.applyHeartbeat(a, request)
	a.lastID++
	a.heartbeats++
	a.last = c.heartbeatResponse(a, token.GetKeyId())
	return a.last, nil
}

// validate returns an error if any part of a request is invalid
// (DefaultAMSProcessor.allocate).
func (c *Cluster) validate(a *attempt, request *pb.AllocateRequest) error {
	for _, ask := range request.GetAsks() {
		size := resourceOf(ask.GetCapability())
		if size.MemoryMB < 0 || size.VCores < 0 || !size.Fits(c.options.MaxContainer) {
			return exception(yarn.ErrInvalidResourceRequest, "Invalid resource request! Cannot allocate containers as requested resource is greater than maximum allowed allocation. Requested resource=%v, maximum allowed allocation=%v", size, c.options.MaxContainer)
		}
		if ask.GetContainers() < 0 {
			return exception(yarn.ErrInvalidResourceRequest, "Cannot ask for %d containers", ask.GetContainers())
		}
		if label := strings.TrimSpace(ask.GetNodeLabelExpression()); label != "" {
			if ask.GetResourceName() != yarn.AnyHost {
				return exception(yarn.ErrInvalidLabelRequest, "Invalid resource request, queue=%s, node label expression is only allowed with resource name *", a.app.Queue)
			}
			if !c.hasLabel(label) {
				return exception(yarn.ErrInvalidLabelRequest, "Invalid label resource request, cluster do not contain , label= %s", label)
			}
		}
	}
	for _, name := range request.GetBlacklistRequest().GetAdditions() {
		if name == yarn.AnyHost {
			return exception(yarn.ErrInvalidBlacklist, "Cannot add * to the blacklist!")
		}
	}
	for _, id := range request.GetReleases() {
		if containerIDOf(id).Attempt != a.id && !a.app.KeepContainers {
			return exception(yarn.ErrInvalidRelease, "Cannot release container : %v not belonging to this application attempt : %v", containerIDOf(id), a.id)
		}
	}
	return nil
}

func (c *Cluster) hasLabel(label string) bool {
	for _, n := range c.nodes {
		if n.spec.Label == label {
			return true
		}
	}
	return false
}

// applyHeartbeat applies the requests, releases and blacklist changes of a heartbeat.
func (c *Cluster) applyHeartbeat(a *attempt, request *pb.AllocateRequest) {
	a.app.progress = request.GetProgress()
	if request.TrackingUrl != nil {
		a.app.trackingURL = request.GetTrackingUrl()
	}
	if len(request.GetAsks()) > 0 {
		for _, ask := range request.GetAsks() {
			size := resourceOf(ask.GetCapability())
			unit := c.options.MinMemoryMB
			size.MemoryMB = max((size.MemoryMB+unit-1)/unit, 1) * unit
			size.VCores = max(size.VCores, 1)
			a.table.set(ask, size)
		}
		c.demandChanged()
	}
	for _, name := range request.GetBlacklistRequest().GetAdditions() {
		if _, ok := a.blacklist[name]; !ok {
			a.blacklist[name] = time.Now()
		}
	}
	for _, name := range request.GetBlacklistRequest().GetRemovals() {
		delete(a.blacklist, name)
	}
	for _, id := range request.GetReleases() {
		k := c.containers[containerIDOf(id)]
		if k == nil || !k.held() || k.attempt.app != a.app {
			continue
		}
		if !k.counted {
			// The ResourceManager has restarted, and the container's node has not registered
			// since. Release the container when the node registers.
			a.pendingReleases[k] = true
			continue
		}
		c.complete(k, k.killedStatus(yarn.ExitAborted, releasedText))
		if k.onNode() {
			k.node.cleanups = append(k.node.cleanups, k)
			k.node.scheduleHeartbeat()
		}
	}
}

// heartbeatResponse returns the response with the changes since the last heartbeat.
func (c *Cluster) heartbeatResponse(a *attempt, key int32) *pb.AllocateResponse {
	active := 0
	for _, n := range c.nodes {
		if n.active() {
			active++
		}
	}
	headroom := add(c.total(), a.app.queue.used, -1)
	response := &pb.AllocateResponse{
		ResponseId:                 proto.Int32(a.lastID),
		CompletedContainerStatuses: a.newlyCompleted,
		Limit:                      resourceProto(headroom),
		NumClusterNodes:            proto.Int32(int32(active)),
		Preempt:                    c.preemption(a),
		ApplicationPriority:        &pb.Priority{Priority: proto.Int32(0)},
	}
	a.newlyCompleted = nil
	// Shuffle, because YARN returns node updates in the order of a hash map
	// (DefaultAMSProcessor.handleNodeUpdates).
	c.random.Shuffle(len(a.nodeUpdates), func(i, j int) { a.nodeUpdates[i], a.nodeUpdates[j] = a.nodeUpdates[j], a.nodeUpdates[i] })
	for _, r := range a.nodeUpdates {
		response.UpdatedNodes = append(response.UpdatedNodes, r.proto())
	}
	a.nodeUpdates = nil
	now := time.Now()
	for _, k := range a.newlyAllocated {
		if k.stage != allocated {
			continue
		}
		k.stage, k.acquiredAt = acquired, now
		k.token = c.containerToken(k, now.Add(c.options.AllocationExpiry))
		if c.tokensToSpoil > 0 {
			c.tokensToSpoil--
			k.token.Password[0]++
		}
		k.expiry = c.after(c.options.AllocationExpiry, func() {
			if k.stage == acquired {
				c.complete(k, k.killedStatus(yarn.ExitAborted, expiredText))
			}
		})
		if token := c.tokenFor(a, k.node); token != nil {
			response.NmTokens = append(response.NmTokens, token)
		}
		response.AllocatedContainers = append(response.AllocatedContainers, k.proto())
	}
	a.newlyAllocated = nil
	for _, k := range a.previous {
		response.ContainersFromPreviousAttempts = append(response.ContainersFromPreviousAttempts, k.proto())
	}
	a.previous = nil
	if next := c.amrmKeys.next; next != 0 && next != key {
		a.keyID = next
		response.AmRmToken = c.amrmToken(a, next).Proto()
	} else if next == 0 && key != c.amrmKeys.current {
		a.keyID = c.amrmKeys.current
		response.AmRmToken = c.amrmToken(a, a.keyID).Proto()
	}
	return response
}

// preemption returns a message with the preemptions that have not been announced to the
// attempt; nil if there are none.
func (c *Cluster) preemption(a *attempt) *pb.PreemptionMessage {
	list := func(containers []*container) []*pb.PreemptionContainer {
		var ids []*pb.PreemptionContainer
		for _, k := range containers {
			if k.held() {
				ids = append(ids, &pb.PreemptionContainer{Id: containerIDProto(k.id)})
			}
		}
		return ids
	}
	message := &pb.PreemptionMessage{}
	if ids := list(a.strict); len(ids) > 0 {
		message.Strict = &pb.StrictPreemptionContract{Containers: ids}
	}
	if ids := list(a.contract); len(ids) > 0 {
		var sum yarn.Resource
		for _, k := range a.contract {
			sum = add(sum, k.resource, 1)
		}
		// The contract states the resources to be released as a number of containers of the
		// minimum size, as FiCaSchedulerApp.getAllocation does.
		unit := c.options.MinMemoryMB
		message.Contract = &pb.PreemptionContract{Containers: ids, Resources: []*pb.PreemptionResourceRequest{{Resource: &pb.ResourceRequest{
			Priority: &pb.Priority{Priority: proto.Int32(-1)}, ResourceName: proto.String(yarn.AnyHost),
			Capability: resourceProto(yarn.Resource{MemoryMB: unit, VCores: 1}), Containers: proto.Int32(int32((sum.MemoryMB + unit - 1) / unit)),
		}}}}
	}
	a.strict, a.contract = nil, nil
	if message.Strict == nil && message.Contract == nil {
		return nil
	}
	return message
}

func (c *Cluster) finishMaster(_ context.Context, call ipctest.Call, request *pb.FinishApplicationMasterRequest) (*pb.FinishApplicationMasterResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.changed()
	a, _, err := c.callingAttempt(call)
	if err != nil {
		return nil, err
	}
	done := &pb.FinishApplicationMasterResponse{IsUnregistered: proto.Bool(true)}
	if a.app.stored {
		return done, nil
	}
	if !a.registered {
		return nil, exception(yarn.ErrNotRegistered, "Application Master is trying to unregister before registering for: %v", a.app.id)
	}
	c.ping(a)
	first := !a.finishing
	if first {
		a.finishing = true
		diagnostics := request.GetDiagnostics()
		final := yarn.FinalStatus(request.GetFinalStatus())
		if request.TrackingUrl != nil {
			a.app.trackingURL = request.GetTrackingUrl()
		}
		// The final state is stored after storeDelay. The application ends after a further
		// exitDelay, when its ApplicationMaster has exited.
		c.after(storeDelay, func() {
			if a.ended {
				return
			}
			a.app.stored = true
			a.app.final, a.app.diagnostics = final, diagnostics
			c.after(exitDelay, func() {
				if !a.app.state.Ended() {
					c.end(a.app, yarn.ApplicationFinished, final, diagnostics)
				}
			})
		})
	}
	// The final state has not been stored, so the response is false. As in YARN, it is true
	// nevertheless for the first call of an unmanaged ApplicationMaster.
	return &pb.FinishApplicationMasterResponse{IsUnregistered: proto.Bool(first && !a.app.Managed)}, nil
}

const (
	// storeDelay is the time that the state store needs to store a final state.
	storeDelay = 50 * time.Millisecond
	// exitDelay is the time from unregistration to the exit of an ApplicationMaster.
	exitDelay = time.Second
)

func (c *Cluster) applicationReport(_ context.Context, call ipctest.Call, request *pb.GetApplicationReportRequest) (*pb.GetApplicationReportResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := applicationIDOf(request.GetApplicationId())
	app := c.byID[id]
	if app == nil {
		return nil, exception(yarn.ErrApplicationNotFound, "Application with id '%v' doesn't exist in RM. Please check that the job submission was successful.", id)
	}
	a := app.current()
	report := &pb.ApplicationReport{
		ApplicationId: applicationIDProto(id), User: proto.String(app.User), Queue: proto.String(app.queue.spec.Name), Name: proto.String(app.Name),
		Host: proto.String("N/A"), RpcPort: proto.Int32(-1), State: pb.YarnApplicationState(app.state).Enum(),
		TrackingUrl: proto.String(app.trackingURL), Diagnostics: proto.String(app.diagnostics),
		FinalStatus: pb.FinalApplicationStatus(app.final).Enum(), CurrentAttemptId: attemptIDProto(a.id),
	}
	if a.host != "" {
		report.Host, report.RpcPort = proto.String(a.host), proto.Int32(a.port)
	}
	if !app.Managed && a.state() == "LAUNCHED" && call.User == app.User {
		report.AmRmToken = c.amrmToken(a, a.keyID).Proto()
	}
	return &pb.GetApplicationReportResponse{Report: report}, nil
}

// complete ends a container at the ResourceManager. It reports the end if the ApplicationMaster
// has received the container. If the ApplicationMaster runs in the container, complete ends the
// attempt.
func (c *Cluster) complete(k *container, status *pb.ContainerStatus) {
	if !k.held() {
		return
	}
	c.cancel(k.expiry)
	acquired := k.stage != allocated
	k.stage = completed
	if k.process == absent {
		k.exit, k.endedAt = yarn.ExitStatus(status.GetExitStatus()), time.Now()
	}
	c.drop(k)
	k.attempt.freed = add(k.attempt.freed, k.resource, 1)
	c.log("container completed", "container", k.id, "status", status.GetExitStatus(), "diagnostics", status.GetDiagnostics())
	if k.master {
		if a := k.attempt; a.ended {
			return
		} else if a.finishing {
			c.end(a.app, yarn.ApplicationFinished, a.app.final, a.app.diagnostics)
		} else if a == a.app.current() {
			c.failAttempt(a, fmt.Sprintf("AM Container for %v exited with exitCode: %d", a.id, status.GetExitStatus()))
		}
		return
	}
	if acquired && !k.attempt.ended {
		// Do not report the end in the response to the heartbeat that releases the container,
		// but in a later response.
		epoch := c.epoch
		c.after(0, func() {
			if c.epoch == epoch {
				k.attempt.newlyCompleted = append(k.attempt.newlyCompleted, status)
			}
		})
	}
}
