package am

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

const (
	// executorPriority is that of every ask; there is one size of executor.
	executorPriority = 1
	// eagerFor is how long the allocator asks at the initial interval after
	// something changed, before it slows down. NodeManagers report once a second
	// by default, so containers come within that where there is room for them.
	eagerFor = 3 * time.Second
	// pendingInterval is the longest wait between heartbeats while containers
	// are missing.
	pendingInterval = time.Second
)

// resourceManager is what the allocator needs of the ResourceManager;
// *yarn.AMClient is one.
type resourceManager interface {
	Register(ctx context.Context, request yarn.RegisterRequest) (*yarn.RegisterResponse, error)
	Allocate(ctx context.Context, request yarn.AllocateRequest) (*yarn.AllocateResponse, error)
	Finish(ctx context.Context, request yarn.FinishRequest) (bool, error)
}

// allocator keeps as many executors as the driver wants. One goroutine, in run,
// owns the fleet and talks to the ResourceManager; the driver and the launcher
// leave word for it.
type allocator struct {
	rm           resourceManager
	registration yarn.RegisterRequest
	fleet        *fleet
	size         yarn.Resource // of an executor's container
	launcher     *launcher
	diary        *diary
	lost         func(id string, loss driver.Loss) // tells the driver
	progress     func() float32
	initial      time.Duration // between heartbeats while eager
	idle         time.Duration // between heartbeats while nothing is missing
	logger       *slog.Logger

	registered chan struct{} // closed when the application is registered for the first time

	wake chan struct{} // has room for one: there is word
	word struct {      // what was left for run since it last looked
		sync.Mutex
		request  *driver.Request
		kills    []string
		launches []launchOutcome
	}
	counts struct { // for the status page
		sync.Mutex
		fleetCounts
	}
}

type launchOutcome struct {
	id  yarn.ContainerID
	err error
}

// fleetCounts is what others may know of the fleet.
type fleetCounts struct {
	wanted, allocated, failed int
}

// RequestExecutors implements driver.ClusterManager.
func (a *allocator) RequestExecutors(request driver.Request) {
	a.leave(func() { a.word.request = &request })
}

// KillExecutors implements driver.ClusterManager.
func (a *allocator) KillExecutors(ids []string) {
	a.leave(func() { a.word.kills = append(a.word.kills, ids...) })
}

// ExecutorRegistered implements driver.ClusterManager.
func (a *allocator) ExecutorRegistered(string) {}

func (a *allocator) leave(word func()) {
	a.word.Lock()
	word()
	a.word.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// run registers the application and keeps its executors until ctx ends, or
// until it can go on no more: the error is then why.
func (a *allocator) run(ctx context.Context) error {
	// Launches end with run, whatever ends it.
	launches, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		if err := a.launcher.close(); err != nil {
			a.logger.Debug("closing the connections to NodeManagers", "error", err)
		}
	}()
	if err := a.register(ctx); err != nil {
		return err
	}
	close(a.registered)
	var responseID int32
	pace := pace{initial: a.initial, idle: a.idle}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		changed := false
		select {
		case <-ctx.Done():
			return nil
		case <-a.wake:
			changed = a.heed()
		case <-timer.C:
		}
		if err := a.fleet.exhausted(); err != nil {
			return &tooManyFailures{err}
		}
		// Word that changes nothing for the ResourceManager waits for the next
		// heartbeat.
		asks := a.fleet.changes()
		releases := a.fleet.takeReleases()
		if changed && len(asks) == 0 && len(releases) == 0 {
			continue
		}
		response, err := a.rm.Allocate(ctx, yarn.AllocateRequest{
			ResponseID: responseID,
			Progress:   a.progress(),
			Asks:       a.requests(asks),
			Releases:   releases,
		})
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, yarn.ErrNotRegistered), err == nil && response.Command == yarn.Resync:
			a.logger.Warn("the ResourceManager does not know this application any more, registering again")
			if err := a.register(ctx); err != nil {
				return err
			}
			responseID = 0
			a.fleet.resent()
			a.fleet.releases = append(a.fleet.releases, releases...)
			pace.change()
		case err != nil:
			return fmt.Errorf("heartbeat to the ResourceManager: %w", err)
		case response.Command == yarn.Shutdown:
			return errors.New("the ResourceManager told this ApplicationMaster to end")
		default:
			responseID = response.ResponseID
			if a.heard(launches, response) || len(asks) > 0 {
				pace.change()
			}
		}
		a.count()
		timer.Reset(pace.next(a.fleet.missing() > 0))
	}
}

// register makes the application known, and checks that its executors can be
// had at all.
func (a *allocator) register(ctx context.Context) error {
	granted, err := a.rm.Register(ctx, a.registration)
	if err != nil {
		return fmt.Errorf("register with the ResourceManager: %w", err)
	}
	if a.fleet.wanted > 0 && !fits(a.size, granted) {
		return fmt.Errorf("an executor takes %v, the most that this cluster gives is %v: lower executor.memory, executor.memoryOverhead or executor.cores",
			a.size, granted.MaxResource)
	}
	a.launcher.trust(granted.NMTokens)
	a.logger.Info("registered with the ResourceManager", "queue", granted.Queue, "max", granted.MaxResource)
	return nil
}

// fits leaves cores out of account where the cluster's scheduler does.
func fits(size yarn.Resource, granted *yarn.RegisterResponse) bool {
	if !granted.ChecksCores {
		size.VCores = 0
	}
	return size.Fits(granted.MaxResource)
}

// heed takes what others left word of, and reports whether there was any.
func (a *allocator) heed() bool {
	a.word.Lock()
	request, kills, launches := a.word.request, a.word.kills, a.word.launches
	a.word.request, a.word.kills, a.word.launches = nil, nil, nil
	a.word.Unlock()
	if request != nil {
		a.fleet.want(*request)
	}
	a.fleet.kill(kills)
	for _, launch := range launches {
		a.launched(launch)
	}
	return request != nil || len(kills) > 0 || len(launches) > 0
}

func (a *allocator) launched(launch launchOutcome) {
	if launch.err == nil {
		a.fleet.launched(launch.id, time.Now())
		return
	}
	if ended, ok := a.fleet.launchFailed(launch.id, launch.err); ok {
		a.logger.Warn("executor could not be launched", "executor", ended.executor.id, "container", launch.id,
			"host", ended.executor.container.Node.Host, "error", launch.err)
		a.lost(ended.executor.id, ended.loss)
	}
}

// heard acts on a heartbeat's answer, and reports whether it brought anything.
func (a *allocator) heard(launches context.Context, response *yarn.AllocateResponse) bool {
	a.launcher.trust(response.NMTokens)
	a.fleet.nodesChanged(response.UpdatedNodes)
	for _, ended := range a.fleet.completed(response.Completed) {
		level := slog.LevelInfo
		if ended.loss.CountsAsFailure {
			level = slog.LevelWarn
		}
		a.logger.Log(launches, level, "executor ended", "executor", ended.executor.id, "container", ended.executor.container.ID,
			"host", ended.executor.container.Node.Host, "status", int(ended.status), "reason", ended.loss.Text)
		a.diary.completed(ended.executor, ended.status)
		a.lost(ended.executor.id, ended.loss)
	}
	executors := a.fleet.take(response.Allocated)
	for _, executor := range executors {
		a.logger.Info("launching executor", "executor", executor.id, "container", executor.container.ID,
			"host", executor.container.Node.Host, "resource", executor.container.Resource)
		a.diary.started(executor)
	}
	if len(executors) > 0 {
		a.launcher.launch(launches, executors, func(id yarn.ContainerID, err error) {
			a.leave(func() { a.word.launches = append(a.word.launches, launchOutcome{id, err}) })
		})
	}
	return len(response.Allocated) > 0 || len(response.Completed) > 0
}

func (a *allocator) requests(asks []ask) []yarn.ResourceRequest {
	requests := make([]yarn.ResourceRequest, len(asks))
	for i, ask := range asks {
		requests[i] = yarn.ResourceRequest{
			Priority:      executorPriority,
			Name:          ask.name,
			Resource:      a.size,
			Containers:    int32(ask.count),
			RelaxLocality: true,
		}
	}
	return requests
}

func (a *allocator) count() {
	a.counts.Lock()
	defer a.counts.Unlock()
	a.counts.fleetCounts = fleetCounts{wanted: a.fleet.wanted, allocated: len(a.fleet.executors), failed: a.fleet.failures}
}

func (a *allocator) snapshot() fleetCounts {
	a.counts.Lock()
	defer a.counts.Unlock()
	return a.counts.fleetCounts
}

// tooManyFailures ends an application whose executors fail again and again.
type tooManyFailures struct{ error }

// pace decides how long to wait between heartbeats.
type pace struct {
	initial, idle time.Duration
	eagerUntil    time.Time
	wait          time.Duration
}

// change makes the next heartbeats come fast.
func (p *pace) change() { p.eagerUntil, p.wait = time.Now().Add(eagerFor), p.initial }

// next is the wait before the next heartbeat.
func (p *pace) next(missing bool) time.Duration {
	if !missing {
		return p.idle
	}
	if p.wait == 0 {
		p.change()
	}
	if time.Now().After(p.eagerUntil) {
		p.wait = min(2*p.wait, max(pendingInterval, p.initial), p.idle)
	}
	return p.wait
}
