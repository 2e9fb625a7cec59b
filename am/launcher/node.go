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

// node is what the launcher has to do on one node. The launcher's mutex
// guards it.
type nodeQueue struct {
	id       yarn.NodeID
	starts   []*launchItem // to be started, in order
	stops    []stopItem
	underWay []*launchItem           // in the call that is made just now
	cancel   context.CancelCauseFunc // of that call

	busy   bool        // a worker has it
	queued bool        // a worker will have it
	timer  *time.Timer // until which nothing is done; nil for none
	// failures counts tries in a row that did not reach the NodeManager.
	failures int
	// refused says that the NodeManager did not take the newest token, and problem
	// how it put that.
	refused bool
	problem error

	manager  NodeManager // nil for no connection
	serial   int         // of the token that the connection was made with
	parked   *list.Element
	parkedAt time.Time
}

// launchItem is one executor to be started.
type launchItem struct {
	executor Executor
	ctx      context.Context
	report   func(id yarn.ContainerID, err error)
	since    time.Time       // the first try; zero before
	problem  error           // of the last try
	tried    bool            // an earlier call may have started it
	doubtful bool            // whether one has is to be asked
	alone    bool            // it goes in a call of its own
	stopped  context.Context // of the stop that came while a call was under way; nil for none
}

func (i *launchItem) id() yarn.ContainerID { return i.executor.Container.ID }

// stopItem is one container to be ended.
type stopItem struct {
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

// step does the next thing on a node: ends containers, asks for those that may
// have been started, or starts some. It is called with the mutex held and gives
// it up while it makes a call or reports.
func (l *Launcher) step(node *nodeQueue) {
	l.giveUp(node)
	if !node.hasWork() {
		return
	}
	now := time.Now()
	if node.refused {
		node.stops = nil // tried once, as others are
		for _, item := range node.starts {
			if item.since.IsZero() { // it came when the token had been refused
				item.since, item.problem = now, node.problem
			}
		}
		if node.hasWork() {
			l.pause(node, node.patience(now))
		}
		return
	}
	manager, err := l.connection(node)
	if err != nil {
		given := node.starts
		node.starts, node.stops = nil, nil
		l.report(given, func(*launchItem) error { return err })
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
	if batch[0].doubtful {
		l.ask(node, manager, batch)
	} else {
		l.start(node, manager, batch)
	}
}

// take removes the next executors to make one call for: those of one context,
// all of which are to be started, or all of which are to be asked for; or the
// first, where that goes alone.
func (n *nodeQueue) take() []*launchItem {
	first := n.starts[0]
	other := func(item *launchItem) bool {
		return item != first && (first.alone || item.alone || item.ctx != first.ctx || item.doubtful != first.doubtful)
	}
	if !slices.ContainsFunc(n.starts, other) {
		batch := n.starts
		n.starts = nil
		return batch
	}
	var batch, rest []*launchItem
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

// giveUp reports executors that have waited for their node for too long, and
// drops those that nobody waits for.
func (l *Launcher) giveUp(node *nodeQueue) {
	var given []*launchItem
	node.starts = slices.DeleteFunc(node.starts, func(item *launchItem) bool {
		if item.ctx.Err() != nil {
			return true
		}
		late := item.problem != nil && time.Since(item.since) >= launchPatience
		if late {
			given = append(given, item)
		}
		return late
	})
	if len(given) > 0 {
		l.report(given, func(item *launchItem) error {
			return fmt.Errorf("tried for %v: %w", time.Since(item.since).Truncate(time.Second), item.problem)
		})
	}
}

// patience is how long until the first executor has waited too long.
func (n *nodeQueue) patience(now time.Time) time.Duration {
	wait := launchPatience
	for _, item := range n.starts {
		wait = min(wait, launchPatience-now.Sub(item.since))
	}
	return max(wait, 0)
}

// pause leaves a node alone for a time.
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

// call gives the mutex up and makes one call for a batch, within launchTimeout.
func (l *Launcher) call(node *nodeQueue, parent context.Context, batch []*launchItem, make func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	limited, release := context.WithTimeoutCause(ctx, launchTimeout, fmt.Errorf("no answer within %v", launchTimeout))
	defer release()
	node.underWay, node.cancel = batch, cancel
	l.mu.Unlock()
	err := make(limited)
	l.mu.Lock()
	node.underWay, node.cancel = nil, nil
	if err != nil && limited.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(limited), err)
	}
	return err
}

// start makes the call that starts a batch.
func (l *Launcher) start(node *nodeQueue, manager NodeManager, batch []*launchItem) {
	var started []yarn.ContainerID
	var failed map[yarn.ContainerID]error
	began := time.Now()
	err := l.call(node, batch[0].ctx, batch, func(ctx context.Context) (err error) {
		requests := make([]yarn.StartRequest, len(batch))
		for i, item := range batch {
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
	taken := make(map[yarn.ContainerID]bool, len(started))
	for _, id := range started {
		taken[id] = true
	}
	l.conclude(node, batch, func(item *launchItem) error {
		reason, refused := failed[item.id()]
		switch {
		case taken[item.id()]:
			return nil
		case !refused:
			return errors.New("the NodeManager did not say what became of it")
		case item.tried && startedBefore(reason):
			return nil
		default:
			return reason
		}
	})
}

// startedBefore tells that a container is not started because it was already
// (ContainerManagerImpl of Hadoop 3, whose exceptions tell it by their texts).
func startedBefore(reason error) bool {
	text := reason.Error()
	return strings.Contains(text, "already is running on this node") || strings.Contains(text, "Attempt to relaunch the same")
}

// ask finds out which of a batch an earlier call has started, whose answer was
// lost. The others are started again.
func (l *Launcher) ask(node *nodeQueue, manager NodeManager, batch []*launchItem) {
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
	var there, again []*launchItem
	for _, item := range batch {
		// One that ended since is known as recently stopped: its end comes through
		// the ResourceManager.
		reason := failed[item.id()]
		if known[item.id()] || reason != nil && strings.Contains(reason.Error(), "was recently stopped") {
			there = append(there, item)
			continue
		}
		item.doubtful = false
		again = append(again, item)
	}
	l.logger.Info("asked what became of containers", "node", node.id, "started", len(there), "not", len(again))
	l.requeue(node, again)
	l.conclude(node, there, func(*launchItem) error { return nil })
}

// failed decides what to do after a call that was not answered as it should be.
func (l *Launcher) failed(node *nodeQueue, batch []*launchItem, err error) {
	if l.closed || batch[0].ctx.Err() != nil {
		return // nobody waits for it
	}
	var lost *ipc.ConnectionError
	switch {
	case errors.Is(err, ErrNodeLost):
		l.disconnect(node)
		l.conclude(node, batch, func(*launchItem) error { return ErrNodeLost })
		return
	case errors.Is(err, yarn.ErrInvalidToken) && !atTheDoor(err):
		if len(batch) == 1 {
			l.conclude(node, batch, func(*launchItem) error { return fmt.Errorf("%w: %w", ErrContainerToken, err) })
			return
		}
		// The token of one container fails the call, in which others may have been
		// started before it (ContainerManagerImpl.startContainers).
		for _, item := range batch {
			item.alone, item.tried = true, true
		}
	case errors.Is(err, yarn.ErrInvalidToken):
		// A new connection takes the newest token.
		l.disconnect(node)
		node.refused, node.problem = l.tokens[node.id].serial <= node.serial, err
	case errors.As(err, &lost) && !lost.Sent, errors.Is(err, yarn.ErrNodeNotReady), errors.Is(err, ipc.RetriableException):
		l.backOff(node)
	case lost != nil, errors.Is(err, context.DeadlineExceeded):
		for _, item := range batch {
			item.tried, item.doubtful = true, true
		}
		l.backOff(node)
	default:
		l.conclude(node, batch, func(*launchItem) error { return err })
		return
	}
	l.logger.Info("containers are not started yet", "node", node.id, "containers", len(batch), "error", err)
	for _, item := range batch {
		item.problem = err
	}
	l.requeue(node, batch)
}

// ErrContainerToken is why an executor is given up whose container's token its
// node refuses: neither the executor nor the node is to blame.
var ErrContainerToken = errors.New("the node refuses the container's token")

// atTheDoor reports whether an exception ended the connection, as that of a
// token with which a connection is made does: the call was not looked at.
func atTheDoor(err error) bool {
	var remote *ipc.RemoteError
	return errors.As(err, &remote) && remote.Fatal
}

// backOff has the next try wait, the longer the more have failed.
func (l *Launcher) backOff(node *nodeQueue) {
	delay := lastRetryDelay
	if node.failures < 10 {
		delay = min(firstRetryDelay<<node.failures, lastRetryDelay)
	}
	node.failures++
	delay -= time.Duration(rand.Int64N(int64(delay)/2 + 1))
	l.pause(node, delay)
}

// requeue puts executors back to the front, without those that are not wanted
// any more.
func (l *Launcher) requeue(node *nodeQueue, items []*launchItem) {
	var kept []*launchItem
	for _, item := range items {
		switch {
		case item.stopped == nil:
			kept = append(kept, item)
		case item.tried:
			node.stops = append(node.stops, stopItem{id: item.id(), ctx: item.stopped})
		}
	}
	node.starts = append(kept, node.starts...)
}

// conclude reports what became of executors, and has those ended that are not
// wanted any more.
func (l *Launcher) conclude(node *nodeQueue, items []*launchItem, outcome func(*launchItem) error) {
	var wanted []*launchItem
	for _, item := range items {
		if item.stopped == nil {
			wanted = append(wanted, item)
		} else if outcome(item) == nil {
			node.stops = append(node.stops, stopItem{id: item.id(), ctx: item.stopped})
		}
	}
	l.report(wanted, outcome)
}

// report gives the mutex up and tells the outcomes.
func (l *Launcher) report(items []*launchItem, outcome func(*launchItem) error) {
	l.mu.Unlock()
	defer l.mu.Lock()
	for _, item := range items {
		item.report(item.id(), outcome(item))
	}
}

// stopContainers ends containers, in one try.
func (l *Launcher) stopContainers(node *nodeQueue, manager NodeManager) {
	ctx := node.stops[0].ctx
	var ids []yarn.ContainerID
	var rest []stopItem
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
