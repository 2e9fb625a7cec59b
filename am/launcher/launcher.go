// Package launcher starts executors in their containers on NodeManagers. A Launcher has a queue for
// each node. It makes one call at a time to each node, for all queued executors that one call can
// start.
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
	// callTimeout limits the duration of one call to a NodeManager.
	callTimeout = time.Minute
	// launchTimeout limits the time of retries of a launch while the NodeManager does not answer,
	// is starting, or refuses the token. A restart of a NodeManager takes less time. The launcher
	// does not wait until the ResourceManager detects a dead node, because that takes ten minutes.
	launchTimeout = 45 * time.Second
	// minRetryDelay and maxRetryDelay are the minimum and the maximum delay before a retry.
	minRetryDelay = 200 * time.Millisecond
	maxRetryDelay = 5 * time.Second
	// idleTimeout is how long an unused connection stays open. maxIdle is the maximum number of
	// unused open connections. Their number is limited because thousands of connections would use
	// much memory.
	idleTimeout = 30 * time.Second
	maxIdle     = 128
	// dialTimeout limits the time to open a connection, in which a worker waits.
	dialTimeout = 5 * time.Second
)

// NodeManager contains the launcher's calls to a NodeManager. *yarn.NodeClient implements it. The
// methods must not retry, because the launcher does.
type NodeManager interface {
	StartContainers(ctx context.Context, requests []yarn.StartRequest) ([]yarn.ContainerID, map[yarn.ContainerID]error, error)
	StopContainers(ctx context.Context, ids []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error)
	Statuses(ctx context.Context, ids []yarn.ContainerID) ([]yarn.ContainerStatus, map[yarn.ContainerID]error, error)
	SetToken(token security.Token)
	Close() error
}

// Connect returns a client of a NodeManager. The client does not retry calls.
func Connect(node yarn.NodeID, token security.Token, logger *slog.Logger) NodeManager {
	dialer := &net.Dialer{Timeout: dialTimeout}
	return yarn.NewNodeClient(node, yarn.ClientOptions{Token: token, Logger: logger, RetryFor: -1, Dial: dialer.DialContext})
}

// Executor is an executor to start in a container.
type Executor struct {
	ID        string
	Container yarn.Container
	Profile   profile.Profile
	// NoAuxService is set if the node has refused a launch context because the node does not have
	// an auxiliary service for which the context contains data. The next context must not contain
	// such data.
	NoAuxService bool
}

// Launcher starts containers on several nodes at the same time. A pool of worker goroutines makes
// the calls. A node that waits for a retry or for a token occupies no worker.
type Launcher struct {
	connect func(node yarn.NodeID, token security.Token) NodeManager
	context func(Executor) yarn.ContainerLaunchContext
	threads int // maximum number of workers
	logger  *slog.Logger

	mu      sync.Mutex
	closed  bool
	tokens  map[yarn.NodeID]nodeToken // newest NMToken of each node
	nodes   map[yarn.NodeID]*nodeQueue
	ready   []*nodeQueue // nodes with work that wait for a worker, in the order of arrival
	idle    list.List    // *nodeQueue elements: nodes with a connection and without work, the longest unused first
	sweep   *time.Timer  // timer that closes idle connections; nil if there are none
	workers int          // number of running workers
	calls   sync.WaitGroup
}

// nodeToken is the newest NMToken of a node.
type nodeToken struct {
	token  security.Token
	serial int // 1 for the first token of the node, 2 for the second, and so on
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

// SetTokens sets the newest NMTokens. It retries launches on nodes that refused their previous
// token.
func (l *Launcher) SetTokens(tokens []yarn.NMToken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, token := range tokens {
		l.tokens[token.Node] = nodeToken{token: token.Token, serial: l.tokens[token.Node].serial + 1}
		node, ok := l.nodes[token.Node]
		if !ok {
			continue
		}
		if node.connection != nil {
			node.connection.SetToken(token.Token)
		}
		if node.refused {
			node.refused = false
			node.stopTimer()
			l.schedule(node)
		}
	}
}

// Launch queues executors to be started, and returns at once. Later, the launcher calls report for
// each executor, with nil if the executor was started, or with an error. It does not call report
// after ctx has ended, and not for executors that Stop has stopped.
func (l *Launcher) Launch(ctx context.Context, executors []Executor, report func(id yarn.ContainerID, err error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, executor := range executors {
		node := l.node(executor.Container.Node)
		node.starts = append(node.starts, &executorStart{executor: executor, ctx: ctx, report: report})
		l.schedule(node)
	}
}

// Stop stops released containers. It removes containers that were not started yet from the queue,
// and stops all others by one call to the NodeManager. It does not retry that call, because the
// ResourceManager also makes the node stop released containers within two heartbeats.
func (l *Launcher) Stop(ctx context.Context, id yarn.NodeID, containers []yarn.ContainerID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	node := l.node(id)
	for _, container := range containers {
		matches := func(item *executorStart) bool { return item.id() == container }
		if i := slices.IndexFunc(node.current, matches); i >= 0 {
			node.current[i].stopped = ctx
			continue
		}
		i := slices.IndexFunc(node.starts, matches)
		tried := i < 0 || node.starts[i].tried
		if i >= 0 {
			node.starts = slices.Delete(node.starts, i, i+1)
		}
		if tried {
			node.stops = append(node.stops, containerStop{id: container, ctx: ctx})
		}
	}
	l.schedule(node)
}

// ErrNodeLost is the error of a launch on a node that the ResourceManager considers lost.
var ErrNodeLost = errors.New("the ResourceManager has lost the node")

// NodeLost reports ErrNodeLost for the executors in a node's queue, discards its queued stops, and
// cancels the current call to the node.
func (l *Launcher) NodeLost(id yarn.NodeID) {
	l.mu.Lock()
	node, ok := l.nodes[id]
	if !ok {
		l.mu.Unlock()
		return
	}
	lost := node.starts
	node.starts, node.stops = nil, nil
	node.stopTimer()
	node.failures = 0
	if node.cancel != nil {
		node.cancel(ErrNodeLost)
	}
	if !node.busy {
		l.disconnect(node)
	}
	l.markIdle(node)
	l.mu.Unlock()
	for _, item := range lost {
		item.report(item.id(), ErrNodeLost)
	}
}

// Close discards the executors that are not started yet, cancels the current calls, closes the
// connections and waits until the launcher's goroutines have ended.
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
		if node.connection != nil {
			problems = append(problems, node.connection.Close())
		}
	}
	clear(l.nodes)
	return errors.Join(problems...)
}

// node returns the queue of a node. It creates the queue if there is none.
func (l *Launcher) node(id yarn.NodeID) *nodeQueue {
	node, ok := l.nodes[id]
	if !ok {
		node = &nodeQueue{id: id}
		l.nodes[id] = node
	}
	return node
}

// schedule appends a node that has work to l.ready. If fewer than l.threads workers are running, it
// starts a worker.
func (l *Launcher) schedule(node *nodeQueue) {
	if l.closed || node.busy || node.queued || node.timer != nil || !node.hasWork() {
		return
	}
	l.removeIdle(node)
	node.queued = true
	l.ready = append(l.ready, node)
	if l.workers < l.threads {
		l.workers++
		l.calls.Go(l.work)
	}
}

// work is the function of a worker goroutine. It serves nodes until no node has work.
func (l *Launcher) work() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.ready) > 0 {
		node := l.ready[0]
		l.ready = l.ready[1:]
		node.queued = false
		if !node.hasWork() {
			l.markIdle(node)
			continue
		}
		node.busy = true
		l.step(node)
		node.busy = false
		l.schedule(node)
		l.markIdle(node)
	}
	l.workers--
}

// markIdle marks a node without work as idle. If the node has no connection, markIdle removes its
// queue.
func (l *Launcher) markIdle(node *nodeQueue) {
	switch {
	case node.busy || node.queued || node.hasWork() || l.closed:
	case node.connection == nil:
		l.removeIdle(node)
		delete(l.nodes, node.id)
	case node.idle == nil:
		node.idle = l.idle.PushBack(node)
		node.idleSince = time.Now()
		if l.idle.Len() > maxIdle {
			l.closeIdle(l.idle.Front())
		}
		if l.sweep == nil {
			l.sweep = time.AfterFunc(idleTimeout, l.sweepIdle)
		}
	}
}

func (l *Launcher) removeIdle(node *nodeQueue) {
	if node.idle != nil {
		l.idle.Remove(node.idle)
		node.idle = nil
	}
}

// closeIdle closes the connection of an idle node and removes its queue.
func (l *Launcher) closeIdle(element *list.Element) {
	node := l.idle.Remove(element).(*nodeQueue)
	node.idle = nil
	l.disconnect(node)
	delete(l.nodes, node.id)
}

// sweepIdle closes the connections that were not used for idleTimeout.
func (l *Launcher) sweepIdle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.sweep = nil
	for front := l.idle.Front(); front != nil; front = l.idle.Front() {
		if wait := idleTimeout - time.Since(front.Value.(*nodeQueue).idleSince); wait > 0 {
			l.sweep = time.AfterFunc(wait, l.sweepIdle)
			return
		}
		l.closeIdle(front)
	}
}

// disconnect closes the connection to a node in the background.
func (l *Launcher) disconnect(node *nodeQueue) {
	manager := node.connection
	node.connection = nil
	if manager == nil || l.closed {
		return
	}
	l.calls.Go(func() {
		if err := manager.Close(); err != nil {
			l.logger.Debug("closing the connection to a NodeManager", "node", node.id, "error", err)
		}
	})
}

// connection returns the connection to a NodeManager. It opens a connection if there is none. It
// fails if the launcher has no token for the node.
func (l *Launcher) connection(node *nodeQueue) (NodeManager, error) {
	if node.connection == nil {
		token, ok := l.tokens[node.id]
		if !ok {
			return nil, fmt.Errorf("the ResourceManager gave no token for the NodeManager %s", node.id)
		}
		node.connection = l.connect(node.id, token.token)
		node.serial = token.serial
	}
	return node.connection, nil
}
