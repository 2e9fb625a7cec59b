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

// nodeQueue is the work for one node, guarded by the launcher's mutex.
type nodeQueue struct {
	id      yarn.NodeID
	starts  []*executorStart // to be started, in order
	stops   []containerStop
	current []*executorStart        // executors in the current call
	cancel  context.CancelCauseFunc // of the current call

	busy         bool        // a worker serves the node
	queued       bool        // the node is in Launcher.ready
	timer        *time.Timer // until it fires, no call to the node is made; nil for none
	failures     int         // failed calls in a row; determines the next delay
	refused      bool        // the NodeManager has refused the newest token
	refusal      error       // the error with which it refused the token
	noAuxService bool        // the node lacks an auxiliary service for which contexts have data

	connection NodeManager   // nil for no connection
	serial     int           // serial number of the token with which the connection was made
	idle       *list.Element // in Launcher.idle; nil if the node is not idle
	idleSince  time.Time
}

// executorStart is an executor to start.
type executorStart struct {
	executor    Executor
	ctx         context.Context
	report      func(id yarn.ContainerID, err error)
	since       time.Time       // time of the first try; zero before
	failure     error           // the error of the last try
	tried       bool            // an earlier call may have started the executor
	askFirst    bool            // before the next try, ask the NodeManager whether it was started
	mustBeAlone bool            // the executor must be the only one in its call
	stopped     context.Context // the context of a Stop during the current call; nil for none
}

func (i *executorStart) id() yarn.ContainerID { return i.executor.Container.ID }

// containerStop is a container to stop.
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

// step makes the next call to a NodeManager: it stops containers, asks which
// containers an earlier call has started, or starts containers. It unlocks the mutex
// during the call.
func (l *Launcher) step(node *nodeQueue) {
	l.expire(node)
	if !node.hasWork() {
		return
	}
	now := time.Now()
	if node.refused {
		node.stops = nil // stops are not tried again
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

// take removes the executors of the next call from the queue: the first executor and all
// others with the same context and the same askFirst. An executor that must be alone is not
// combined with others.
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

// expire gives up starts of executors. It drops those whose context has ended. It reports as
// failed those that have failed and were tried for launchTimeout.
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

// untilExpiry returns the time until expire gives up the first executor.
func (n *nodeQueue) untilExpiry(now time.Time) time.Duration {
	wait := launchTimeout
	for _, item := range n.starts {
		wait = min(wait, launchTimeout-now.Sub(item.since))
	}
	return max(wait, 0)
}

// pause prevents calls to a node until wait has passed.
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

// call runs do, which makes one call for a batch. The mutex is unlocked meanwhile. The
// context of do ends after callTimeout at the latest.
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

// start starts the containers of a batch in one call, and reports the outcomes.
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

// requeueWithoutAuxService returns the executors of batch that the node did not refuse for
// lack of an auxiliary service, and queues the others again. failed has the node's refusals.
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

// startedBefore reports whether a NodeManager refused to start a container because
// it runs already. Hadoop 3's ContainerManagerImpl says so only in the exception's
// text.
func startedBefore(reason error) bool {
	text := reason.Error()
	return strings.Contains(text, "already is running on this node") || strings.Contains(text, "Attempt to relaunch the same")
}

// ask asks the NodeManager which executors of batch an earlier call, which got no answer,
// has started. It reports these as started, and queues the others again.
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
		// A recently stopped container counts as started, because the ResourceManager reports
		// its end.
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

// failed decides whether and when the executors of a failed call are tried again.
func (l *Launcher) failed(node *nodeQueue, batch []*executorStart, err error) {
	if l.closed || batch[0].ctx.Err() != nil {
		return // the launches were cancelled
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
		// A container's invalid token fails the whole call, though other containers may
		// have been started (ContainerManagerImpl.startContainers).
		for _, item := range batch {
			item.mustBeAlone, item.tried = true, true
		}
	case errors.Is(err, yarn.ErrInvalidToken):
		// The next connection uses the newest token.
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

// ErrContainerToken is the error of a launch if the NodeManager refused the container's
// token. That is neither the executor's nor the node's fault.
var ErrContainerToken = errors.New("the node refuses the container's token")

// isConnectionRefusal reports whether the NodeManager's exception refuses the
// connection, for example for its NMToken.
func isConnectionRefusal(err error) bool {
	var remote *ipc.RemoteError
	return errors.As(err, &remote) && remote.Fatal
}

// backOff delays the next call to a node, longer with each failed call.
func (l *Launcher) backOff(node *nodeQueue) {
	delay := maxRetryDelay
	if node.failures < 10 {
		delay = min(minRetryDelay<<node.failures, maxRetryDelay)
	}
	node.failures++
	delay -= time.Duration(rand.Int64N(int64(delay)/2 + 1))
	l.pause(node, delay)
}

// requeue puts executors back to the front of the queue. It drops executors that Stop has
// stopped during the call, and stops them on the node if they may have been started.
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

// finishStarts reports the outcomes of executors; nil means started. Executors that Stop has
// stopped during the call are not reported. If they were started, they are stopped on the
// node.
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

// stopContainers stops one context's queued containers in one call, which is not retried.
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
