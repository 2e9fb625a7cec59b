package am

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// launchTimeout bounds one call to a NodeManager to start containers.
const launchTimeout = 2 * time.Minute

// nodeManager is what the launcher needs of a NodeManager; *yarn.NodeClient is one.
type nodeManager interface {
	StartContainers(ctx context.Context, requests []yarn.StartRequest) ([]yarn.ContainerID, map[yarn.ContainerID]error, error)
	SetToken(token security.Token)
	Close() error
}

// launcher starts executors' containers: those of one node in one call, and
// several nodes at once. It keeps one connection to each NodeManager.
type launcher struct {
	connect func(node yarn.NodeID, token security.Token) nodeManager
	context func(executor *executor) yarn.ContainerLaunchContext
	slots   chan struct{} // as many as calls may be under way
	logger  *slog.Logger

	mu     sync.Mutex
	tokens map[yarn.NodeID]security.Token
	nodes  map[yarn.NodeID]nodeManager
	calls  sync.WaitGroup
}

func newLauncher(threads int, connect func(yarn.NodeID, security.Token) nodeManager,
	context func(*executor) yarn.ContainerLaunchContext, logger *slog.Logger) *launcher {
	return &launcher{
		connect: connect,
		context: context,
		slots:   make(chan struct{}, threads),
		logger:  logger,
		tokens:  map[yarn.NodeID]security.Token{},
		nodes:   map[yarn.NodeID]nodeManager{},
	}
}

// trust keeps the newest token of each node.
func (l *launcher) trust(tokens []yarn.NMToken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, token := range tokens {
		l.tokens[token.Node] = token.Token
		if node, ok := l.nodes[token.Node]; ok {
			node.SetToken(token.Token)
		}
	}
}

// launch starts the executors and reports each one's outcome: an error or nil.
// It returns at once; report is called from the launcher's goroutines.
func (l *launcher) launch(ctx context.Context, executors []*executor, report func(id yarn.ContainerID, err error)) {
	byNode := map[yarn.NodeID][]*executor{}
	for _, executor := range executors {
		byNode[executor.container.Node] = append(byNode[executor.container.Node], executor)
	}
	for node, batch := range byNode {
		l.calls.Go(func() {
			select {
			case l.slots <- struct{}{}:
				defer func() { <-l.slots }()
			case <-ctx.Done():
				return
			}
			outcomes := l.start(ctx, node, batch)
			for _, executor := range batch {
				report(executor.container.ID, outcomes[executor.container.ID])
			}
		})
	}
}

// start makes the call for one node.
func (l *launcher) start(ctx context.Context, node yarn.NodeID, batch []*executor) map[yarn.ContainerID]error {
	ctx, cancel := context.WithTimeout(ctx, launchTimeout)
	defer cancel()
	outcomes := make(map[yarn.ContainerID]error, len(batch))
	fail := func(err error) map[yarn.ContainerID]error {
		for _, executor := range batch {
			outcomes[executor.container.ID] = err
		}
		return outcomes
	}
	manager, err := l.node(node)
	if err != nil {
		return fail(err)
	}
	requests := make([]yarn.StartRequest, len(batch))
	for i, executor := range batch {
		requests[i] = yarn.StartRequest{ContainerToken: executor.container.Token, Launch: l.context(executor)}
		outcomes[executor.container.ID] = errors.New("the NodeManager did not say what became of it")
	}
	began := time.Now()
	started, failed, err := manager.StartContainers(ctx, requests)
	if err != nil {
		return fail(err)
	}
	l.logger.Debug("containers started", "node", node, "containers", len(started), "took", time.Since(began))
	for id, reason := range failed {
		outcomes[id] = reason
	}
	for _, id := range started {
		outcomes[id] = nil
	}
	return outcomes
}

// node is the connection to a NodeManager, made on first use.
func (l *launcher) node(id yarn.NodeID) (nodeManager, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if node, ok := l.nodes[id]; ok {
		return node, nil
	}
	token, ok := l.tokens[id]
	if !ok {
		return nil, fmt.Errorf("the ResourceManager gave no token for the NodeManager %s", id)
	}
	node := l.connect(id, token)
	l.nodes[id] = node
	return node, nil
}

// close waits for the calls under way, which end with the context they were
// given, and closes the connections.
func (l *launcher) close() error {
	l.calls.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	var problems []error
	for _, node := range l.nodes {
		problems = append(problems, node.Close())
	}
	return errors.Join(problems...)
}
