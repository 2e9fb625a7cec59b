package launcher

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// nodeQueue is the queue of work for one node. Launcher.mu guards it.
type nodeQueue struct {
	id      yarn.NodeID
	starts  []*executorStart // executors to start, in order
	stops   []containerStop
	current []*executorStart        // executors of the current call
	cancel  context.CancelCauseFunc // cancels the current call

	busy         bool        // a worker serves the node
	queued       bool        // Launcher.ready contains the node
	timer        *time.Timer // no call to the node is made until the timer fires; nil for none
	failures     int         // number of consecutive failed calls, which determines the next delay
	refused      bool        // the NodeManager has refused the newest token
	refusal      error       // error with which the NodeManager refused the newest token
	noAuxService bool        // the node does not have an auxiliary service for which launch contexts contain data

	connection NodeManager   // connection to the NodeManager; nil for none
	serial     int           // serial number of the token of the connection
	idle       *list.Element // element of Launcher.idle; nil if the node is not idle
	idleSince  time.Time
}

// executorStart is the start of an executor.
type executorStart struct {
	executor    Executor
	ctx         context.Context
	report      func(id yarn.ContainerID, err error)
	since       time.Time       // time of the first attempt; zero before
	failure     error           // error of the last attempt; nil for none
	tried       bool            // an earlier call may have started the executor
	askFirst    bool            // before the next attempt, ask the NodeManager whether it has started the executor
	mustBeAlone bool            // the call that starts the executor must not start others
	stopped     context.Context // context of a Stop during the current call; nil for none
}

func (i *executorStart) id() yarn.ContainerID { return i.executor.Container.ID }

// containerStop is the stop of a container.
type containerStop struct {
	id  yarn.ContainerID
	ctx context.Context
}

func (n *nodeQueue) hasWork() bool { return len(n.starts)+len(n.stops) > 0 }

func (n *nodeQueue) stopTimer() {
	if n.timer != nil {
		n.timer.Stop()
		n.timer = nil
	}
}

// step makes the next call to a NodeManager. The call stops containers, asks which containers an
// earlier call has started, or starts containers. step unlocks the mutex during the call.
func (l *Launcher) step(node *nodeQueue) {
	l.expire(node)
	if !node.hasWork() {
		return
	}
	now := time.Now()
	if node.refused {
		node.stops = nil // stops are not retried
		for _, item := range node.starts {
			if item.since.IsZero() { // the executor was queued after the refusal
				item.since, item.failure = now, node.refusal
			}
		}
		if node.hasWork() {
			l.pause(node, node.untilExpiry(now))
		}
		return
	}
	manager, err := l.connection(node)
	if err != nil {
		failed := node.starts
		node.starts, node.stops = nil, nil
		l.report(failed, func(*executorStart) error { return err })
		return
	}
	if len(node.stops) > 0 {
		l.stopContainers(node, manager)
		return
	}
	batch := node.take()
	for _, item := range batch {
		if item.since.IsZero() {
			item.since = now
		}
	}
	if batch[0].askFirst {
		l.ask(node, manager, batch)
	} else {
		l.start(node, manager, batch)
	}
}

// take removes from the queue the executors for the next call, and returns them: the first
// executor, and all others with the same ctx and askFirst. It does not combine executors for which
// mustBeAlone is set with others.
func (n *nodeQueue) take() []*executorStart {
	first := n.starts[0]
	other := func(item *executorStart) bool {
		return item != first && (first.mustBeAlone || item.mustBeAlone || item.ctx != first.ctx || item.askFirst != first.askFirst)
	}
	if !slices.ContainsFunc(n.starts, other) {
		batch := n.starts
		n.starts = nil
		return batch
	}
	var batch, rest []*executorStart
	for _, item := range n.starts {
		if other(item) {
			rest = append(rest, item)
		} else {
			batch = append(batch, item)
		}
	}
	n.starts = rest
	return batch
}

// expire removes executors from the queue. It discards executors whose context has ended. If an
// attempt to start an executor has failed, and launchTimeout has passed since the first attempt,
// expire reports the executor as failed.
func (l *Launcher) expire(node *nodeQueue) {
	var expired []*executorStart
	node.starts = slices.DeleteFunc(node.starts, func(item *executorStart) bool {
		if item.ctx.Err() != nil {
			return true
		}
		late := item.failure != nil && time.Since(item.since) >= launchTimeout
		if late {
			expired = append(expired, item)
		}
		return late
	})
	if len(expired) > 0 {
		l.report(expired, func(item *executorStart) error {
			return fmt.Errorf("tried for %v: %w", time.Since(item.since).Truncate(time.Second), item.failure)
		})
	}
}

// untilExpiry returns the time until expire next reports an executor as failed.
func (n *nodeQueue) untilExpiry(now time.Time) time.Duration {
	wait := launchTimeout
	for _, item := range n.starts {
		wait = min(wait, launchTimeout-now.Sub(item.since))
	}
	return max(wait, 0)
}

// pause prevents calls to a node until the given time has passed.
func (l *Launcher) pause(node *nodeQueue, wait time.Duration) {
	if l.closed {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(wait, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if node.timer == timer {
			node.timer = nil
			l.schedule(node)
		}
	})
	node.timer = timer
}

// call unlocks the mutex, and runs the function do, which makes one call for the executors in
// batch. The context of do ends after callTimeout at the latest.
func (l *Launcher) call(node *nodeQueue, parent context.Context, batch []*executorStart, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	limited, release := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("no answer within %v", callTimeout))
	defer release()
	node.current, node.cancel = batch, cancel
	l.mu.Unlock()
	err := do(limited)
	l.mu.Lock()
	node.current, node.cancel = nil, nil
	if err != nil && limited.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(limited), err)
	}
	return err
}

// start starts the containers of batch in one call, and reports the results.
func (l *Launcher) start(node *nodeQueue, manager NodeManager, batch []*executorStart) {
	var started []yarn.ContainerID
	var failed map[yarn.ContainerID]error
	began, noAuxService := time.Now(), node.noAuxService
	err := l.call(node, batch[0].ctx, batch, func(ctx context.Context) (err error) {
		requests := make([]yarn.StartRequest, len(batch))
		for i, item := range batch {
			item.executor.NoAuxService = noAuxService
			requests[i] = yarn.StartRequest{ContainerToken: item.executor.Container.Token, Launch: l.context(item.executor)}
		}
		started, failed, err = manager.StartContainers(ctx, requests)
		return err
	})
	if err != nil {
		l.failed(node, batch, err)
		return
	}
	node.failures = 0
	l.logger.Debug("containers started", "node", node.id, "containers", len(started), "took", time.Since(began))
	accepted := make(map[yarn.ContainerID]bool, len(started))
	for _, id := range started {
		accepted[id] = true
	}
	if !noAuxService {
		batch = l.requeueWithoutAuxService(node, batch, failed)
	}
	l.finishStarts(node, batch, func(item *executorStart) error {
		reason, refused := failed[item.id()]
		switch {
		case accepted[item.id()]:
			return nil
		case !refused:
			return errors.New("the NodeManager's answer does not mention the container")
		case item.tried && startedBefore(reason):
			return nil
		default:
			return reason
		}
	})
}

// requeueWithoutAuxService is called after the node has refused some executors of batch because it
// does not have an auxiliary service. It queues these executors again, for launch contexts without
// data for the service, and returns the other executors. failed contains the node's refusals.
func (l *Launcher) requeueWithoutAuxService(node *nodeQueue, batch []*executorStart, failed map[yarn.ContainerID]error) (others []*executorStart) {
	var again []*executorStart
	for _, item := range batch {
		if errors.Is(failed[item.id()], yarn.ErrNoAuxService) {
			again = append(again, item)
		} else {
			others = append(others, item)
		}
	}
	if len(again) > 0 {
		node.noAuxService = true
		l.requeue(node, again)
	}
	return others
}

// startedBefore reports whether a NodeManager has refused to start a container because the
// container is already running. In Hadoop 3, only the text of the exception contains this reason
// (ContainerManagerImpl).
func startedBefore(reason error) bool {
	text := reason.Error()
	return strings.Contains(text, "already is running on this node") || strings.Contains(text, "Attempt to relaunch the same")
}

// ask asks the NodeManager which executors of batch were started by an earlier call that got no
// answer. It reports these executors as started, and queues the other executors again.
func (l *Launcher) ask(node *nodeQueue, manager NodeManager, batch []*executorStart) {
	ids := make([]yarn.ContainerID, len(batch))
	for i, item := range batch {
		ids[i] = item.id()
	}
	var statuses []yarn.ContainerStatus
	var failed map[yarn.ContainerID]error
	err := l.call(node, batch[0].ctx, batch, func(ctx context.Context) (err error) {
		statuses, failed, err = manager.Statuses(ctx, ids)
		return err
	})
	if err != nil {
		l.failed(node, batch, err)
		return
	}
	node.failures = 0
	known := make(map[yarn.ContainerID]bool, len(statuses))
	for _, status := range statuses {
		known[status.ID] = true
	}
	var running, notStarted []*executorStart
	for _, item := range batch {
		// A recently stopped container counts as started, because the ResourceManager reports its
		// end.
		reason := failed[item.id()]
		if known[item.id()] || reason != nil && strings.Contains(reason.Error(), "was recently stopped") {
			running = append(running, item)
			continue
		}
		item.askFirst = false
		notStarted = append(notStarted, item)
	}
	l.logger.Info("asked the node which containers were started", "node", node.id, "started", len(running), "not", len(notStarted))
	l.requeue(node, notStarted)
	l.finishStarts(node, running, func(*executorStart) error { return nil })
}

// failed handles the failure err of a call. It queues the executors of batch for a retry, or
// reports them as failed.
func (l *Launcher) failed(node *nodeQueue, batch []*executorStart, err error) {
	if l.closed || batch[0].ctx.Err() != nil {
		return // the launches were cancelled, so there is nothing to report
	}
	var lost *ipc.ConnectionError
	switch {
	case errors.Is(err, ErrNodeLost):
		l.disconnect(node)
		l.finishStarts(node, batch, func(*executorStart) error { return ErrNodeLost })
		return
	case errors.Is(err, yarn.ErrInvalidToken) && !isConnectionRefusal(err):
		if len(batch) == 1 {
			l.finishStarts(node, batch, func(*executorStart) error { return fmt.Errorf("%w: %w", ErrContainerToken, err) })
			return
		}
		// The invalid token of one container fails the whole call. The NodeManager may have started
		// other containers before (ContainerManagerImpl.startContainers).
		for _, item := range batch {
			item.mustBeAlone, item.tried = true, true
		}
	case errors.Is(err, yarn.ErrInvalidToken):
		// Disconnect, because only a new connection uses the newest token.
		l.disconnect(node)
		node.refused, node.refusal = l.tokens[node.id].serial <= node.serial, err
	case errors.As(err, &lost) && !lost.Sent, errors.Is(err, yarn.ErrNodeNotReady), errors.Is(err, ipc.RetriableException):
		l.backOff(node)
	case lost != nil, errors.Is(err, context.DeadlineExceeded):
		for _, item := range batch {
			item.tried, item.askFirst = true, true
		}
		l.backOff(node)
	default:
		l.finishStarts(node, batch, func(*executorStart) error { return err })
		return
	}
	l.logger.Info("containers are not started yet", "node", node.id, "containers", len(batch), "error", err)
	for _, item := range batch {
		item.failure = err
	}
	l.requeue(node, batch)
}

// ErrContainerToken is the error of a launch if the NodeManager has refused the container's token.
// Such a launch counts as a failure neither of the executor nor of the node.
var ErrContainerToken = errors.New("the node refuses the container's token")

// isConnectionRefusal reports whether err is an exception by which the NodeManager has refused the
// connection, for example because of its NMToken.
func isConnectionRefusal(err error) bool {
	var remote *ipc.RemoteError
	return errors.As(err, &remote) && remote.Fatal
}

// backOff delays the next call to a node. Each further failed call lengthens the delay, up to
// maxRetryDelay.
func (l *Launcher) backOff(node *nodeQueue) {
	delay := maxRetryDelay
	if node.failures < 10 {
		delay = min(minRetryDelay<<node.failures, maxRetryDelay)
	}
	node.failures++
	delay -= time.Duration(rand.Int64N(int64(delay)/2 + 1))
	l.pause(node, delay)
}

// requeue puts executors back to the front of the queue. It discards executors that Stop has
// stopped during the call. If such an executor may have been started, requeue stops it on the node.
func (l *Launcher) requeue(node *nodeQueue, items []*executorStart) {
	var kept []*executorStart
	for _, item := range items {
		switch {
		case item.stopped == nil:
			kept = append(kept, item)
		case item.tried:
			node.stops = append(node.stops, containerStop{id: item.id(), ctx: item.stopped})
		}
	}
	node.starts = append(kept, node.starts...)
}

// finishStarts reports the outcome of each start; nil means that the executor was started. It does
// not report executors that Stop has stopped during the call. If such an executor was started,
// finishStarts stops it on the node.
func (l *Launcher) finishStarts(node *nodeQueue, items []*executorStart, outcome func(*executorStart) error) {
	var wanted []*executorStart
	for _, item := range items {
		if item.stopped == nil {
			wanted = append(wanted, item)
		} else if outcome(item) == nil {
			node.stops = append(node.stops, containerStop{id: item.id(), ctx: item.stopped})
		}
	}
	l.report(wanted, outcome)
}

func (l *Launcher) report(items []*executorStart, outcome func(*executorStart) error) {
	l.mu.Unlock()
	defer l.mu.Lock()
	for _, item := range items {
		item.report(item.id(), outcome(item))
	}
}

// stopContainers stops, in one call, the queued containers whose stops have the same context. It
// does not retry the call.
func (l *Launcher) stopContainers(node *nodeQueue, manager NodeManager) {
	ctx := node.stops[0].ctx
	var ids []yarn.ContainerID
	var rest []containerStop
	for _, item := range node.stops {
		if item.ctx == ctx {
			ids = append(ids, item.id)
		} else {
			rest = append(rest, item)
		}
	}
	node.stops = rest
	var failed map[yarn.ContainerID]error
	err := l.call(node, ctx, nil, func(ctx context.Context) (err error) {
		_, failed, err = manager.StopContainers(ctx, ids)
		return err
	})
	if err != nil {
		l.logger.Debug("containers were not stopped", "node", node.id, "containers", len(ids), "error", err)
		if len(node.starts) == 0 {
			l.disconnect(node)
		}
		return
	}
	for id, reason := range failed {
		l.logger.Debug("a container was not stopped", "container", id, "node", node.id, "error", reason)
	}
}
