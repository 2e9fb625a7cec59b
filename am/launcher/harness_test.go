package launcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// containerOn returns a container on a host.
func containerOn(host string, id int64) yarn.Container {
	return yarn.Container{
		ID: yarn.ContainerID{ID: id}, Node: yarn.NodeID{Host: host, Port: 1},
		Token: security.Token{Identifier: []byte(strconv.FormatInt(id, 10))},
	}
}

// nodes are the fake NodeManagers of a test. The function start determines their answers.
type nodes struct {
	mu        sync.Mutex
	start     func(ctx context.Context, node string, ids []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error)
	statuses  func(node string, ids []yarn.ContainerID) ([]yarn.ContainerStatus, map[yarn.ContainerID]error, error)
	calls     []string // calls such as "start a1 [1 2]", in the order in which they started
	connected []string // connections such as "a1 token", with the node and its token
	open      map[string]int
	ongoing   map[string]int
	most      int // maximum number of simultaneous calls
}

// call is one connection to a fake NodeManager.
type call struct {
	nodes  *nodes
	node   string
	closed atomic.Bool
}

// numbers returns the number of each container, which is the last part of its id.
func numbers(ids []yarn.ContainerID) []int64 {
	numbers := make([]int64, len(ids))
	for i, id := range ids {
		numbers[i] = id.ID
	}
	return numbers
}

func (c *call) begin(what string, ids []yarn.ContainerID) func() {
	c.nodes.mu.Lock()
	defer c.nodes.mu.Unlock()
	c.nodes.calls = append(c.nodes.calls, fmt.Sprintf("%s %s %v", what, c.node, numbers(ids)))
	c.nodes.ongoing[c.node]++
	total := 0
	for _, n := range c.nodes.ongoing {
		total += n
	}
	c.nodes.most = max(c.nodes.most, total)
	if c.nodes.ongoing[c.node] > 1 || c.closed.Load() {
		c.nodes.calls = append(c.nodes.calls, "two calls at once, or one on a closed connection: "+c.node)
	}
	return func() {
		c.nodes.mu.Lock()
		defer c.nodes.mu.Unlock()
		c.nodes.ongoing[c.node]--
	}
}

func (c *call) StartContainers(ctx context.Context, requests []yarn.StartRequest) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
	ids := make([]yarn.ContainerID, len(requests))
	for i, request := range requests {
		number, err := strconv.ParseInt(string(request.ContainerToken.Identifier), 10, 64)
		if err != nil {
			return nil, nil, err
		}
		ids[i] = containerOn(c.node, number).ID
	}
	defer c.begin("start", ids)()
	if c.nodes.start == nil {
		return ids, nil, nil
	}
	return c.nodes.start(ctx, c.node, ids)
}

func (c *call) StopContainers(_ context.Context, ids []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
	defer c.begin("stop", ids)()
	return ids, nil, nil
}

func (c *call) Statuses(_ context.Context, ids []yarn.ContainerID) ([]yarn.ContainerStatus, map[yarn.ContainerID]error, error) {
	defer c.begin("ask", ids)()
	return c.nodes.statuses(c.node, ids)
}

func (c *call) SetToken(security.Token) {}

func (c *call) Close() error {
	c.nodes.mu.Lock()
	defer c.nodes.mu.Unlock()
	if c.closed.Swap(true) {
		return errors.New("closed twice")
	}
	c.nodes.open[c.node]--
	return nil
}

func (n *nodes) connect(id yarn.NodeID, token security.Token) NodeManager {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.connected = append(n.connected, id.Host+" "+string(token.Identifier))
	n.open[id.Host]++
	return &call{nodes: n, node: id.Host}
}

func (n *nodes) said() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.calls)
}

// launching is a launcher in a test, with the results that it has reported.
type launching struct {
	*Launcher
	nodes   *nodes
	mu      sync.Mutex
	reports map[int64][]error
}

func newLaunching(threads int) *launching {
	l := &launching{nodes: &nodes{open: map[string]int{}, ongoing: map[string]int{}}, reports: map[int64][]error{}}
	l.Launcher = New(threads, l.nodes.connect, func(Executor) yarn.ContainerLaunchContext { return yarn.ContainerLaunchContext{} },
		slog.New(slog.DiscardHandler))
	return l
}

func (l *launching) setToken(host, token string) {
	l.SetTokens([]yarn.NMToken{{Node: yarn.NodeID{Host: host, Port: 1}, Token: security.Token{Identifier: []byte(token)}}})
}

// begin launches containers on a host. It first sets the host's token.
func (l *launching) begin(ctx context.Context, host string, ids ...int64) {
	executors := make([]Executor, len(ids))
	for i, id := range ids {
		executors[i] = Executor{ID: fmt.Sprint(id), Container: containerOn(host, id)}
	}
	l.Launch(ctx, executors, func(id yarn.ContainerID, err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.reports[id.ID] = append(l.reports[id.ID], err)
	})
}

func (l *launching) outcomes() map[int64][]error {
	l.mu.Lock()
	defer l.mu.Unlock()
	copied := map[int64][]error{}
	for id, errs := range l.reports {
		copied[id] = slices.Clone(errs)
	}
	return copied
}

// inBubble runs a test with a fake clock, and checks that the launcher leaves no goroutines.
func inBubble(t *testing.T, threads int, test func(t *testing.T, l *launching)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := newLaunching(threads)
		test(t, l)
		require.NoError(t, l.Close())
		for host, open := range l.nodes.open {
			require.Zero(t, open, "connections to %s", host)
		}
	})
}

var ok = []error{nil}

func host(name string) yarn.NodeID { return yarn.NodeID{Host: name, Port: 1} }

func refusedConnection() error {
	return &ipc.CallError{Err: &ipc.ConnectionError{Err: errors.New("connection refused")}}
}

func lostAnswer() error {
	return &ipc.CallError{Err: &ipc.ConnectionError{Sent: true, Err: errors.New("connection reset")}}
}
