// Package allocator gets an application's executors from YARN. It decides on which
// hosts to ask for containers, launches executors in them, and replaces executors
// that fail.
//
// The decisions are made by state, a state machine that does no I/O and reads no
// clock. Allocator.Run is the loop around state: one goroutine that sends
// heartbeats, applies the answers and the messages of the driver and the launcher,
// and reports ended executors to the driver.
package allocator

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
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

// releaseAllTimeout bounds ReleaseAll. The ResourceManager confirms releases within
// two heartbeats.
const releaseAllTimeout = 5 * time.Second

// Options configure an Allocator. Only Load, Racks, Nodes, LogDirectory and Events are
// optional.
type Options struct {
	ResourceManager ResourceManager
	Registration    yarn.RegisterRequest
	Connect         func(node yarn.NodeID, token security.Token) launcher.NodeManager
	LaunchContext   func(launcher.Executor) yarn.ContainerLaunchContext

	ExecutorLost func(id string, loss driver.Loss)        // to the driver; must not block
	Decommission func(ids []string, notice driver.Notice) // to the driver; must not block
	Progress     func() float32                           // returns the driver's progress, 0 to 1; called at every heartbeat
	Load         func() map[string]int                    // returns the running tasks by executor; may take a second

	Settings     *config.Config
	Hadoop       *conf.Config
	Racks        map[string]string      // racks of the nodes known at the start, by host
	Nodes        map[string]launch.Node // resources and labels of these nodes, by host
	LogDirectory string                 // where to write the list of containers; "" writes none
	Events       *events.Recorder       // records executors and notes
	Random       *rand.Rand
	Logger       *slog.Logger
}

// Allocator keeps as many executors as the driver requests. It implements
// driver.ClusterManager. The goroutine in Run owns the state and calls the
// ResourceManager; all others put messages into the mailbox.
type Allocator struct {
	options        Options
	heartbeats     heartbeats
	limits         limits
	state          *state
	launcher       *launcher.Launcher
	containers     *containerLog
	racks          rackLookup
	preemptionWait time.Duration // the shortest time from the notice of a preemption to the end of the container
	pace           pace
	clusterNodes   int // NodeManagers of the cluster, by the last answer to a heartbeat

	registered chan struct{} // closed when the application is registered for the first time
	background sync.WaitGroup
	lookingUp  bool // a look-up of racks is running

	wake    chan struct{} // holds a token if the mailbox has messages
	mailbox struct {
		sync.Mutex
		messages
	}
	published struct {
		sync.Mutex
		Status
	}
}

// messages are what other goroutines have sent to the loop in Run.
type messages struct {
	request    *driver.Request
	kills      []string
	registered []string
	launches   []launchOutcome
	racks      map[string]string // racks by host, from a look-up that has ended
	contracts  []loadedContract
}

type launchOutcome struct {
	id  yarn.ContainerID
	err error
}

// loadedContract is a preemption contract with the number of tasks of each executor.
type loadedContract struct {
	contract
	tasks map[string]int
}

// New makes an allocator, which asks for executor.instances until the driver's first request.
func New(o Options) *Allocator {
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
				max:      config.MostExecutorFailures(settings),
				validity: config.FailureValidity.In(settings),
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
		pace:           pace{initial: min(config.InitialHeartbeat.In(settings), idle), idle: idle},
		registered:     make(chan struct{}),
		wake:           make(chan struct{}, 1),
	}
	for host, node := range o.Nodes {
		a.state.topology.offers[host] = need{yarn.Resource{MemoryMB: node.MemoryMB, VCores: int32(node.VCores), Others: node.Others}, node.Label}
	}
	a.state.want(driver.Request{Demands: []driver.Demand{{Profile: profile.Default(settings), Total: config.InitialExecutors(settings)}}}, time.Time{})
	a.publish()
	return a
}

// SetTrackingURL sets the URL of the application's page. Call it before Register and Run.
func (a *Allocator) SetTrackingURL(url string) { a.options.Registration.TrackingURL = url }

// SetNextExecutorID sets the first executor's id before Run. No earlier attempt used the id.
func (a *Allocator) SetNextExecutorID(id int) { a.state.lastID = id - 1 }

// Registered is closed when the application is registered for the first time.
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

// send adds to the mailbox and wakes the loop.
func (a *Allocator) send(add func(*messages)) {
	a.mailbox.Lock()
	add(&a.mailbox.messages)
	a.mailbox.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Run registers the application and keeps as many executors as the driver requests.
// It returns nil when ctx ends, or an error if the application cannot go on: a
// *TooManyFailures, an *Unfit, or the error of a call to the ResourceManager.
func (a *Allocator) Run(ctx context.Context) error {
	// Launches and rack look-ups end with Run.
	working, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		if err := a.launcher.Close(); err != nil {
			a.options.Logger.Debug("closing the connections to NodeManagers", "error", err)
		}
		a.background.Wait()
		a.publish()
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	due, last := time.Now(), time.Time{} // times of the next heartbeat and of the last one
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.wake:
		case <-timer.C:
		}
		now := time.Now()
		more := a.receive(working, now)
		if err := a.advance(working, now); err != nil {
			return err
		}
		// Send changes pace.initial after the last heartbeat, and requests for more
		// executors at once. But after a failed heartbeat wait for the whole interval.
		failing := a.heartbeats.failures > 0
		if soon := last.Add(a.pace.initial); !failing && due.After(soon) && a.hasChanges() {
			due = soon
		}
		if more && !failing || !now.Before(due) {
			wait, err := a.heartbeat(working, now)
			if ctx.Err() != nil {
				return nil
			}
			last = time.Now()
			if err == nil {
				err = a.advance(working, last)
			}
			if err != nil {
				return err
			}
			due = last.Add(wait)
		}
		a.publish()
		timer.Reset(time.Until(due))
	}
}

// advance applies timeouts and reports changes. It fails if too many executors have failed.
func (a *Allocator) advance(working context.Context, now time.Time) error {
	a.state.tick(now, a.clusterNodes)
	a.report(working)
	return a.state.failures.exhausted(a.state.running(), now)
}

// hasChanges reports whether there are changes to send to the ResourceManager.
func (a *Allocator) hasChanges() bool {
	return len(a.state.releases) > 0 || a.state.excluded.unsent || a.state.hasAskChanges()
}

// receive applies the mailbox, and reports whether the driver wants more executors than before.
func (a *Allocator) receive(working context.Context, now time.Time) (more bool) {
	a.mailbox.Lock()
	received := a.mailbox.messages
	a.mailbox.messages = messages{}
	a.mailbox.Unlock()
	s := a.state
	if received.request != nil {
		more = s.want(*received.request, now)
		a.lookUpRacks(working)
	}
	if received.racks != nil {
		a.lookingUp = false
		s.topology.addRacks(received.racks)
		s.replan()
		a.lookUpRacks(working)
	}
	for _, id := range received.registered {
		s.registered(id)
	}
	for _, contract := range received.contracts {
		s.negotiate(contract.contract, contract.tasks, now)
	}
	s.kill(received.kills, now)
	for _, launch := range received.launches {
		if launch.err == nil {
			if e := s.executors[launch.id]; e != nil && !e.started {
				a.options.Events.Record(&events.ExecutorLaunched{Time: events.At(now), ID: e.ID})
			}
			s.launched(launch.id, now)
		} else {
			s.launchFailed(launch.id, launch.err, now)
		}
	}
	return more
}

// report reports changes of executors to the launcher, the log and the driver.
func (a *Allocator) report(working context.Context) {
	for _, e := range a.state.takeWithdrawn() {
		a.launcher.Stop(working, e.Container.Node, []yarn.ContainerID{e.Container.ID})
	}
	for _, ended := range a.state.takeEnded() {
		level := slog.LevelInfo
		if ended.reason.failure {
			level = slog.LevelWarn
		}
		e := ended.executor
		a.options.Logger.Log(working, level, "executor ended", "executor", e.ID, "container", e.Container.ID,
			"host", e.host(), "status", int(ended.status), "reason", ended.loss.Text)
		a.containers.completed(e, ended.status)
		if !a.state.stopped {
			a.options.ExecutorLost(e.ID, ended.loss)
		}
	}
	for _, n := range a.state.takeNotices() {
		a.options.Logger.Info("executors will be taken away", "executors", n.ids, "reason", n.notice.Reason, "deadline", n.notice.Deadline)
		a.options.Decommission(n.ids, n.notice)
	}
}

// heartbeat sends a heartbeat, applies the answer, and returns how long to wait
// before the next one. It fails if the application cannot go on.
func (a *Allocator) heartbeat(working context.Context, now time.Time) (time.Duration, error) {
	if !a.heartbeats.registered {
		if err := a.Register(working); err != nil {
			return a.pace.idle, a.heartbeats.failed(err)
		}
	}
	if err := a.limits.checkAll(a.state.profiles); err != nil {
		return 0, &Unfit{err}
	}
	request := a.heartbeats.unanswered
	if request == nil {
		request = a.nextRequest()
	}
	response, err := a.heartbeats.send(working, *request)
	switch {
	case errors.Is(err, errForgotten):
		a.state.resendAll()
		a.pace.change(now)
		if a.heartbeats.failures == 0 {
			return 0, a.heartbeats.failed(err)
		}
		return a.pace.idle, a.heartbeats.failed(err)
	case err != nil:
		return a.pace.idle, a.heartbeats.failed(err)
	}
	a.heartbeats.failures = 0
	// A kill that the driver sent during the heartbeat must precede the report of the
	// container's end.
	a.receive(working, time.Now())
	if a.apply(working, response, time.Now()) || len(request.Asks) > 0 {
		a.pace.change(now)
	}
	return a.pace.next(a.state.toAsk() > 0, now), nil
}

// Register registers the application with the ResourceManager, in one try.
func (a *Allocator) Register(ctx context.Context) error {
	granted, err := a.heartbeats.register(ctx, a.options.Registration)
	if err != nil {
		return err
	}
	if granted != nil {
		a.limits.take(granted)
		a.state.ignoresCores = !granted.ChecksCores
		a.launcher.SetTokens(granted.NMTokens)
		a.options.Logger.Info("registered with the ResourceManager", "queue", granted.Queue, "max", granted.MaxResource)
	}
	select {
	case <-a.registered:
	default:
		close(a.registered)
	}
	return nil
}

// nextRequest returns a heartbeat with all changes since the last one.
func (a *Allocator) nextRequest() *yarn.AllocateRequest {
	request := &yarn.AllocateRequest{Progress: a.options.Progress(), Asks: a.state.changedAsks(), Releases: a.state.takeReleases(time.Now())}
	request.BlacklistAdd, request.BlacklistRemove = a.state.excluded.changes()
	return request
}

// apply applies a heartbeat's answer, and reports whether containers were allocated
// or have ended.
func (a *Allocator) apply(working context.Context, response *yarn.AllocateResponse, now time.Time) bool {
	s := a.state
	a.launcher.SetTokens(response.NMTokens)
	a.clusterNodes = int(response.ClusterNodes)
	s.completed(response.Completed, now)
	for _, node := range s.nodesChanged(response.UpdatedNodes, now) {
		a.launcher.NodeLost(node)
	}
	if response.Preemption != nil {
		a.preempt(working, response.Preemption, now)
	}
	// Apply exclusions for the ends above before taking containers.
	s.tick(now, a.clusterNodes)
	executors := s.take(response.Allocated, now)
	s.answered()
	launches := make([]launcher.Executor, len(executors))
	for i, e := range executors {
		a.options.Logger.Info("launching executor", "executor", e.ID, "container", e.Container.ID,
			"host", e.host(), "resource", e.Container.Resource)
		a.containers.started(e)
		a.options.Events.Record(&events.ExecutorAllocated{
			Time: events.At(now), ID: e.ID, Host: e.host(), Container: e.Container.ID.String(), Profile: e.Profile.ID,
		})
		launches[i] = e.Executor
	}
	if len(launches) > 0 {
		a.launcher.Launch(working, launches, a.launched)
	}
	return len(response.Allocated) > 0 || len(response.Completed) > 0
}

// launched is called by the launcher with the outcome of a launch.
func (a *Allocator) launched(id yarn.ContainerID, err error) {
	a.send(func(m *messages) { m.launches = append(m.launches, launchOutcome{id, err}) })
}

// preempt acts on the ResourceManager's notice that it will preempt containers.
func (a *Allocator) preempt(working context.Context, notice *yarn.Preemption, now time.Time) {
	deadline := now.Add(a.preemptionWait)
	a.state.preempt(notice.Strict, deadline, now)
	if len(notice.Containers) == 0 {
		return
	}
	c := loadedContract{contract: contract{containers: notice.Containers, resources: notice.Resources, deadline: deadline}}
	if a.options.Load == nil || working.Err() != nil {
		a.state.negotiate(c.contract, nil, now)
		return
	}
	a.background.Go(func() {
		c.tasks = a.options.Load()
		a.send(func(m *messages) { m.contracts = append(m.contracts, c) })
	})
}

// lookUpRacks looks up the unknown racks of hosts that tasks prefer, one look-up at a time.
func (a *Allocator) lookUpRacks(working context.Context) {
	if a.racks == nil || a.lookingUp {
		return
	}
	hosts := a.state.hostsWithoutRack()
	if len(hosts) == 0 {
		return
	}
	a.lookingUp = true
	a.background.Go(func() {
		racks := a.racks(working, hosts)
		a.send(func(m *messages) { m.racks = racks })
	})
}

// ReleaseAll releases all containers after Run, and waits for the confirmation or
// releaseAllTimeout.
func (a *Allocator) ReleaseAll(ctx context.Context) {
	select {
	case <-a.registered:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(ctx, releaseAllTimeout)
	defer cancel()
	a.state.stop()
	defer a.publish()
	for a.state.hasContainers() || a.heartbeats.unanswered != nil {
		_, err := a.heartbeat(ctx, time.Now())
		a.report(ctx)
		if err != nil || ctx.Err() != nil {
			a.options.Logger.Warn("not all containers are known to have ended; the ResourceManager ends them with the application",
				"containers", len(a.state.releasing), "error", errors.Join(err, ctx.Err()))
			return
		}
		select {
		case <-time.After(a.pace.initial):
		case <-ctx.Done():
		}
	}
}

// Close closes the file with the list of containers. It must be called last.
func (a *Allocator) Close() { a.containers.close() }

// publish makes Status return the current status.
func (a *Allocator) publish() {
	if !a.state.changed {
		return
	}
	a.state.changed = false
	status := a.state.status()
	a.published.Lock()
	defer a.published.Unlock()
	if !slices.Equal(status.Notes, a.published.Notes) {
		a.options.Events.Record(&events.NotesChanged{Time: events.At(time.Now()), Source: "am", Notes: status.Notes})
	}
	a.published.Status = status
}

// Status returns the last published status. The caller must not change its slices.
func (a *Allocator) Status() Status {
	a.published.Lock()
	defer a.published.Unlock()
	return a.published.Status
}

// Unfit is the error of Run if an executor needs more than the cluster's largest container.
type Unfit struct{ error }

// Unwrap returns the error that names the profile and the limit.
func (u *Unfit) Unwrap() error { return u.error }
