package am

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// endTimeout bounds how long the end of an application waits for its
// containers. Their releases need a heartbeat or two.
const endTimeout = 5 * time.Second

// allocatorOptions are what an allocator is made of. All of it is needed but
// for load, racks and nodes.
type allocatorOptions struct {
	rm           resourceManager
	registration yarn.RegisterRequest
	connect      func(node yarn.NodeID, token security.Token) nodeManager
	context      func(executor *executor) yarn.ContainerLaunchContext

	lost         func(id string, loss driver.Loss)        // tells the driver; must not block
	decommission func(ids []string, notice driver.Notice) // tells the driver; must not block
	progress     func() float32                           // of the driver's work; at every heartbeat
	load         func() map[string]int                    // running tasks by executor; may take a second

	settings     *config.Config
	hadoop       *conf.Config
	racks        map[string]string      // of the nodes that are known at the start
	nodes        map[string]launch.Node // what these offer
	logDirectory string                 // for the diary; "" for none
	random       *rand.Rand
	logger       *slog.Logger
}

// allocator keeps as many executors as the driver wants. One goroutine, in run,
// owns the fleet and talks to the ResourceManager; the driver and the launcher
// leave word for it.
type allocator struct {
	registration yarn.RegisterRequest
	exchange     exchange
	limits       limits
	fleet        *fleet
	launcher     *launcher
	diary        *diary
	lost         func(id string, loss driver.Loss)
	decommission func(ids []string, notice driver.Notice)
	progress     func() float32
	load         func() map[string]int
	racks        rackLookup
	warning      time.Duration // between the notice of a preemption and the end, less the heartbeat that brings it
	pace         pace
	clusterNodes int
	logger       *slog.Logger

	registered chan struct{} // closed when the application is registered for the first time
	background sync.WaitGroup
	looking    bool // racks are being looked up

	wake chan struct{} // has room for one: there is word
	word struct {      // what was left for run since it last looked
		sync.Mutex
		letters
	}
	shown struct { // for the status page
		sync.Mutex
		fleetStatus
	}
}

// letters are what was left for the allocator's loop.
type letters struct {
	request    *driver.Request
	kills      []string
	registered []string
	launches   []launchOutcome
	racks      map[string]string // looked up
	contracts  []answeredContract
}

type launchOutcome struct {
	id  yarn.ContainerID
	err error
}

// answeredContract is a contract of the ResourceManager's, with what the driver
// said of its executors.
type answeredContract struct {
	contract
	tasks map[string]int
}

func newAllocator(o allocatorOptions) *allocator {
	settings := o.settings
	excluded := newExclusions(config.ExcludeNodes.In(settings), config.ExcludeOnFailure.In(settings),
		config.NodeMaxFailures.In(settings), config.ExcludeTimeout.In(settings), o.logger)
	idle := config.Heartbeat.In(settings)
	a := &allocator{
		registration: o.registration,
		exchange:     exchange{rm: o.rm, maxFailures: config.ReporterMaxFailures.In(settings), logger: o.logger},
		fleet: newFleet(fleetOptions{
			size:     containerResource,
			racks:    o.racks,
			excluded: excluded,
			tally: &tally{
				most:     config.MostExecutorFailures(settings),
				validity: config.FailureValidity.In(settings),
				tolerate: config.TolerateWhenRunning.In(settings),
			},
			launchTimeout: config.LaunchTimeout.In(settings),
			taskCPUs:      config.TaskCPUs.In(settings),
			random:        o.random,
			logger:        o.logger,
		}),
		launcher:     newLauncher(config.LauncherThreads.In(settings), o.connect, o.context, o.logger),
		diary:        openDiary(o.logDirectory, config.ClientMode(settings), o.logger),
		lost:         o.lost,
		decommission: o.decommission,
		progress:     o.progress,
		load:         o.load,
		racks:        newRackLookup(o.hadoop, o.logger),
		warning:      preemptionWarning(o.hadoop, idle),
		pace:         pace{initial: min(config.InitialHeartbeat.In(settings), idle), idle: idle},
		logger:       o.logger,
		registered:   make(chan struct{}),
		wake:         make(chan struct{}, 1),
	}
	for host, node := range o.nodes {
		a.fleet.topology.offers[host] = need{yarn.Resource{MemoryMB: node.MemoryMB, VCores: int32(node.VCores), Others: node.Others}, node.Label}
	}
	// The driver's first request replaces this.
	a.fleet.want(driver.Request{Demands: []driver.Demand{{Profile: profile.Default(settings), Total: config.InitialExecutors(settings)}}}, time.Time{})
	a.publish()
	return a
}

// RequestExecutors implements driver.ClusterManager.
func (a *allocator) RequestExecutors(request driver.Request) {
	a.leave(func(l *letters) { l.request = &request })
}

// KillExecutors implements driver.ClusterManager.
func (a *allocator) KillExecutors(ids []string) {
	a.leave(func(l *letters) { l.kills = append(l.kills, ids...) })
}

// ExecutorRegistered implements driver.ClusterManager.
func (a *allocator) ExecutorRegistered(id string) {
	a.leave(func(l *letters) { l.registered = append(l.registered, id) })
}

func (a *allocator) leave(word func(*letters)) {
	a.word.Lock()
	word(&a.word.letters)
	a.word.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// run registers the application and keeps its executors until ctx ends, or
// until it can go on no more: the error is then why.
func (a *allocator) run(ctx context.Context) error {
	// Launches and look-ups end with run, whatever ends it.
	working, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		if err := a.launcher.close(); err != nil {
			a.logger.Debug("closing the connections to NodeManagers", "error", err)
		}
		a.background.Wait()
		a.publish()
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	due, last := time.Now(), time.Time{} // the next heartbeat and the last one
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.wake:
		case <-timer.C:
		}
		now := time.Now()
		more := a.heed(working, now)
		if err := a.settle(working, now); err != nil {
			return err
		}
		// What the ResourceManager must know does not wait for the next heartbeat,
		// but what happens within a moment is told together; more executors are
		// asked for at once. One that could not be talked to is given its time.
		failing := a.exchange.failures > 0
		if soon := last.Add(a.pace.initial); !failing && due.After(soon) && a.hasNews() {
			due = soon
		}
		if more && !failing || !now.Before(due) {
			wait, err := a.beat(working, now)
			if ctx.Err() != nil {
				return nil
			}
			last = time.Now()
			if err == nil {
				err = a.settle(working, last)
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

// settle does what time and the news bring about, tells the driver, and returns
// why the application cannot go on, if so.
func (a *allocator) settle(working context.Context, now time.Time) error {
	a.fleet.tick(now, a.clusterNodes)
	a.tell(working)
	return a.fleet.tally.exhausted(a.fleet.running(), now)
}

// hasNews reports whether there is something to tell the ResourceManager.
func (a *allocator) hasNews() bool {
	return len(a.fleet.releases) > 0 || a.fleet.excluded.unsent || a.fleet.wantsChanges()
}

// heed takes what others left word of, and reports whether more executors are
// wanted.
func (a *allocator) heed(working context.Context, now time.Time) (more bool) {
	a.word.Lock()
	left := a.word.letters
	a.word.letters = letters{}
	a.word.Unlock()
	f := a.fleet
	if left.request != nil {
		more = f.want(*left.request, now)
		a.lookUpRacks(working)
	}
	if left.racks != nil {
		a.looking = false
		f.topology.learn(left.racks)
		f.replan()
		a.lookUpRacks(working)
	}
	for _, id := range left.registered {
		f.registered(id)
	}
	for _, contract := range left.contracts {
		f.negotiate(contract.contract, contract.tasks, now)
	}
	f.kill(left.kills, now)
	for _, launch := range left.launches {
		if launch.err == nil {
			f.launched(launch.id, now)
		} else {
			f.launchFailed(launch.id, launch.err, now)
		}
	}
	return more
}

// tell passes on what has become of executors.
func (a *allocator) tell(working context.Context) {
	for _, e := range a.fleet.takeWithdrawn() {
		a.launcher.stop(working, e.container.Node, []yarn.ContainerID{e.container.ID})
	}
	for _, l := range a.fleet.takeEnded() {
		level := slog.LevelInfo
		if l.verdict.failure {
			level = slog.LevelWarn
		}
		a.logger.Log(working, level, "executor ended", "executor", l.executor.id, "container", l.executor.container.ID,
			"host", l.executor.host(), "status", int(l.status), "reason", l.loss.Text)
		a.diary.completed(l.executor, l.status)
		if !a.fleet.stopped {
			a.lost(l.executor.id, l.loss)
		}
	}
	for _, n := range a.fleet.takeNotices() {
		a.logger.Info("executors will be taken away", "executors", n.ids, "reason", n.notice.Reason, "deadline", n.notice.Deadline)
		a.decommission(n.ids, n.notice)
	}
}

// beat talks to the ResourceManager once, and returns how long to wait until the
// next time. The error is why the application cannot go on.
func (a *allocator) beat(working context.Context, now time.Time) (time.Duration, error) {
	if !a.exchange.registered {
		if err := a.register(working); err != nil {
			return a.pace.idle, a.exchange.failed(err)
		}
	}
	if err := a.limits.checkAll(a.fleet.tables); err != nil {
		return 0, &unfit{err}
	}
	request := a.exchange.unanswered
	if request == nil {
		request = a.request()
	}
	response, err := a.exchange.beat(working, *request)
	switch {
	case errors.Is(err, errResent):
		a.fleet.resent()
		a.pace.change(now)
		if a.exchange.failures == 0 {
			return 0, a.exchange.failed(err)
		}
		return a.pace.idle, a.exchange.failed(err)
	case err != nil:
		return a.pace.idle, a.exchange.failed(err)
	}
	a.exchange.failures = 0
	// While the answer was on its way the driver may have ended an executor of
	// which it tells that it is gone: that must not be judged without knowing.
	a.heed(working, time.Now())
	if a.heard(working, response, time.Now()) || len(request.Asks) > 0 {
		a.pace.change(now)
	}
	return a.pace.next(a.fleet.toAsk() > 0, now), nil
}

// register makes the application known.
func (a *allocator) register(ctx context.Context) error {
	granted, err := a.exchange.register(ctx, a.registration)
	if err != nil {
		return err
	}
	if granted != nil {
		a.limits.take(granted)
		a.fleet.ignoresCores = !granted.ChecksCores
		a.launcher.trust(granted.NMTokens)
		a.logger.Info("registered with the ResourceManager", "queue", granted.Queue, "max", granted.MaxResource)
	}
	select {
	case <-a.registered:
	default:
		close(a.registered)
	}
	return nil
}

// request is a heartbeat with all that is new.
func (a *allocator) request() *yarn.AllocateRequest {
	request := &yarn.AllocateRequest{Progress: a.progress(), Asks: a.fleet.changes(), Releases: a.fleet.takeReleases(time.Now())}
	request.BlacklistAdd, request.BlacklistRemove = a.fleet.excluded.difference()
	return request
}

// heard acts on a heartbeat's answer, and reports whether it brought anything.
func (a *allocator) heard(working context.Context, response *yarn.AllocateResponse, now time.Time) bool {
	f := a.fleet
	a.launcher.trust(response.NMTokens)
	a.clusterNodes = int(response.ClusterNodes)
	f.completed(response.Completed, now)
	for _, node := range f.nodesChanged(response.UpdatedNodes, now) {
		a.launcher.nodeGone(node)
	}
	if response.Preemption != nil {
		a.preempt(working, response.Preemption, now)
	}
	f.tick(now, a.clusterNodes) // an exclusion holds for the containers that came with its reason
	executors := f.take(response.Allocated, now)
	f.answered()
	for _, executor := range executors {
		a.logger.Info("launching executor", "executor", executor.id, "container", executor.container.ID,
			"host", executor.host(), "resource", executor.container.Resource)
		a.diary.started(executor)
	}
	if len(executors) > 0 {
		a.launcher.launch(working, executors, a.launched)
	}
	return len(response.Allocated) > 0 || len(response.Completed) > 0
}

// launched takes the launcher's word.
func (a *allocator) launched(id yarn.ContainerID, err error) {
	a.leave(func(l *letters) { l.launches = append(l.launches, launchOutcome{id, err}) })
}

// preempt acts on the notice that containers will be taken.
func (a *allocator) preempt(working context.Context, notice *yarn.Preemption, now time.Time) {
	deadline := now.Add(a.warning)
	a.fleet.preempt(notice.Strict, deadline, now)
	if len(notice.Containers) == 0 {
		return
	}
	answer := answeredContract{contract: contract{containers: notice.Containers, resources: notice.Resources, deadline: deadline}}
	if a.load == nil || working.Err() != nil {
		a.fleet.negotiate(answer.contract, nil, now)
		return
	}
	a.background.Go(func() {
		answer.tasks = a.load()
		a.leave(func(l *letters) { l.contracts = append(l.contracts, answer) })
	})
}

// lookUpRacks finds the racks of hosts that tasks prefer and that are no
// NodeManagers, one batch after the other.
func (a *allocator) lookUpRacks(working context.Context) {
	if a.racks == nil || a.looking {
		return
	}
	hosts := a.fleet.strangers()
	if len(hosts) == 0 {
		return
	}
	a.looking = true
	a.background.Go(func() {
		racks := a.racks(working, hosts)
		a.leave(func(l *letters) { l.racks = racks })
	})
}

// end gives back all containers and waits until the ResourceManager has
// confirmed it, for endTimeout at the most. It comes after run.
func (a *allocator) end(ctx context.Context) {
	select {
	case <-a.registered:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	a.fleet.stop()
	defer a.publish()
	for a.fleet.held() || a.exchange.unanswered != nil {
		_, err := a.beat(ctx, time.Now())
		a.tell(ctx)
		if err != nil || ctx.Err() != nil {
			a.logger.Warn("not all containers are known to have ended; the ResourceManager ends them with the application",
				"containers", len(a.fleet.releasing), "error", errors.Join(err, ctx.Err()))
			return
		}
		select {
		case <-time.After(a.pace.initial):
		case <-ctx.Done():
		}
	}
}

// unfit is the error of executors that no node of the cluster can take.
type unfit struct{ error }

// Unwrap gives what does not fit.
func (u *unfit) Unwrap() error { return u.error }
