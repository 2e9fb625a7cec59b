package yarntest

import (
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// stage is the state of a container at the ResourceManager.
type stage int

const (
	// An allocated container is sent to the ApplicationMaster in the response to its next
	// heartbeat.
	allocated stage = iota
	// An acquired container has been sent to the ApplicationMaster, which must start it within
	// Options.AllocationExpiry.
	acquired
	// The node has reported the start of a launched container.
	launched
	// A completed container has ended.
	completed
	// A forgotten container had not been started when the ResourceManager restarted.
	forgotten
)

// process is the state of a container at its NodeManager.
type process int

const (
	absent process = iota
	localizing
	running
	exited
)

type container struct {
	id                  yarn.ContainerID
	attempt             *attempt
	node                *Node
	resource            yarn.Resource
	priority            int32
	allocationRequestID int64
	executionType       yarn.ExecutionType
	label               string
	master              bool // whether the container is for the ApplicationMaster
	surplus             bool // whether the application has not requested the container

	stage               stage
	counted             bool // whether the attempt, node and queue include the container in their used resources
	token               security.Token
	expiry              *event
	preemptionAnnounced time.Time // the zero time if no preemption was announced

	process     process
	next        *event // the event that will change the field process
	environment map[string]string
	commands    []string

	allocatedAt, acquiredAt, startedAt, endedAt time.Time
	exit                                        yarn.ExitStatus
	diagnostics                                 string
	// reported is true when the node has reported the exit to the ResourceManager.
	reported bool
}

// State is the state of a container as tests see it.
type State string

// The values of State combine the container's state at the ResourceManager (stage) with its
// state at the NodeManager (process).
const (
	// Allocated means that the ApplicationMaster has not received the container yet.
	Allocated State = "allocated"
	// Acquired means that the ApplicationMaster has received the container, but has not started
	// it.
	Acquired State = "acquired"
	// Localizing and Running mean that the container uses resources of its node.
	Localizing State = "localizing"
	Running    State = "running"
	// Ended means that the container was released, has exited, or was killed or lost.
	Ended State = "ended"
)

// Container describes the state of a container at a certain time.
type Container struct {
	ID       yarn.ContainerID
	Host     string
	Resource yarn.Resource
	Priority int32
	State    State
	// Held is true if the ResourceManager counts the container as used by the application.
	Held bool
	// Master is true if the container is for the ApplicationMaster.
	Master bool
	// Surplus is true if the application has not requested the container (Application.Surplus).
	Surplus bool
	// Environment and Commands are from the launch context; they are nil before the start.
	Environment map[string]string
	Commands    []string
	// The times at which the container reached each state; zero if it has not reached the
	// state.
	AllocatedAt, AcquiredAt, StartedAt, EndedAt time.Time
	// Exit is the exit status; yarn.ExitUnknown until the container has ended.
	Exit yarn.ExitStatus
}

func (k *container) snapshot() Container {
	state := Ended
	switch {
	case k.process == localizing:
		state = Localizing
	case k.process == running:
		state = Running
	case k.process == exited || k.stage == completed || k.stage == forgotten:
	case k.stage == allocated:
		state = Allocated
	default:
		state = Acquired
	}
	return Container{
		ID: k.id, Host: k.node.id.Host, Resource: k.resource, Priority: k.priority, State: state,
		Held: k.held(), Master: k.master, Surplus: k.surplus, Environment: k.environment, Commands: k.commands,
		AllocatedAt: k.allocatedAt, AcquiredAt: k.acquiredAt, StartedAt: k.startedAt, EndedAt: k.endedAt, Exit: k.exit,
	}
}

// held reports whether the ResourceManager counts the container as used by its application.
func (k *container) held() bool {
	return k.stage == allocated || k.stage == acquired || k.stage == launched
}

// onNode reports whether the container uses resources of its node.
func (k *container) onNode() bool { return k.process == localizing || k.process == running }

func (k *container) proto() *pb.Container {
	return &pb.Container{
		Id:                  containerIDProto(k.id),
		NodeId:              nodeIDProto(k.node.id),
		NodeHttpAddress:     proto.String(k.node.httpAddress()),
		Resource:            resourceProto(k.resource),
		Priority:            &pb.Priority{Priority: proto.Int32(k.priority)},
		ContainerToken:      k.token.Proto(),
		ExecutionType:       executionTypeProto(k.executionType),
		AllocationRequestId: proto.Int64(k.allocationRequestID),
	}
}

// status returns the container's status in the form in which its node reports it.
func (k *container) status() *pb.ContainerStatus {
	s := &pb.ContainerStatus{
		ContainerId:   containerIDProto(k.id),
		State:         pb.ContainerState_CONTAINER_RUNNING.Enum(),
		Diagnostics:   proto.String(k.diagnostics),
		ExitStatus:    proto.Int32(int32(yarn.ExitUnknown)),
		Capability:    resourceProto(k.resource),
		ExecutionType: executionTypeProto(k.executionType),
	}
	if k.process == exited {
		s.State = pb.ContainerState_CONTAINER_COMPLETE.Enum()
		s.ExitStatus = proto.Int32(int32(k.exit))
	}
	return s
}

// killedStatus returns the status of a container that the ResourceManager has ended.
func (k *container) killedStatus(exit yarn.ExitStatus, diagnostics string) *pb.ContainerStatus {
	return &pb.ContainerStatus{
		ContainerId: containerIDProto(k.id),
		State:       pb.ContainerState_CONTAINER_COMPLETE.Enum(),
		ExitStatus:  proto.Int32(int32(exit)),
		Diagnostics: proto.String(diagnostics),
		Capability:  resourceProto(k.resource),
	}
}

// Diagnostics of containers that the ResourceManager ends, as in SchedulerUtils.
const (
	releasedText     = "Container released by application"
	lostNodeText     = "Container released on a *lost* node"
	preemptedText    = "Container preempted by scheduler"
	completedAppText = "Container of a completed application"
	expiredText      = "Container expired since it was unused"
)

// begin starts the container's process on its node. Options.Process determines its behaviour.
func (c *Cluster) begin(k *container) {
	k.process, k.startedAt = localizing, time.Now()
	plan := Process{}
	if !k.master {
		plan = c.options.Process(k.snapshot())
	}
	if plan.Never {
		return
	}
	k.next = c.after(plan.Localizing, func() {
		k.process = running
		if plan.Ends {
			k.next = c.after(plan.After, func() { c.exit(k, plan.Exit, plan.Diagnostics) })
		}
	})
}

// exit ends the container's process. The node reports the exit as soon as possible.
func (c *Cluster) exit(k *container, status yarn.ExitStatus, diagnostics string) {
	if !k.onNode() {
		return
	}
	c.cancel(k.next)
	k.process, k.exit, k.diagnostics, k.endedAt = exited, status, diagnostics, time.Now()
	k.node.report(k)
}
