// Package allocator obtains an application's executors from YARN. It chooses the hosts on which it
// requests containers, launches executors in the allocated containers, and replaces executors that
// fail.
//
// The type state makes the decisions. It is a state machine that does no I/O and reads no clock.
// Allocator.Run is the event loop around state. Its goroutine sends heartbeats, applies the answers
// and the messages of the driver and the launcher to state, and reports ended executors to the
// driver.
package allocator

import (
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/am/launcher"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// Options are the options of an Allocator. Load, Racks, Nodes, LogDirectory and Events are
// optional.
type Options struct {
	ResourceManager ResourceManager
	Registration    yarn.RegisterRequest
	Connect         func(node yarn.NodeID, token security.Token) launcher.NodeManager
	LaunchContext   func(launcher.Executor) yarn.ContainerLaunchContext

	ExecutorLost func(id string, loss driver.Loss)                    // reports a lost executor to the driver; must not block
	Decommission func(ids []string, notice driver.DecommissionNotice) // reports to the driver that YARN will end executors; must not block
	Progress     func() float32                                       // returns the driver's progress from 0 to 1; called for every heartbeat
	Load         func() map[string]int                                // returns the number of running tasks by executor id; may take a second

	Settings     *config.Config
	Hadoop       *conf.Config
	Racks        map[string]string      // racks of the nodes that are known at the start, by host
	Nodes        map[string]launch.Node // resources and labels of the nodes in Racks, by host
	LogDirectory string                 // directory in which the list of containers is written; "" for no list
	Events       events.Sink            // receives events about executors and notes; may be nil
	Random       *rand.Rand
	Logger       *slog.Logger
}

// Allocator obtains as many executors as the driver requests. It implements driver.ClusterManager.
// Only the goroutine of Run uses state and calls the ResourceManager. All other goroutines put
// messages into the mailbox.
type Allocator struct {
	options        Options
	heartbeats     heartbeats
	limits         containerLimits
	state          *state
	launcher       *launcher.Launcher
	containers     *containerLog
	racks          rackLookup
	preemptionWait time.Duration // minimum time from the notice of a preemption to the end of the container
	pace           heartbeatPace
	clusterNodes   int // number of NodeManagers of the cluster, in the latest answer to a heartbeat

	registered chan struct{} // closed when the application has been registered for the first time
	background sync.WaitGroup
	lookingUp  bool // a look-up of racks is running in the background

	wake    chan struct{} // contains an element if the mailbox contains messages
	mailbox struct {
		sync.Mutex
		messages
	}
	published struct {
		sync.Mutex
		Status
	}
}

// messages are the messages of other goroutines to the goroutine of Run.
type messages struct {
	request    *driver.Request
	kills      []string
	registered []string
	launches   []launchOutcome
	racks      map[string]string // result of a look-up: racks by host
	contracts  []contractWithTasks
}

type launchOutcome struct {
	id  yarn.ContainerID
	err error
}

// contractWithTasks is a preemption contract and the number of running tasks of each executor.
type contractWithTasks struct {
	preemptionContract
	tasks map[string]int
}

// New returns an allocator. Until the driver's first request, the allocator requests
// executor.instances executors.
func New(o Options) *Allocator {
	if o.Events == nil {
		o.Events = (*events.Recorder)(nil) // a nil Recorder records nothing
	}
	settings := o.Settings
	idle := config.Heartbeat.In(settings)
	a := &Allocator{
		options: o,
		heartbeats: heartbeats{
			rm: o.ResourceManager, maxFailures: config.ReporterMaxFailures.In(settings), logger: o.Logger,
		},
		state: newState(stateOptions{
			racks: o.Racks,
			excluded: newExclusions(config.ExcludeNodes.In(settings), config.ExcludeOnFailure.In(settings),
				config.NodeMaxFailures.In(settings), config.ExcludeTimeout.In(settings), o.Logger),
			failures: &failureCounts{
				max:      config.MaxExecutorFailures(settings),
				validity: config.ExecutorFailureValidity.In(settings),
				tolerate: config.TolerateWhenRunning.In(settings),
			},
			launchTimeout: config.LaunchTimeout.In(settings),
			taskCPUs:      config.TaskCPUs.In(settings),
			random:        o.Random,
			logger:        o.Logger,
		}),
		launcher:       launcher.New(config.LauncherThreads.In(settings), o.Connect, o.LaunchContext, o.Logger),
		containers:     openContainerLog(o.LogDirectory, config.ClientMode(settings), o.Logger),
		racks:          newRackLookup(o.Hadoop, o.Logger),
		preemptionWait: preemptionWarning(o.Hadoop, idle),
		pace:           heartbeatPace{initial: min(config.InitialHeartbeat.In(settings), idle), idle: idle},
		registered:     make(chan struct{}),
		wake:           make(chan struct{}, 1),
	}
	for host, node := range o.Nodes {
		a.state.topology.offered[host] = sizeAndLabel{yarn.Resource{MemoryMB: node.MemoryMB, VCores: int32(node.VCores), Others: node.Others}, node.Label}
	}
	a.state.want(driver.Request{Demands: []driver.Demand{{Profile: profile.Default(settings), Total: config.InitialExecutors(settings)}}}, time.Time{})
	a.publish()
	return a
}

// SetTrackingURL sets the tracking URL of the application. Call it before Register and Run.
func (a *Allocator) SetTrackingURL(url string) { a.options.Registration.TrackingURL = url }

// SetNextExecutorID sets the id of the first executor. Further executors get the following ids.
// Earlier application attempts must not have used these ids. Call SetNextExecutorID before Run.
func (a *Allocator) SetNextExecutorID(id int) { a.state.lastID = id - 1 }

// Registered returns a channel that is closed when the application has been registered for the
// first time.
func (a *Allocator) Registered() <-chan struct{} { return a.registered }

// RequestExecutors implements driver.ClusterManager.
func (a *Allocator) RequestExecutors(request driver.Request) {
	a.send(func(m *messages) { m.request = &request })
}

// KillExecutors implements driver.ClusterManager.
func (a *Allocator) KillExecutors(ids []string) {
	a.send(func(m *messages) { m.kills = append(m.kills, ids...) })
}

// ExecutorRegistered implements driver.ClusterManager.
func (a *Allocator) ExecutorRegistered(id string) {
	a.send(func(m *messages) { m.registered = append(m.registered, id) })
}

// send calls add to put messages into the mailbox, and wakes the goroutine of Run.
func (a *Allocator) send(add func(*messages)) {
	a.mailbox.Lock()
	add(&a.mailbox.messages)
	a.mailbox.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Close closes the file with the list of containers. The Allocator must not be used after Close.
func (a *Allocator) Close() { a.containers.close() }
