package allocator

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/launcher"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/yarntest"
)

// scriptedRM is a ResourceManager that answers heartbeats by a function of the test, and records
// the requests.
type scriptedRM struct {
	mu            sync.Mutex
	registrations int
	refusal       error // error of each registration; nil if registrations succeed
	heartbeats    []yarn.AllocateRequest
	times         []time.Time
	answer        func(n int, request yarn.AllocateRequest) (*yarn.AllocateResponse, error) // returns the answer to heartbeat number n, counted from 1
	max           yarn.Resource
}

func (r *scriptedRM) Register(context.Context, yarn.RegisterRequest) (*yarn.RegisterResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.registrations++
	if r.refusal != nil {
		return nil, r.refusal
	}
	if r.max.MemoryMB == 0 {
		r.max = yarn.Resource{MemoryMB: 8192, VCores: 8}
	}
	return &yarn.RegisterResponse{MaxResource: r.max, ChecksCores: true}, nil
}

func (r *scriptedRM) Allocate(_ context.Context, request yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heartbeats = append(r.heartbeats, request)
	r.times = append(r.times, time.Now())
	response, err := &yarn.AllocateResponse{}, error(nil)
	if r.answer != nil {
		if response, err = r.answer(len(r.heartbeats), request); response == nil && err == nil {
			response = &yarn.AllocateResponse{}
		}
	}
	if response != nil && response.ResponseID == 0 {
		response.ResponseID = request.ResponseID + 1
	}
	return response, err
}

// received returns the heartbeats since the last call of received.
func (r *scriptedRM) received() []yarn.AllocateRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	received := r.heartbeats
	r.heartbeats = nil
	return received
}

// answers sets the answer to the next heartbeat. The answers to later heartbeats are empty.
func (r *scriptedRM) answers(response *yarn.AllocateResponse) {
	r.mu.Lock()
	defer r.mu.Unlock()
	given := false
	r.answer = func(int, yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
		if given {
			return nil, nil
		}
		given = true
		return response, nil
	}
}

// scriptedNM is a NodeManager that starts all containers or, if err is set, none.
type scriptedNM struct {
	mu      sync.Mutex
	err     error
	batches [][]yarn.StartRequest
}

func (n *scriptedNM) StartContainers(_ context.Context, requests []yarn.StartRequest) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.batches = append(n.batches, requests)
	failed, started := map[yarn.ContainerID]error{}, []yarn.ContainerID(nil)
	for _, request := range requests {
		id := yarn.ContainerID{}
		_, _ = fmt.Sscan(string(request.ContainerToken.Identifier), &id.ID)
		if n.err != nil {
			failed[id] = n.err
		} else {
			started = append(started, id)
		}
	}
	return started, failed, nil
}

// calls returns the number of containers in each call.
func (n *scriptedNM) calls() []int {
	n.mu.Lock()
	defer n.mu.Unlock()
	var counts []int
	for _, batch := range n.batches {
		counts = append(counts, len(batch))
	}
	return counts
}

func (n *scriptedNM) StopContainers(context.Context, []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
	return nil, nil, n.err
}

func (n *scriptedNM) Statuses(context.Context, []yarn.ContainerID) ([]yarn.ContainerStatus, map[yarn.ContainerID]error, error) {
	return nil, nil, n.err
}

func (n *scriptedNM) SetToken(security.Token) {}
func (n *scriptedNM) Close() error            { return nil }

// fixture is an allocator with a scripted ResourceManager, a scripted NodeManager and a driver that
// records calls.
type fixture struct {
	*Allocator
	rm  *scriptedRM
	nm  *scriptedNM
	mu  sync.Mutex
	log []string // calls of the allocator to the driver
}

func (s *fixture) record(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *fixture) takeRecorded() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	said := strings.Join(s.log, "\n")
	s.log = nil
	return said
}

func newFixture(t *testing.T, rm *scriptedRM, settings map[string]string) *fixture {
	t.Helper()
	parsed, err := config.FromMap(settings)
	require.NoError(t, err)
	s := &fixture{rm: rm, nm: &scriptedNM{}}
	s.Allocator = New(Options{
		ResourceManager: rm,
		Connect:         func(yarn.NodeID, security.Token) launcher.NodeManager { return s.nm },
		LaunchContext:   func(launcher.Executor) yarn.ContainerLaunchContext { return yarn.ContainerLaunchContext{} },
		ExecutorLost: func(id string, loss driver.Loss) {
			s.record("lost %s %s", id, loss.Reason)
		},
		Decommission: func(ids []string, notice driver.DecommissionNotice) {
			s.record("decommission %v in %v: %s", ids, time.Until(notice.Deadline), notice.Reason)
		},
		Progress: func() float32 { return 0.5 },
		Settings: parsed, Hadoop: conf.FromMap(nil),
		Racks:  map[string]string{"a1": "/a", "b1": "/b"},
		Random: seeded(), Logger: slog.New(slog.DiscardHandler),
	})
	return s
}

// allocatorOn returns an allocator for an application on a simulated cluster. It sets options that
// are missing in o to defaults.
func allocatorOn(t *testing.T, cluster *yarntest.Cluster, app *yarntest.Application, properties map[string]string, o Options) *Allocator {
	t.Helper()
	settings, err := config.FromMap(properties)
	require.NoError(t, err)
	client := yarn.NewAMClient(cluster.SchedulerAddresses(), app.Options())
	t.Cleanup(func() { _ = client.Close() })
	o.ResourceManager, o.Registration = client, yarn.RegisterRequest{Host: "here", RPCPort: -1}
	o.Connect = func(node yarn.NodeID, token security.Token) launcher.NodeManager {
		return yarn.NewNodeClient(node, yarn.ClientOptions{Token: token, RetryFor: -1, Dial: cluster.Dial})
	}
	o.Progress = func() float32 { return 0.5 }
	o.Settings, o.Hadoop, o.Logger = settings, conf.FromMap(nil), slog.New(slog.DiscardHandler)
	o.Racks = map[string]string{}
	for _, node := range cluster.Nodes() {
		o.Racks[node.Host()] = node.Rack()
	}
	return New(o)
}

// runs calls do while the allocator runs. Then it ends the allocator and returns the error of Run.
func (s *fixture) runs(t *testing.T, do func()) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	synctest.Wait()
	do()
	synctest.Wait()
	cancel()
	return <-ended
}

func allocating(containers ...yarn.Container) *yarn.AllocateResponse {
	response := &yarn.AllocateResponse{Allocated: containers}
	for _, container := range containers {
		response.NMTokens = append(response.NMTokens, yarn.NMToken{Node: container.Node})
	}
	return response
}

func anywhereAsked(request yarn.AllocateRequest) int {
	for _, row := range request.Asks {
		if row.Name == anywhere {
			return int(row.Containers)
		}
	}
	return -1
}

// quietRM is a ResourceManager that always returns the same answer.
type quietRM struct{ response *yarn.AllocateResponse }

func (q quietRM) Register(context.Context, yarn.RegisterRequest) (*yarn.RegisterResponse, error) {
	return &yarn.RegisterResponse{MaxResource: yarn.Resource{MemoryMB: 8192, VCores: 8}, ChecksCores: true}, nil
}

func (q quietRM) Allocate(context.Context, yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
	return q.response, nil
}
