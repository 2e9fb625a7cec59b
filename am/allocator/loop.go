package allocator

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/bobbin-yarn/bobbin/am/launcher"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// releaseAllTimeout limits the duration of ReleaseAll. The ResourceManager usually confirms
// releases within two heartbeats.
const releaseAllTimeout = 5 * time.Second

// Run registers the application and obtains as many executors as the driver requests. It returns
// nil when ctx ends. It returns an error if the application cannot continue: a
// *TooManyFailuresError, a *TooLargeError, or an error of a call to the ResourceManager.
func (a *Allocator) Run(ctx context.Context) error {
	// The context of launches and rack look-ups ends when Run returns.
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
	due, last := time.Now(), time.Time{} // times of the next and of the last heartbeat
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
		// Send a request for more executors at once. Send other changes as soon as pace.initial has
		// passed since the last heartbeat. After a failed heartbeat, wait for the whole interval in
		// both cases.
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

// advance applies timeouts, and reports changes of executors. It fails if too many executors have
// failed.
func (a *Allocator) advance(working context.Context, now time.Time) error {
	a.state.tick(now, a.clusterNodes)
	a.report(working)
	return a.state.failures.tooMany(a.state.running(), now)
}

// hasChanges reports whether the next heartbeat will contain changes.
func (a *Allocator) hasChanges() bool {
	return len(a.state.releases) > 0 || a.state.excluded.hasUnsentChanges || a.state.hasAskChanges()
}

// receive applies the messages in the mailbox. It reports whether the driver requests more
// executors than before.
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
		s.replanAll()
		a.lookUpRacks(working)
	}
	for _, id := range received.registered {
		s.registered(id)
	}
	for _, contract := range received.contracts {
		s.satisfyContract(contract.preemptionContract, contract.tasks, now)
	}
	s.kill(received.kills, now)
	for _, launch := range received.launches {
		if launch.err == nil {
			if e := s.executors[launch.id]; e != nil && !e.accepted {
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
	for _, e := range a.state.takeReleasedBeforeStart() {
		a.launcher.Stop(working, e.Container.Node, []yarn.ContainerID{e.Container.ID})
	}
	for _, ended := range a.state.takeEnded() {
		level := slog.LevelInfo
		if ended.reason.countsAsFailure {
			level = slog.LevelWarn
		}
		e := ended.executor
		a.options.Logger.Log(working, level, "executor ended", "executor", e.ID, "container", e.Container.ID,
			"host", e.host(), "status", int(ended.status), "reason", ended.loss.Reason)
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

// heartbeat sends a heartbeat, applies the answer, and returns the time until the next heartbeat.
// It fails if the application cannot continue.
func (a *Allocator) heartbeat(working context.Context, now time.Time) (time.Duration, error) {
	if !a.heartbeats.registered {
		if err := a.Register(working); err != nil {
			return a.pace.idle, a.heartbeats.failed(err)
		}
	}
	if err := a.limits.checkAll(a.state.profiles); err != nil {
		return 0, &TooLargeError{err}
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
	// The driver may have killed an executor during the heartbeat, and the answer may report the
	// end of the executor's container. Apply the kill first, so that the end counts as ended by the
	// driver.
	more := a.receive(working, time.Now())
	if a.apply(working, response, time.Now()) || len(request.Asks) > 0 {
		a.pace.change(now)
	}
	if more {
		return 0, nil
	}
	return a.pace.next(a.state.containersToAsk() > 0, now), nil
}

// Register registers the application with the ResourceManager. It does not retry.
func (a *Allocator) Register(ctx context.Context) error {
	granted, err := a.heartbeats.register(ctx, a.options.Registration)
	if err != nil {
		return err
	}
	if granted != nil {
		a.limits.setFrom(granted)
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

// nextRequest returns a heartbeat with all changes since the last heartbeat.
func (a *Allocator) nextRequest() *yarn.AllocateRequest {
	request := &yarn.AllocateRequest{Progress: a.options.Progress(), Asks: a.state.changedAsks(), Releases: a.state.takeReleases(time.Now())}
	request.BlacklistAdd, request.BlacklistRemove = a.state.excluded.changes()
	return request
}

// apply applies the answer to a heartbeat. It reports whether containers were allocated or have
// ended.
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
	// Before new containers are accepted, apply the exclusions that the ended containers have
	// caused.
	s.tick(now, a.clusterNodes)
	executors := s.addAllocated(response.Allocated, now)
	s.responseApplied()
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

// launched receives the result of a launch from the launcher.
func (a *Allocator) launched(id yarn.ContainerID, err error) {
	a.send(func(m *messages) { m.launches = append(m.launches, launchOutcome{id, err}) })
}

// preempt decommissions executors because the ResourceManager will preempt containers.
func (a *Allocator) preempt(working context.Context, notice *yarn.Preemption, now time.Time) {
	deadline := now.Add(a.preemptionWait)
	a.state.preempt(notice.Strict, deadline, now)
	if len(notice.Containers) == 0 {
		return
	}
	c := contractWithTasks{preemptionContract: preemptionContract{containers: notice.Containers, resources: notice.Resources, deadline: deadline}}
	if a.options.Load == nil || working.Err() != nil {
		a.state.satisfyContract(c.preemptionContract, nil, now)
		return
	}
	a.background.Go(func() {
		c.tasks = a.options.Load()
		a.send(func(m *messages) { m.contracts = append(m.contracts, c) })
	})
}

// lookUpRacks starts a look-up of the racks of preferred hosts whose racks are unknown. Only one
// look-up runs at a time.
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

// ReleaseAll releases all containers. It waits until the ResourceManager has confirmed the
// releases, but at most releaseAllTimeout. Call it after Run has returned.
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
