package yarntest_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/ipctest"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/yarntest"
)

// inBubble runs a test in a synctest bubble, with four running containers on two nodes.
func inBubble(t *testing.T, options yarntest.Options, test func(t *testing.T, c *yarntest.Cluster, m *master, containers []yarn.Container)) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, options)
		m := newMaster(t, c, c.Submit(yarntest.Submission{}))
		containers := m.get(4, anywhere(4))
		m.start(containers...)
		m.await(func(v yarntest.View) bool { return v.Running(m.app.ID()) == 4 })
		test(t, c, m, containers)
	})
}

func on(containers []yarn.Container, host string) []yarn.Container {
	var there []yarn.Container
	for _, container := range containers {
		if container.Node.Host == host {
			there = append(there, container)
		}
	}
	return there
}

func TestCallsFail(t *testing.T) {
	for name, effect := range map[string]ipctest.Fault{
		"lost":       {Lose: true},
		"late":       {After: 3 * time.Minute},
		"twice":      {Duplicate: true},
		"broken":     {Break: true},
		"not served": {Refuse: true},
		"not ready":  {Exception: &ipctest.Exception{Class: "org.apache.hadoop.ipc.RetriableException", Text: "later"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, yarntest.Options{}, func(t *testing.T, c *yarntest.Cluster, m *master, _ []yarn.Container) {
				c.Inject(yarntest.Fault{Host: "rm", Method: "allocate", Times: 1, Effect: effect})
				require.Len(t, m.get(2, anywhere(2)), 2, "the heartbeat is sent again")
				next := m.last + 1
				require.Equal(t, next, m.beat(yarn.AllocateRequest{}).ResponseID)
			})
		})
	}
}

func TestFaultsEnd(t *testing.T) {
	inBubble(t, yarntest.Options{Seed: 4}, func(t *testing.T, c *yarntest.Cluster, m *master, _ []yarn.Container) {
		end := c.Inject(yarntest.Fault{Method: "allocate", Chance: 0.5, Effect: ipctest.Fault{Exception: &ipctest.Exception{Class: "org.example.Bad", Text: "bad"}}})
		failed := 0
		for range 100 {
			response, err := m.client.Allocate(t.Context(), yarn.AllocateRequest{ResponseID: m.last})
			if err != nil {
				failed++
				continue
			}
			m.last = response.ResponseID
		}
		require.Greater(t, failed, 25)
		require.Less(t, failed, 75)
		end()
		m.beat(yarn.AllocateRequest{})
	})
}

func TestFailover(t *testing.T) {
	inBubble(t, yarntest.Options{Masters: 2}, func(t *testing.T, c *yarntest.Cluster, m *master, containers []yarn.Container) {
		require.NoError(t, c.Failover(5*time.Second))
		_, err := m.client.Allocate(t.Context(), yarn.AllocateRequest{ResponseID: m.last})
		require.ErrorIs(t, err, yarn.ErrNotRegistered)
		m.register()
		m.await(func(v yarntest.View) bool { return v.Running(m.app.ID()) == 4 })
		fresh := m.get(1, anywhere(1))
		require.EqualValues(t, 1, fresh[0].ID.Epoch())
		m.start(fresh...)
		m.beat(yarn.AllocateRequest{Releases: []yarn.ContainerID{containers[0].ID}})
		require.Equal(t, yarn.ExitAborted, m.completed(1)[0].ExitStatus)
	})
}

func TestNodeFaults(t *testing.T) {
	host := "node-0001"
	tests := map[string]struct {
		happen func(*yarntest.Node)
		states []yarn.NodeState // states in node reports, in the order of the reports
		lost   bool             // whether the containers on the node are lost
	}{
		"lost":            {(*yarntest.Node).Lose, []yarn.NodeState{yarn.NodeLost}, true},
		"cut off":         {(*yarntest.Node).Disconnect, []yarn.NodeState{yarn.NodeLost}, true},
		"cut off briefly": {func(n *yarntest.Node) { n.Disconnect(); time.Sleep(time.Minute); _ = n.Reconnect() }, nil, false},
		"restarted":       {func(n *yarntest.Node) { n.Restart(5*time.Second, true) }, nil, false},
		"restarted empty": {func(n *yarntest.Node) { n.Restart(5*time.Second, false) }, nil, true},
		"unhealthy":       {func(n *yarntest.Node) { n.Unhealthy("disk") }, []yarn.NodeState{yarn.NodeUnhealthy}, true},
		"healthy again": {func(n *yarntest.Node) { n.Unhealthy("disk"); n.Healthy() },
			[]yarn.NodeState{yarn.NodeRunning}, true}, // a node report contains only the latest state
		"decommissioned": {func(n *yarntest.Node) { n.Decommission(time.Minute) },
			[]yarn.NodeState{yarn.NodeDecommissioning, yarn.NodeDecommissioned}, true},
		"decommissioned and back": {func(n *yarntest.Node) { n.Decommission(time.Minute); n.Recommission() },
			[]yarn.NodeState{yarn.NodeRunning}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, yarntest.Options{}, func(t *testing.T, c *yarntest.Cluster, m *master, containers []yarn.Container) {
				there := on(containers, host)
				test.happen(c.Node(host))
				var states []yarn.NodeState
				ended := 0
				for range 20 {
					response := m.beat(yarn.AllocateRequest{})
					for _, report := range response.UpdatedNodes {
						states = append(states, report.State)
					}
					ended += len(response.Completed)
					time.Sleep(time.Minute)
				}
				require.Equal(t, test.states, states)
				if test.lost {
					require.Equal(t, len(there), ended)
				} else {
					require.Zero(t, ended)
				}
				// On an unreachable node, containers that the ResourceManager considers lost
				// continue to run until the node is reachable again. Then they are killed.
				require.NoError(t, c.Node(host).Reconnect())
				time.Sleep(time.Minute)
				c.Inspect(func(v yarntest.View) { require.Equal(t, 4-ended, v.Processes(m.app.ID()), "no process is left behind") })
			})
		})
	}
}

// TestANodeIsReportedTwiceInOneAnswer loses and restores a node between two heartbeats. The
// response to the second heartbeat contains both states, in either order.
func TestANodeIsReportedTwiceInOneAnswer(t *testing.T) {
	orders := map[string]bool{}
	for seed := range uint64(20) {
		inBubble(t, yarntest.Options{Seed: seed}, func(t *testing.T, c *yarntest.Cluster, m *master, _ []yarn.Container) {
			c.Node("node-0001").Lose()
			require.NoError(t, c.Node("node-0001").Reconnect())
			time.Sleep(2 * time.Second)
			var states []yarn.NodeState
			for _, report := range m.beat(yarn.AllocateRequest{}).UpdatedNodes {
				require.Equal(t, c.Node("node-0001").ID(), report.ID)
				states = append(states, report.State)
			}
			require.ElementsMatch(t, []yarn.NodeState{yarn.NodeLost, yarn.NodeRunning}, states)
			orders[fmt.Sprint(states)] = true
		})
	}
	require.Len(t, orders, 2)
}

func TestTokensRollOver(t *testing.T) {
	inBubble(t, yarntest.Options{}, func(t *testing.T, c *yarntest.Cluster, m *master, _ []yarn.Container) {
		c.RollMasterKey(time.Minute)
		m.beat(yarn.AllocateRequest{})
		m.beat(yarn.AllocateRequest{}) // the existing connection continues to work
		time.Sleep(2 * time.Minute)    // afterwards, the connection has been closed, and the old key has expired
		m.beat(yarn.AllocateRequest{})

		clear(m.tokens)
		c.RollNodeKey(time.Minute)
		fresh := m.get(1, anywhere(1))
		require.Len(t, m.tokens, 1)
		m.start(fresh...)
	})
}

func TestPreemption(t *testing.T) {
	inBubble(t, yarntest.Options{}, func(t *testing.T, c *yarntest.Cluster, m *master, containers []yarn.Container) {
		m.app.Preempt(true, 20*time.Second, containers[0].ID)
		m.app.Preempt(false, 10*time.Second, containers[1].ID)
		notice := m.beat(yarn.AllocateRequest{}).Preemption
		require.Equal(t, []yarn.ContainerID{containers[0].ID}, notice.Strict)
		require.Equal(t, []yarn.ContainerID{containers[1].ID}, notice.Containers)
		require.NotEmpty(t, notice.Resources)
		began := time.Now()
		for _, status := range m.completed(2) {
			require.Equal(t, yarn.ExitPreempted, status.ExitStatus)
		}
		require.GreaterOrEqual(t, time.Since(began), 19*time.Second)

		m.app.Preempt(false, 10*time.Second, containers[2].ID)
		m.beat(yarn.AllocateRequest{Releases: []yarn.ContainerID{containers[3].ID}})
		time.Sleep(time.Minute)
		c.Inspect(func(v yarntest.View) { require.Equal(t, 1, v.LiveCount(m.app.ID()), "another was released instead") })
	})
}

func TestQueuesShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, yarntest.Options{
			Queues:             []yarntest.QueueSpec{{Name: "a", Capacity: 50}, {Name: "b", Capacity: 50}},
			PreemptionInterval: time.Second, PreemptionWait: 5 * time.Second,
		})
		greedy := newMaster(t, c, c.Submit(yarntest.Submission{Queue: "a"}))
		all := greedy.get(16, anywhere(16))
		greedy.start(all...)
		modest := newMaster(t, c, c.Submit(yarntest.Submission{Queue: "b"}))
		modest.beat(yarn.AllocateRequest{Asks: []yarn.ResourceRequest{anywhere(8)}})
		for _, status := range greedy.completed(8) {
			require.Equal(t, yarn.ExitPreempted, status.ExitStatus)
		}
		modest.start(modest.get(8)...)
		c.Inspect(func(v yarntest.View) { require.Equal(t, 8, v.LiveCount(greedy.app.ID())) })
	})
}

func TestContainersThatAreNotStartedExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, yarntest.Options{})
		m := newMaster(t, c, c.Submit(yarntest.Submission{}))
		late := m.get(1, anywhere(1))
		for range 9 {
			time.Sleep(time.Minute)
			m.beat(yarn.AllocateRequest{})
		}
		time.Sleep(time.Minute + time.Second)
		require.ErrorContains(t, m.tryStart(late[0]), "expired")
		status := m.completed(1)[0]
		require.Equal(t, yarn.ExitAborted, status.ExitStatus)
		require.Contains(t, status.Diagnostics, "unused")
	})
}

func TestASilentApplicationMasterExpires(t *testing.T) {
	inBubble(t, yarntest.Options{}, func(t *testing.T, c *yarntest.Cluster, m *master, _ []yarn.Container) {
		m.await(func(v yarntest.View) bool { return v.Application(m.app.ID()).State == yarn.ApplicationFailed })
		m.await(func(v yarntest.View) bool { return v.Processes(m.app.ID()) == 0 })
		_, err := m.client.Allocate(t.Context(), yarn.AllocateRequest{ResponseID: m.last})
		require.ErrorIs(t, err, yarn.ErrInvalidToken)
	})
}

func TestManagedMastersHaveAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, yarntest.Options{})
		app := c.Submit(yarntest.Submission{Managed: true})
		launched := func(attempt int) func(yarntest.View) bool {
			return func(v yarntest.View) bool {
				status := v.Application(app.ID())
				return status.Attempts == attempt && status.Launched
			}
		}
		require.NoError(t, c.Await(t.Context(), launched(1)))
		m := newMaster(t, c, app)
		containers := m.get(2, anywhere(2))
		require.EqualValues(t, 2, containers[0].ID.Sequence(), "the first is the master's own")
		m.start(containers...)
		app.Fail("the master crashed")
		require.NoError(t, c.Await(t.Context(), launched(2)))
		m.await(func(v yarntest.View) bool { return v.Processes(app.ID()) == 0 })
		second := newMaster(t, c, app)
		require.Contains(t, second.get(1, anywhere(1))[0].ID.String(), "_02_")
		done, err := second.client.Finish(t.Context(), yarn.FinishRequest{Status: yarn.FinalSucceeded})
		require.NoError(t, err)
		require.False(t, done, "the end is still to be stored")
		time.Sleep(100 * time.Millisecond)
		done, err = second.client.Finish(t.Context(), yarn.FinishRequest{Status: yarn.FinalSucceeded})
		require.NoError(t, err)
		require.True(t, done)
		m.await(func(v yarntest.View) bool { return v.Application(app.ID()).State == yarn.ApplicationFinished })
	})
}

func TestFailStartsAndSurplus(t *testing.T) {
	inBubble(t, yarntest.Options{Process: func(k yarntest.Container) yarntest.Process {
		return yarntest.Process{Localizing: time.Second, Never: k.Host == "node-none"}
	}}, func(t *testing.T, c *yarntest.Cluster, m *master, _ []yarn.Container) {
		m.app.Surplus(2, small, 1)
		extra := m.beat(yarn.AllocateRequest{}).Allocated
		require.Len(t, extra, 2, "not asked for")
		c.Node(extra[0].Node.Host).FailStarts("no disk")
		require.ErrorContains(t, m.tryStart(extra[0]), "no disk")
		m.beat(yarn.AllocateRequest{BlacklistAdd: []string{extra[1].Node.Host}})
		c.Node(extra[0].Node.Host).FailStarts("")
		m.start(extra[1])
		c.Inspect(func(v yarntest.View) {
			require.Len(t, v.Violations(), 1)
			require.Equal(t, []string{extra[1].Node.Host}, v.Blacklist(m.app.ID()))
			require.Len(t, v.Containers(m.app.ID()), 6)
		})
	})
}

func TestAwaitEndsWithTheCluster(t *testing.T) {
	c, err := yarntest.New(yarntest.Options{})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- c.Await(t.Context(), func(yarntest.View) bool { return false }) }()
	c.Close()
	require.ErrorContains(t, errors.Join(<-ended), "closed")
}
