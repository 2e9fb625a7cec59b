package am

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// scriptedRM answers heartbeats as a test says, and keeps what it was told.
type scriptedRM struct {
	mu         sync.Mutex
	registered int
	heartbeats []yarn.AllocateRequest
	answer     func(n int, request yarn.AllocateRequest) (*yarn.AllocateResponse, error)
	max        yarn.Resource
}

func (r *scriptedRM) Register(context.Context, yarn.RegisterRequest) (*yarn.RegisterResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.registered++
	return &yarn.RegisterResponse{MaxResource: r.max, ChecksCores: true}, nil
}

func (r *scriptedRM) Allocate(_ context.Context, request yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heartbeats = append(r.heartbeats, request)
	return r.answer(len(r.heartbeats), request)
}

func (r *scriptedRM) Finish(context.Context, yarn.FinishRequest) (bool, error) { return true, nil }

// scriptedNM starts every container, or none.
type scriptedNM struct {
	err     error
	started chan []yarn.StartRequest
}

func (n *scriptedNM) StartContainers(_ context.Context, requests []yarn.StartRequest) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
	n.started <- requests
	return nil, nil, n.err
}
func (n *scriptedNM) SetToken(security.Token) {}
func (n *scriptedNM) Close() error            { return nil }

type losses chan string

func (l losses) lost(id string, loss driver.Loss) { l <- id + " " + loss.Text }

func newTestAllocator(t *testing.T, rm *scriptedRM, nm *scriptedNM, lost losses) *allocator {
	t.Helper()
	if rm.max.MemoryMB == 0 {
		rm.max = yarn.Resource{MemoryMB: 8192, VCores: 8}
	}
	logger := slog.New(slog.DiscardHandler)
	return &allocator{
		rm:    rm,
		fleet: twoNodes(2),
		size:  yarn.Resource{MemoryMB: 1024, VCores: 1},
		launcher: newLauncher(2, func(yarn.NodeID, security.Token) nodeManager { return nm },
			func(*executor) yarn.ContainerLaunchContext { return yarn.ContainerLaunchContext{} }, logger),
		diary:    openDiary(t.TempDir(), logger),
		lost:     lost.lost,
		progress: func() float32 { return 0.5 },
		initial:  time.Millisecond,
		idle:     5 * time.Millisecond,
		logger:   logger,
		wake:     make(chan struct{}, 1),

		registered: make(chan struct{}),
	}
}

// runUntil runs the allocator until the condition has been met, and returns
// what run returned.
func runUntil(t *testing.T, a *allocator, met <-chan struct{}) error {
	t.Helper()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- a.run(ctx) }()
	select {
	case <-met:
		cancel()
		return <-ended
	case err := <-ended:
		return err
	}
}

func TestContainersAreLaunchedByNode(t *testing.T) {
	met := make(chan struct{})
	rm := &scriptedRM{answer: func(n int, _ yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
		response := &yarn.AllocateResponse{ResponseID: int32(n)}
		if n == 2 {
			response.Allocated = []yarn.Container{containerOn("a1", 1), containerOn("a1", 2)}
			response.NMTokens = []yarn.NMToken{{Node: yarn.NodeID{Host: "a1", Port: 1}}}
		}
		return response, nil
	}}
	nm := &scriptedNM{started: make(chan []yarn.StartRequest, 9), err: errors.New("disk is full")}
	lost := make(losses, 9)
	go func() {
		first := <-nm.started
		if len(first) == 2 {
			<-lost
			<-lost
			close(met)
		}
	}()
	require.NoError(t, runUntil(t, newTestAllocator(t, rm, nm, lost), met))
	require.Equal(t, 1, rm.registered)
	require.Zero(t, rm.heartbeats[0].ResponseID)
	require.Equal(t, int32(1), rm.heartbeats[1].ResponseID, "each heartbeat carries the last answer's id")
	require.InDelta(t, 0.5, rm.heartbeats[0].Progress, 0)
	require.True(t, slices.ContainsFunc(rm.heartbeats[0].Asks, func(r yarn.ResourceRequest) bool {
		return r.Name == yarn.AnyHost && r.Containers == 2 && r.Resource.MemoryMB == 1024
	}))
}

func TestARestartedResourceManagerIsToldEverythingAgain(t *testing.T) {
	met := make(chan struct{})
	rm := &scriptedRM{}
	rm.answer = func(n int, request yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
		if n == 3 {
			return nil, yarn.ErrNotRegistered
		}
		if n == 4 {
			defer close(met)
		}
		return &yarn.AllocateResponse{ResponseID: int32(n)}, nil
	}
	a := newTestAllocator(t, rm, &scriptedNM{}, make(losses, 9))
	require.NoError(t, runUntil(t, a, met))
	require.Equal(t, 2, rm.registered)
	require.Zero(t, rm.heartbeats[3].ResponseID, "a new registration counts from 0")
	require.Equal(t, rm.heartbeats[0].Asks, rm.heartbeats[3].Asks, "all is asked for again")
	require.Empty(t, rm.heartbeats[1].Asks)
}

func TestTheAllocatorEndsWithTheReason(t *testing.T) {
	ended := func(n int, _ yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
		id := int64(n)
		response := &yarn.AllocateResponse{ResponseID: int32(n), NMTokens: []yarn.NMToken{{Node: yarn.NodeID{Host: "a1", Port: 1}}}}
		response.Allocated = []yarn.Container{containerOn("a1", id)}
		response.Completed = completed(id-1, 1, "the program broke")
		return response, nil
	}
	tests := []struct {
		name string
		rm   *scriptedRM
		want string
	}{
		{"executors fail again and again", &scriptedRM{answer: ended}, "executor.maxNumFailures is 3"},
		{"the attempt is not known", &scriptedRM{answer: func(int, yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
			return nil, yarn.ErrAttemptNotFound
		}}, "ApplicationAttemptNotFoundException"},
		{"executors are too large", &scriptedRM{max: yarn.Resource{MemoryMB: 512, VCores: 8}}, "512 MB"},
		{"told to end", &scriptedRM{answer: func(int, yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
			return &yarn.AllocateResponse{Command: yarn.Shutdown}, nil
		}}, "told this ApplicationMaster to end"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := newTestAllocator(t, test.rm, &scriptedNM{started: make(chan []yarn.StartRequest, 99)}, make(losses, 99))
			require.ErrorContains(t, runUntil(t, a, nil), test.want)
		})
	}
}

func TestTheDriversWordIsHeeded(t *testing.T) {
	met := make(chan struct{})
	rm := &scriptedRM{}
	rm.answer = func(n int, request yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
		if slices.ContainsFunc(request.Asks, func(r yarn.ResourceRequest) bool { return r.Name == yarn.AnyHost && r.Containers == 5 }) {
			close(met)
		}
		return &yarn.AllocateResponse{ResponseID: int32(n)}, nil
	}
	a := newTestAllocator(t, rm, &scriptedNM{}, make(losses, 9))
	a.RequestExecutors(request(driver.Demand{Total: 4}))
	a.RequestExecutors(request(driver.Demand{Total: 5}))
	require.NoError(t, runUntil(t, a, met))
}

func TestPaceIsFastWhileContainersAreMissing(t *testing.T) {
	p := pace{initial: 50 * time.Millisecond, idle: 3 * time.Second}
	require.Equal(t, 50*time.Millisecond, p.next(true))
	require.Equal(t, 3*time.Second, p.next(false))
	p.eagerUntil = time.Now().Add(-time.Second)
	require.Equal(t, 100*time.Millisecond, p.next(true), "then it slows down")
	for range 10 {
		p.next(true)
	}
	require.Equal(t, pendingInterval, p.next(true))
	p.change()
	require.Equal(t, 50*time.Millisecond, p.next(true))
}
