package yarntest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/internal/yarntest"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var small = yarn.Resource{MemoryMB: 1024, VCores: 1}

// anywhere returns a request for n containers on any host.
func anywhere(n int32) yarn.ResourceRequest {
	return yarn.ResourceRequest{Priority: 1, Name: yarn.AnyHost, Resource: small, Containers: n, RelaxLocality: true}
}

// master is the ApplicationMaster of a test's application.
type master struct {
	t       *testing.T
	cluster *yarntest.Cluster
	app     *yarntest.Application
	client  *yarn.AMClient
	last    int32
	tokens  map[yarn.NodeID]security.Token
}

func start(t *testing.T, options yarntest.Options) *yarntest.Cluster {
	t.Helper()
	c, err := yarntest.New(options)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func newMaster(t *testing.T, c *yarntest.Cluster, app *yarntest.Application) *master {
	t.Helper()
	m := &master{t: t, cluster: c, app: app, client: yarn.NewAMClient(c.SchedulerAddresses(), app.Options()), tokens: map[yarn.NodeID]security.Token{}}
	t.Cleanup(func() { _ = m.client.Close() })
	m.register()
	return m
}

func (m *master) register() {
	m.t.Helper()
	_, err := m.client.Register(m.t.Context(), yarn.RegisterRequest{Host: "here", RPCPort: -1})
	require.NoError(m.t, err)
	m.last = 0
}

// beat sends a heartbeat and returns the response.
func (m *master) beat(request yarn.AllocateRequest) *yarn.AllocateResponse {
	m.t.Helper()
	request.ResponseID = m.last
	response, err := m.client.Allocate(m.t.Context(), request)
	require.NoError(m.t, err)
	m.last = response.ResponseID
	for _, token := range response.NMTokens {
		m.tokens[token.Node] = token.Token
	}
	return response
}

// get sends the requests asks and waits until n containers are allocated.
func (m *master) get(n int, asks ...yarn.ResourceRequest) []yarn.Container {
	m.t.Helper()
	var got []yarn.Container
	for range 500 {
		got = append(got, m.beat(yarn.AllocateRequest{Asks: asks}).Allocated...)
		asks = nil
		if len(got) >= n {
			return got
		}
		time.Sleep(100 * time.Millisecond)
	}
	require.Fail(m.t, "containers did not come", "%d of %d", len(got), n)
	return nil
}

// start launches containers on their nodes.
func (m *master) start(containers ...yarn.Container) {
	m.t.Helper()
	for _, container := range containers {
		require.NoError(m.t, m.tryStart(container))
	}
}

func (m *master) tryStart(container yarn.Container) error {
	client := yarn.NewNodeClient(container.Node, yarn.ClientOptions{Token: m.tokens[container.Node], Dial: m.cluster.Dial})
	defer client.Close()
	_, failed, err := client.StartContainers(m.t.Context(), []yarn.StartRequest{{
		ContainerToken: container.Token, Launch: yarn.ContainerLaunchContext{Commands: []string{"sleep 1000"}},
	}})
	if err == nil {
		err = failed[container.ID]
	}
	return err
}

// completed sends heartbeats until n containers have been reported as completed.
func (m *master) completed(n int) []yarn.ContainerStatus {
	m.t.Helper()
	var got []yarn.ContainerStatus
	for range 500 {
		if got = append(got, m.beat(yarn.AllocateRequest{}).Completed...); len(got) >= n {
			return got
		}
		time.Sleep(100 * time.Millisecond)
	}
	require.Fail(m.t, "containers did not complete")
	return nil
}

func (m *master) await(condition func(yarntest.View) bool) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Hour)
	defer cancel()
	require.NoError(m.t, m.cluster.Await(ctx, condition))
}

func TestAnApplicationRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, yarntest.Options{})
		app := c.Submit(yarntest.Submission{})
		m := newMaster(t, c, app)
		containers := m.get(4, anywhere(4))
		m.start(containers...)
		m.await(func(v yarntest.View) bool { return v.Running(app.ID()) == 4 })
		ok, err := m.client.Finish(t.Context(), yarn.FinishRequest{Status: yarn.FinalSucceeded, Diagnostics: "done"})
		require.NoError(t, err)
		require.True(t, ok, "an unmanaged master need not wait")
		m.await(func(v yarntest.View) bool { return v.Processes(app.ID()) == 0 })
		c.Inspect(func(v yarntest.View) {
			status := v.Application(app.ID())
			require.Equal(t, yarn.ApplicationFinished, status.State)
			require.Equal(t, yarn.FinalSucceeded, status.Final)
			require.Equal(t, "done", status.Diagnostics)
			require.Empty(t, v.Violations())
		})
	})
}

func TestRESTFollowsAnApplication(t *testing.T) {
	for name, network := range map[string]func() yarntest.Network{"memory": yarntest.Memory, "tcp": yarntest.TCP} {
		t.Run(name, func(t *testing.T) {
			c := start(t, yarntest.Options{Network: network(), NodePages: true, NodeHeartbeat: 20 * time.Millisecond})
			rest, err := yarnrest.New(yarnrest.Options{Addresses: c.WebAddresses(), User: "bob", HTTP: c.HTTPClient()})
			require.NoError(t, err)
			fresh, err := rest.NewApplication(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 8192, fresh.MaximumAllocation.MemoryMB)
			require.NoError(t, rest.SubmitApplication(t.Context(), &yarnrest.SubmissionContext{ID: fresh.ID, Name: "n", UnmanagedAM: true, Queue: "default"}))
			id, err := yarn.ParseApplicationID(fresh.ID)
			require.NoError(t, err)

			reports := yarn.NewRMClient(c.ClientAddresses(), security.UserGroup{Effective: "bob"}, yarn.ClientOptions{Dial: c.Dial})
			defer reports.Close()
			report, err := reports.ApplicationReport(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, yarn.ApplicationAccepted, report.State)
			require.NotNil(t, report.AMRMToken)
			app, ok := c.Application(id)
			require.True(t, ok)
			require.Equal(t, app.AMRMToken(), *report.AMRMToken)

			m := newMaster(t, c, app)
			containers := m.get(1, anywhere(1))
			m.start(containers...)
			m.await(func(v yarntest.View) bool { return v.Running(id) == 1 })
			report, err = reports.ApplicationReport(t.Context(), id)
			require.NoError(t, err)
			require.Nil(t, report.AMRMToken, "the master has registered")
			require.Equal(t, "here", report.Host)

			state, err := rest.State(t.Context(), fresh.ID)
			require.NoError(t, err)
			require.Equal(t, yarnrest.StateRunning, state)
			attempts, err := rest.Attempts(t.Context(), fresh.ID)
			require.NoError(t, err)
			require.Len(t, attempts, 1)
			listed, err := rest.Containers(t.Context(), fresh.ID, attempts[0].ID)
			require.NoError(t, err)
			require.Len(t, listed, 1)
			require.Equal(t, containers[0].ID.String(), listed[0].ID)
			node, err := rest.NodeManager(listed[0].NodeHTTPAddress)
			require.NoError(t, err)
			page, err := node.Container(t.Context(), listed[0].ID)
			require.NoError(t, err)
			require.Equal(t, "RUNNING", page.State)

			nodes, err := rest.Nodes(t.Context(), "RUNNING")
			require.NoError(t, err)
			require.Len(t, nodes, 2)
			scheduler, err := rest.Scheduler(t.Context())
			require.NoError(t, err)
			queue, ok := scheduler.Find("default")
			require.True(t, ok)
			require.Equal(t, "root.default", queue.Path)
			metrics, err := rest.Metrics(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, metrics.ContainersAllocated)

			require.NoError(t, rest.Kill(t.Context(), fresh.ID, "enough"))
			known, err := rest.Application(t.Context(), fresh.ID)
			require.NoError(t, err)
			require.Equal(t, yarnrest.StateKilled, known.State)
			require.Contains(t, known.Diagnostics, "enough")
			_, err = m.client.Allocate(t.Context(), yarn.AllocateRequest{ResponseID: m.last})
			require.ErrorIs(t, err, yarn.ErrAttemptNotFound)
			_, err = rest.Application(t.Context(), "application_1_0001")
			require.ErrorIs(t, err, yarnrest.ErrNotFound)
		})
	}
}

func TestThousandsOfNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const containers = 10000
		c := start(t, yarntest.Options{Nodes: yarntest.Nodes(2000, 40, yarn.Resource{MemoryMB: 64 << 10, VCores: 32})})
		app := c.Submit(yarntest.Submission{})
		m := newMaster(t, c, app)
		began := time.Now()
		got := m.get(containers, anywhere(containers))
		require.Len(t, got, containers)
		require.Less(t, time.Since(began), 7*time.Second, "a node gets one a heartbeat")
	})
}
