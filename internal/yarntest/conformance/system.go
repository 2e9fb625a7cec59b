package conformance

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// System is a cluster to test. It must have two nodes in two racks with at least 4 GiB and 4
// cores each, and allocate containers of up to 4096 MiB and 4 cores, in steps of 128 MiB.
// Containers run only the commands "exit N" and "sleep N".
type System struct {
	// Scheduler and Client are the addresses of the servers of ApplicationMasterProtocol and
	// ApplicationClientProtocol. User is the user who submits the applications.
	Scheduler, Client []string
	User              string
	// Dial opens connections to the cluster. nil means net.Dialer.DialContext.
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	Hosts []Host
	// Submit submits an application with an unmanaged ApplicationMaster.
	Submit func(ctx context.Context) (yarn.ApplicationID, error)
	// Kill kills an application.
	Kill func(ctx context.Context, id yarn.ApplicationID) error
	// RestartMaster restarts the ResourceManager, with recovery, and waits until the nodes have
	// registered again.
	RestartMaster func(ctx context.Context) error
	// StopNode kills a NodeManager, which the ResourceManager declares lost after some seconds.
	// StartNode starts the NodeManager again.
	StopNode, StartNode func(ctx context.Context, host string) error
}

// Host is a node of a System.
type Host struct{ Name, Rack string }

type Test struct {
	Name string
	Run  func(t *testing.T, s *System)
}

// Tests returns all tests. The last of them restart daemons.
func Tests() []Test {
	return []Test{
		{"calls before the registration", beforeRegistration},
		{"the report of an unmanaged application", report},
		{"response ids", responseIDs},
		{"invalid requests", impossibleRequests},
		{"containers anywhere", anywhere},
		{"containers on a host", onHost},
		{"containers in a rack", inRack},
		{"allocations lower the numbers", lowering},
		{"a row is replaced", replacing},
		{"the total bounds what is asked for by host", totalBounds},
		{"releases", releases},
		{"the blacklist", blacklist},
		{"a container's life", life},
		{"a container is stopped", stopping},
		{"starts that a node refuses", nodeRefusals},
		{"invalid tokens", wrongTokens},
		{"unregistering", unregistering},
		{"an application is killed", killed},
		{"the ResourceManager restarts", masterRestarts},
		{"a node is lost and registers again", nodeIsLost},
		{"a node is lost and back between two heartbeats", nodeIsReportedTwice},
	}
}

const testTimeout = 2 * time.Minute

// heartbeatInterval is the interval between heartbeats of an ApplicationMaster.
const heartbeatInterval = 100 * time.Millisecond

var (
	unit = yarn.Resource{MemoryMB: 256, VCores: 1}
	big  = yarn.Resource{MemoryMB: 512, VCores: 1}
)

// attempt is the ApplicationMaster of an application that a test has submitted.
type attempt struct {
	t      *testing.T
	s      *System
	ctx    context.Context
	app    yarn.ApplicationID
	token  security.Token
	client *yarn.AMClient
	last   int32
	tokens map[yarn.NodeID]security.Token
	// completed and updated collect the completed containers and the node reports in responses
	// to heartbeats. Tests clear them.
	completed []yarn.ContainerStatus
	updated   []yarn.NodeReport
}

// submit submits an application and returns its ApplicationMaster, which has an AMRMToken but
// has not registered.
func submit(t *testing.T, s *System) *attempt {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	id, err := s.Submit(ctx)
	require.NoError(t, err)
	a := &attempt{t: t, s: s, ctx: ctx, app: id, tokens: map[yarn.NodeID]security.Token{}}
	a.await("the application's token", func() bool {
		report := a.report()
		if report.AMRMToken != nil {
			a.token = *report.AMRMToken
		}
		return report.AMRMToken != nil
	})
	a.client = yarn.NewAMClient(s.Scheduler, a.options(a.token))
	t.Cleanup(func() {
		_ = s.Kill(context.WithoutCancel(ctx), id)
		_ = a.client.Close()
	})
	return a
}

// register submits an application, registers its ApplicationMaster, and returns it.
func register(t *testing.T, s *System) *attempt {
	t.Helper()
	a := submit(t, s)
	a.register()
	return a
}

func (a *attempt) options(token security.Token) yarn.ClientOptions {
	return yarn.ClientOptions{Token: token, Dial: a.s.Dial, RetryFor: 30 * time.Second}
}

func (a *attempt) report() *yarn.ApplicationReport {
	a.t.Helper()
	client := yarn.NewRMClient(a.s.Client, security.UserGroup{Effective: a.s.User}, a.options(security.Token{}))
	defer client.Close()
	report, err := client.ApplicationReport(a.ctx, a.app)
	require.NoError(a.t, err)
	return report
}

func (a *attempt) register() *yarn.RegisterResponse {
	a.t.Helper()
	response, err := a.client.Register(a.ctx, yarn.RegisterRequest{Host: "127.0.0.1", RPCPort: -1})
	require.NoError(a.t, err)
	a.last = 0
	return response
}

// await polls condition until it returns true. It fails the test after testTimeout.
func (a *attempt) await(what string, condition func() bool) {
	a.t.Helper()
	ticker := time.NewTicker(heartbeatInterval)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-a.ctx.Done():
			require.Fail(a.t, "timeout: "+what)
		}
	}
}

func (a *attempt) beat(request yarn.AllocateRequest) *yarn.AllocateResponse {
	a.t.Helper()
	request.ResponseID = a.last
	response, err := a.client.Allocate(a.ctx, request)
	require.NoError(a.t, err)
	a.record(response)
	return response
}

func (a *attempt) record(response *yarn.AllocateResponse) {
	a.last = response.ResponseID
	for _, token := range response.NMTokens {
		a.tokens[token.Node] = token.Token
	}
	a.completed = append(a.completed, response.Completed...)
	a.updated = append(a.updated, response.UpdatedNodes...)
}

// ask returns a request for n containers of a size at a location: a host, a rack or
// yarn.AnyHost.
func ask(name string, n int32, size yarn.Resource) yarn.ResourceRequest {
	return yarn.ResourceRequest{Priority: 1, Name: name, Resource: size, Containers: n, RelaxLocality: true}
}

// get sends the requests in asks, waits until at least n containers are allocated, and checks
// that no more than n are.
func (a *attempt) get(n int, asks ...yarn.ResourceRequest) []yarn.Container {
	a.t.Helper()
	var got []yarn.Container
	a.await("containers are allocated", func() bool {
		got = append(got, a.beat(yarn.AllocateRequest{Asks: asks}).Allocated...)
		asks = nil
		return len(got) >= n
	})
	require.Len(a.t, got, n)
	return got
}

// expectNone sends 25 heartbeats, during which every node sends several heartbeats too, and
// checks that no container is allocated.
func (a *attempt) expectNone() {
	a.t.Helper()
	for range 25 {
		require.Empty(a.t, a.beat(yarn.AllocateRequest{}).Allocated)
		a.pause()
	}
}

func (a *attempt) pause() {
	select {
	case <-time.After(heartbeatInterval):
	case <-a.ctx.Done():
	}
}

// node returns a client of the NodeManager of a container. The client is closed at the end of
// the test.
func (a *attempt) node(container yarn.Container) *yarn.NodeClient {
	client := yarn.NewNodeClient(container.Node, a.options(a.tokens[container.Node]))
	a.t.Cleanup(func() { _ = client.Close() })
	return client
}

func request(container yarn.Container, command string) yarn.StartRequest {
	return yarn.StartRequest{ContainerToken: container.Token, Launch: yarn.ContainerLaunchContext{Commands: []string{command}}}
}

func (a *attempt) start(container yarn.Container, command string) *yarn.NodeClient {
	a.t.Helper()
	node := a.node(container)
	started, failed, err := node.StartContainers(a.ctx, []yarn.StartRequest{request(container, command)})
	require.NoError(a.t, err)
	require.Empty(a.t, failed)
	require.Equal(a.t, []yarn.ContainerID{container.ID}, started)
	return node
}

// awaitEnd waits until the ResourceManager has reported a container as completed.
func (a *attempt) awaitEnd(id yarn.ContainerID) yarn.ContainerStatus {
	a.t.Helper()
	var found yarn.ContainerStatus
	a.await("the end of "+id.String(), func() bool {
		for _, status := range a.completed {
			if status.ID == id {
				found = status
				return true
			}
		}
		a.beat(yarn.AllocateRequest{})
		return false
	})
	require.Equal(a.t, yarn.ContainerComplete, found.State)
	return found
}

func (a *attempt) finish() {
	a.t.Helper()
	a.await("the application is unregistered", func() bool {
		done, err := a.client.Finish(a.ctx, yarn.FinishRequest{Status: yarn.FinalSucceeded})
		require.NoError(a.t, err)
		return done
	})
}
