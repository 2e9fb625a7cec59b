package allocator

import (
	"context"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/am/launcher"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/yarntest"
)

// mostRounds is the maximum number of rounds in ten minutes in which replacements for failed
// containers are requested. Six rounds and a quiet period take 75 s.
const mostRounds = 6 + 10*60*6/75

func TestABackoffBoundsTheRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b backoff
		// Containers are allocated and fail at these intervals, repeatedly.
		times := rapid.SliceOfN(rapid.Int64Range(0, int64(2*quietPeriod)), 1, 5).Draw(t, "times")
		now, rounds := begin, 0
		for now.Before(later(10 * time.Minute)) {
			now = now.Add(time.Duration(1 + times[rounds%len(times)]))
			b.failed("x", now)
			b.failed("with the first", now)
			require.Equal(t, "x", b.cause)
			rounds++
			if b.delayedContainers > 0 {
				require.False(t, b.expire(b.roundEnd.Add(-1)))
				now = b.roundEnd
				require.True(t, b.expire(now))
			}
		}
		require.LessOrEqual(t, rounds, mostRounds)
	})
}

func TestABackoffIsResetAfterAQuietPeriod(t *testing.T) {
	var b backoff
	at := begin
	for _, pause := range []time.Duration{0, 1, 2, 4, 8, 16, 30, 30} {
		at = at.Add(time.Second)
		require.Equal(t, pause > 0, b.failed("x", at))
		require.Equal(t, pause*time.Second, b.pause)
		at = b.roundEnd
		b.expire(at)
	}
	require.False(t, b.failed("x", at.Add(quietPeriod+1)))
	require.Zero(t, b.delayedContainers)
}

func TestBackoffDelaysOnlyReplacements(t *testing.T) {
	f := twoNodes(2)
	f.settled()
	for id := range int64(2) {
		f.give(containerOn("a1", id+1))
		f.completed(completion(id+1, 1, "broken"), later(time.Duration(id)))
	}
	require.Contains(t, f.settled(), ask{anywhere, 1})
	require.Contains(t, f.status().Notes[0], "00:00:01: executor 2 (container_0_0000_00_000002 on a1) exited with code 1: broken")
	require.True(t, f.want(request(driver.Demand{Total: 5}), begin))
	require.Contains(t, f.settled(), ask{anywhere, 4})
	f.tick(later(2*time.Second), 2)
	require.Contains(t, f.settled(), ask{anywhere, 5})
	require.Empty(t, f.status().Notes)
}

// failStarts makes the nodes refuse to start containers or, if over is true, start containers
// again.
func failStarts(nodes []*yarntest.Node, over bool) {
	for _, node := range nodes {
		node.FailStarts(map[bool]string{false: "its disk is full"}[over])
	}
}

// flap repeatedly disconnects and reconnects all nodes, for the time d.
func flap(c *yarntest.Cluster, d time.Duration) {
	for began := time.Now(); time.Since(began) < d; time.Sleep(1500 * time.Millisecond) {
		for _, node := range c.Nodes() {
			node.Lose()
			_ = node.Reconnect()
		}
	}
}

// TestFailedContainersAreAskedForWithGrowingPauses makes all containers fail for some time, each
// time with the same cause. When the cause has ended, executors must run.
func TestFailedContainersAreAskedForWithGrowingPauses(t *testing.T) {
	const wanted = 3
	causes := map[string]struct {
		properties map[string]string
		process    yarntest.Process
		excluded   []string
		inject     func(c *yarntest.Cluster, over bool)
	}{
		"executors exit at once":       {process: yarntest.Process{Ends: true, Exit: 1}},
		"executors exit after a while": {process: yarntest.Process{Localizing: 3 * time.Second, Ends: true, After: 5 * time.Second, Exit: 1}},
		"executors do not register": {
			properties: map[string]string{"yarn.executor.launchTimeout": "2s"}, process: yarntest.Process{Never: true},
		},
		"starts fail": {inject: func(c *yarntest.Cluster, over bool) { failStarts(c.Nodes(), over) }},
		"the blacklist is ignored": {excluded: []string{"node-0001", "node-0002"}, inject: func(c *yarntest.Cluster, over bool) {
			c.IgnoreBlacklists(!over)
			failStarts(c.Nodes()[2:], over)
		}},
		"container tokens are not valid": {inject: func(c *yarntest.Cluster, over bool) {
			c.SpoilTokens(map[bool]int{false: math.MaxInt}[over])
		}},
		"nodes are lost and back": {process: yarntest.Process{Never: true}, inject: func(c *yarntest.Cluster, over bool) {
			if !over {
				go flap(c, 11*time.Minute)
			}
		}},
	}
	for name, cause := range causes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var broken atomic.Bool
				cluster, err := yarntest.New(yarntest.Options{
					Nodes: yarntest.Nodes(3, 1, yarn.Resource{MemoryMB: 4096, VCores: 16}),
					Process: func(yarntest.Container) yarntest.Process {
						if broken.Load() {
							return cause.process
						}
						return yarntest.Process{}
					},
				})
				require.NoError(t, err)
				defer cluster.Close()
				app := cluster.Submit(yarntest.Submission{})
				inject := func(over bool) {
					broken.Store(!over)
					if cause.inject != nil {
						cause.inject(cluster, over)
					}
				}
				inject(false)
				properties := map[string]string{
					"dynamicAllocation.enabled": "true", "yarn.executor.launch.excludeOnFailure.enabled": "false",
				}
				for key, value := range cause.properties {
					properties[key] = value
				}
				a := allocatorOn(t, cluster, app, properties, Options{
					LaunchContext: func(e launcher.Executor) yarn.ContainerLaunchContext {
						return yarn.ContainerLaunchContext{Env: map[string]string{executorVariable: e.ID}}
					},
					ExecutorLost: func(string, driver.Loss) {},
					Decommission: func([]string, driver.DecommissionNotice) {},
					Random:       rand.New(rand.NewPCG(1, 1)),
				})
				request := driver.Request{ExcludedNodes: cause.excluded, Demands: []driver.Demand{{Profile: a.state.profiles[0].Profile, Total: wanted}}}
				a.RequestExecutors(request)
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- a.Run(ctx) }()
				live := func(d time.Duration) { // waits for d and registers running executors
					for ; d > 0; d -= time.Second {
						time.Sleep(time.Second)
						cluster.Inspect(func(v yarntest.View) {
							for _, container := range v.Live(app.ID()) {
								if container.State == yarntest.Running {
									a.ExecutorRegistered(container.Environment[executorVariable])
								}
							}
						})
					}
				}
				live(10 * time.Minute)
				given := 0
				cluster.Inspect(func(v yarntest.View) { given = len(v.Containers(app.ID())) })
				require.LessOrEqual(t, given, wanted*mostRounds)
				require.Greater(t, given, wanted*3, "they are tried again")
				notes := func() []string { return a.Status().Notes }
				for waited := 0; waited < 60 && len(notes()) == 0; waited++ {
					live(time.Second)
				}
				require.Len(t, notes(), 1)
				require.Contains(t, notes()[0], "containers fail repeatedly")
				inject(true)
				live(3 * time.Minute)
				cluster.Inspect(func(v yarntest.View) { require.Equal(t, wanted, v.Running(app.ID())) })
				stop()
				require.NoError(t, <-ended)
			})
		})
	}
}
