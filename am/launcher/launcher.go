// Package launcher starts executors in their containers on NodeManagers. A
// Launcher has a queue for each node and makes one call at a time to a node,
// with everything queued for it since the last call.
package launcher

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

const (
	// launchTimeout bounds one call to a NodeManager.
	launchTimeout = time.Minute
	// launchPatience is how long an executor waits for a NodeManager that cannot
	// be reached, is starting, or does not take the token. One that restarts is
	// back before; one whose machine died is not, and the ResourceManager notices
	// that only after ten minutes, during which other nodes could run the executor.
	launchPatience = 45 * time.Second
	// firstRetryDelay and lastRetryDelay are the least and the most between two
	// tries to reach a NodeManager.
	firstRetryDelay = 200 * time.Millisecond
	lastRetryDelay  = 5 * time.Second
	// idleNodeTimeout is how long the connection to a NodeManager is kept unused,
	// and maxIdleNodes how many such there are at the most: with thousands of nodes
	// they would take more memory than connecting again takes time.
	idleNodeTimeout = 30 * time.Second
	maxIdleNodes    = 128
	// dialTimeout bounds the opening of a connection: a machine that is gone does
	// not even refuse, and holds one of the launcher's threads for so long.
	dialTimeout = 5 * time.Second
)

// NodeManager is what the launcher needs of a NodeManager; *yarn.NodeClient is
// one. Its calls make one try each.
type NodeManager interface {
	StartContainers(ctx context.Context, requests []yarn.StartRequest) ([]yarn.ContainerID, map[yarn.ContainerID]error, error)
	StopContainers(ctx context.Context, ids []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error)
	Statuses(ctx context.Context, ids []yarn.ContainerID) ([]yarn.ContainerStatus, map[yarn.ContainerID]error, error)
	SetToken(token security.Token)
	Close() error
}

// Connect makes a client of a NodeManager that leaves trying again to the
// launcher, whose threads have other nodes to call meanwhile.
func Connect(node yarn.NodeID, token security.Token, logger *slog.Logger) NodeManager {
	dialer := &net.Dialer{Timeout: dialTimeout}
	return yarn.NewNodeClient(node, yarn.ClientOptions{Token: token, Logger: logger, RetryFor: -1, Dial: dialer.DialContext})
}

// Executor is an executor to start in a container.
type Executor struct {
	ID        string
	Container yarn.Container
	Profile   profile.Profile
}

// Launcher starts executors' containers, several nodes at once. One call at a
// time goes to a node, with all that have come for it since the last. A node
// that waits for something, as for its next try, has no goroutine.
type Launcher struct {
	connect func(node yarn.NodeID, token security.Token) NodeManager
	context func(Executor) yarn.ContainerLaunchContext
	threads int // as many calls may be under way
	logger  *slog.Logger

	mu      sync.Mutex
	closed  bool
	tokens  map[yarn.NodeID]nodeToken // the newest of each node
	nodes   map[yarn.NodeID]*nodeQueue
	ready   []*nodeQueue // with work that nobody does yet, in order
	idle    list.List    // of *nodeQueue with a connection and no work, the longest unused first
	sweep   *time.Timer  // closes what was idle for long; nil where nothing is idle
	workers int          // that run
	calls   sync.WaitGroup
}

// nodeToken is a token and how many came before it for its node.
type nodeToken struct {
	token  security.Token
	serial int
}

func New(threads int, connect func(yarn.NodeID, security.Token) NodeManager,
	context func(Executor) yarn.ContainerLaunchContext, logger *slog.Logger) *Launcher {
	return &Launcher{
		connect: connect,
		context: context,
		threads: threads,
		logger:  logger,
		tokens:  map[yarn.NodeID]nodeToken{},
		nodes:   map[yarn.NodeID]*nodeQueue{},
	}
}

// Trust keeps the newest token of each node. Executors that wait for a token
// are tried again.
func (l *Launcher) Trust(tokens []yarn.NMToken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, token := range tokens {
		l.tokens[token.Node] = nodeToken{token: token.Token, serial: l.tokens[token.Node].serial + 1}
		node, ok := l.nodes[token.Node]
		if !ok {
			continue
		}
		if node.manager != nil {
			node.manager.SetToken(token.Token)
		}
		if node.refused {
			node.refused = false
			node.stopTimer()
			l.schedule(node)
		}
	}
}

// Launch starts the executors and reports each one's outcome: an error or nil.
// It returns at once; report is called from the launcher's goroutines. Nothing
// is reported once ctx has ended, nor of executors that were stopped.
func (l *Launcher) Launch(ctx context.Context, executors []Executor, report func(id yarn.ContainerID, err error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, executor := range executors {
		node := l.node(executor.Container.Node)
		node.starts = append(node.starts, &launchItem{executor: executor, ctx: ctx, report: report})
		l.schedule(node)
	}
}

// Stop ends containers that are not wanted any more: those that were not started
// are not, and the others are told to end as soon as their node can be asked.
// It is tried once, as the ResourceManager sees to containers that were released
// in any case, a heartbeat or two later.
func (l *Launcher) Stop(ctx context.Context, id yarn.NodeID, containers []yarn.ContainerID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	node := l.node(id)
	for _, container := range containers {
		named := func(item *launchItem) bool { return item.id() == container }
		if at := slices.IndexFunc(node.underWay, named); at >= 0 {
			node.underWay[at].stopped = ctx
			continue
		}
		at := slices.IndexFunc(node.starts, named)
		tried := at < 0 || node.starts[at].tried
		if at >= 0 {
			node.starts = slices.Delete(node.starts, at, at+1)
		}
		if tried {
			node.stops = append(node.stops, stopItem{id: container, ctx: ctx})
		}
	}
	l.schedule(node)
}

// ErrNodeLost is why executors are given up on a node that the ResourceManager
// has lost.
var ErrNodeLost = errors.New("the ResourceManager has lost the node")

// NodeLost gives up what waits for a node that is lost, or is under way to it.
func (l *Launcher) NodeLost(id yarn.NodeID) {
	l.mu.Lock()
	node, ok := l.nodes[id]
	if !ok {
		l.mu.Unlock()
		return
	}
	given := node.starts
	node.starts, node.stops = nil, nil
	node.stopTimer()
	node.failures = 0
	if node.cancel != nil {
		node.cancel(ErrNodeLost)
	}
	if !node.busy {
		l.disconnect(node)
	}
	l.settle(node)
	l.mu.Unlock()
	for _, item := range given {
		item.report(item.id(), ErrNodeLost)
	}
}

// Close gives up what has not been started, ends the calls under way and closes
// the connections. It returns when no goroutine of the launcher is left.
func (l *Launcher) Close() error {
	l.mu.Lock()
	l.closed = true
	l.ready = nil
	if l.sweep != nil {
		l.sweep.Stop()
	}
	for _, node := range l.nodes {
		node.starts, node.stops = nil, nil
		node.stopTimer()
		if node.cancel != nil {
			node.cancel(context.Canceled)
		}
	}
	l.mu.Unlock()
	l.calls.Wait()

	l.mu.Lock()
	defer l.mu.Unlock()
	var problems []error
	for _, node := range l.nodes {
		if node.manager != nil {
			problems = append(problems, node.manager.Close())
		}
	}
	clear(l.nodes)
	return errors.Join(problems...)
}

// node finds or makes the queue of a node.
func (l *Launcher) node(id yarn.NodeID) *nodeQueue {
	node, ok := l.nodes[id]
	if !ok {
		node = &nodeQueue{id: id}
		l.nodes[id] = node
	}
	return node
}

// schedule has a worker look after a node that has work, unless one does, or the
// node has to wait.
func (l *Launcher) schedule(node *nodeQueue) {
	if l.closed || node.busy || node.queued || node.timer != nil || !node.hasWork() {
		return
	}
	l.leaveIdle(node)
	node.queued = true
	l.ready = append(l.ready, node)
	if l.workers < l.threads {
		l.workers++
		l.calls.Go(l.work)
	}
}

// work makes calls until there is nothing to do.
func (l *Launcher) work() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.ready) > 0 {
		node := l.ready[0]
		l.ready = l.ready[1:]
		node.queued = false
		if !node.hasWork() {
			l.settle(node)
			continue
		}
		node.busy = true
		l.step(node)
		node.busy = false
		l.schedule(node)
		l.settle(node)
	}
	l.workers--
}

// settle parks a node without work: with the idle ones where it has a
// connection, nowhere where it has none.
func (l *Launcher) settle(node *nodeQueue) {
	switch {
	case node.busy || node.queued || node.hasWork() || l.closed:
	case node.manager == nil:
		l.leaveIdle(node)
		delete(l.nodes, node.id)
	case node.parked == nil:
		node.parked = l.idle.PushBack(node)
		node.parkedAt = time.Now()
		if l.idle.Len() > maxIdleNodes {
			l.retire(l.idle.Front())
		}
		if l.sweep == nil {
			l.sweep = time.AfterFunc(idleNodeTimeout, l.sweepIdle)
		}
	}
}

func (l *Launcher) leaveIdle(node *nodeQueue) {
	if node.parked != nil {
		l.idle.Remove(node.parked)
		node.parked = nil
	}
}

// retire closes the connection of an idle node.
func (l *Launcher) retire(element *list.Element) {
	node := l.idle.Remove(element).(*nodeQueue)
	node.parked = nil
	l.disconnect(node)
	delete(l.nodes, node.id)
}

// sweepIdle closes the connections that were idle for long.
func (l *Launcher) sweepIdle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.sweep = nil
	for front := l.idle.Front(); front != nil; front = l.idle.Front() {
		if wait := idleNodeTimeout - time.Since(front.Value.(*nodeQueue).parkedAt); wait > 0 {
			l.sweep = time.AfterFunc(wait, l.sweepIdle)
			return
		}
		l.retire(front)
	}
}

// disconnect closes a node's connection, for which nobody waits.
func (l *Launcher) disconnect(node *nodeQueue) {
	manager := node.manager
	node.manager = nil
	if manager == nil || l.closed {
		return
	}
	l.calls.Go(func() {
		if err := manager.Close(); err != nil {
			l.logger.Debug("closing the connection to a NodeManager", "node", node.id, "error", err)
		}
	})
}

// connection is the connection to a node's NodeManager, made where there is none.
func (l *Launcher) connection(node *nodeQueue) (NodeManager, error) {
	if node.manager == nil {
		token, ok := l.tokens[node.id]
		if !ok {
			return nil, fmt.Errorf("the ResourceManager gave no token for the NodeManager %s", node.id)
		}
		node.manager = l.connect(node.id, token.token)
		node.serial = token.serial
	}
	return node.manager, nil
}
