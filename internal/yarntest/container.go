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
	// An allocated container is sent to the ApplicationMaster with the answer to its next
	// heartbeat.
	allocated stage = iota
	// An acquired container was sent to the ApplicationMaster, which must start it
	// within Options.AllocationExpiry.
	acquired
	// A launched container is one that its node has reported as started.
	launched
	// A completed container has ended.
	completed
	// A forgotten container had not been launched when the ResourceManager restarted.
	forgotten
)

// process is a container's state at its NodeManager.
type process int

const (
	absent process = iota
	localizing
	running
	exited
)

// container is a container at the ResourceManager and on its node.
type container struct {
	id                  yarn.ContainerID
	attempt             *attempt
	node                *Node
	resource            yarn.Resource
	priority            int32
	allocationRequestID int64
	executionType       yarn.ExecutionType
	label               string
	master              bool // runs the ApplicationMaster
	surplus             bool // the application did not ask for it

	stage               stage
	counted             bool // the attempt, node and queue count the container as used
	token               security.Token
	expiry              *event
	preemptionAnnounced time.Time // zero if no preemption was announced

	process     process
	next        *event // the next change of process
	environment map[string]string
	commands    []string

	allocatedAt, acquiredAt, startedAt, endedAt time.Time
	exit                                        yarn.ExitStatus
	diagnostics                                 string
	// reported is set once the node has reported the exit to the ResourceManager.
	reported bool
}

// State is a step in a container's life.
type State string

// A State combines a container's state at the ResourceManager (stage) with that at its node
// (process).
const (
	// Allocated means that the ApplicationMaster has not received the container yet.
	Allocated State = "allocated"
	// Acquired means that the ApplicationMaster has received the container, but not started
	// it.
	Acquired State = "acquired"
	// Localizing and Running mean that the container uses resources of its node.
	Localizing State = "localizing"
	Running    State = "running"
	// Ended means released, exited, killed or lost.
	Ended State = "ended"
)

// Container is the state of a container at one time.
type Container struct {
	ID       yarn.ContainerID
	Host     string
	Resource yarn.Resource
	Priority int32
	State    State
	// Held is set if the ResourceManager counts the container as the application's.
	Held bool
	// Master is set if the container is for the ApplicationMaster.
	Master bool
	// Surplus is set if the container was not asked for (Application.Surplus).
	Surplus bool
	// Environment and Commands are from the launch context; nil before the start.
	Environment map[string]string
	Commands    []string
	// The times when the container reached each state; zero if it has not.
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

// held reports whether the ResourceManager counts the container as its application's.
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

// status returns the container's status as its node reports it.
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

// Diagnostics of containers that the ResourceManager ends (SchedulerUtils).
const (
	releasedText     = "Container released by application"
	lostNodeText     = "Container released on a *lost* node"
	preemptedText    = "Container preempted by scheduler"
	completedAppText = "Container of a completed application"
	expiredText      = "Container expired since it was unused"
)

// begin starts the container's process on its node, as Options.Process decides.
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

// exit ends the container's process. The node reports the exit as soon as it can.
func (c *Cluster) exit(k *container, status yarn.ExitStatus, diagnostics string) {
	if !k.onNode() {
		return
	}
	c.cancel(k.next)
	k.process, k.exit, k.diagnostics, k.endedAt = exited, status, diagnostics, time.Now()
	k.node.report(k)
}
