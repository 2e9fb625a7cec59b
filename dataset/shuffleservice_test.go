package dataset_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/shufflehandler/shufflehandlertest"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

var nodeSecret = []byte("the application's secret")

func startNode(t *testing.T) *shufflehandlertest.Service {
	return shufflehandlertest.Start(t, shuffle.ServicePassword(nodeSecret), t.TempDir())
}

// addOn adds an executor on a host. node is the shuffle service of the host's node, or nil
// if it has none.
func (m *executors) addOn(id, host string, node *shufflehandlertest.Service) {
	nodes := &shuffle.NodeOptions{Application: shufflehandlertest.Application, Secret: nodeSecret}
	if node != nil {
		nodes.Address, nodes.Directories = node.Address(), node.Locals
	}
	m.addWith(executorbackend.Options{ID: id, Host: host, Cores: 1, SharesProcess: true, Config: config.Default(), ShuffleNodes: nodes})
}

// keptOutputs returns the directories of the map outputs that a node's shuffle service
// stores.
func keptOutputs(t *testing.T, node *shufflehandlertest.Service) []string {
	found, err := filepath.Glob(filepath.Join(node.Locals[0], "output", "*"))
	require.NoError(t, err)
	return found
}

// runOnNode calls f with executors "a" and "b" on a node with a shuffle service. f can call
// collect to run a job that reads map outputs.
func runOnNode(t *testing.T, f func(session *bobbin.Session, more *executors, node *shufflehandlertest.Service, collect func())) {
	computed.Store(0)
	node := startNode(t)
	runWithMore(t, func(ctx context.Context, session *bobbin.Session, more *executors) {
		more.addOn("a", "host", node)
		more.addOn("b", "host", node)
		more.decommission("driver")
		sums := countedSums.With(session, counted.With(session, numbers{100, 20}))
		f(session, more, node, func() {
			got, err := sums.Collect(ctx)
			require.NoError(t, err)
			require.Equal(t, map[int64]int64{0: 1683, 1: 1617, 2: 1650}, toMap(got))
		})
	})
}

func TestShuffleServiceKeepsOutputsOfLostExecutors(t *testing.T) {
	runOnNode(t, func(_ *bobbin.Session, more *executors, node *shufflehandlertest.Service, collect func()) {
		collect()
		require.EqualValues(t, 100, computed.Load())
		for _, e := range more.driver.Status().Executors {
			require.Zero(t, e.HeldKeyCount, "executor %s is not idle", e.ID)
		}
		more.lose("a")
		more.lose("b")
		more.addOn("c", "elsewhere", nil)
		requests := node.Requests.Load()
		collect()
		require.EqualValues(t, 100, computed.Load(), "map tasks have run again")
		require.Greater(t, node.Requests.Load(), requests)

		node.Close()
		collect()
		require.EqualValues(t, 200, computed.Load(), "the outputs of the lost node were not made again")
	})
}

func TestOutputsInAShuffleServiceAreMovedFromADecommissionedNode(t *testing.T) {
	for _, nodeLeaves := range []bool{false, true} {
		runOnNode(t, func(session *bobbin.Session, more *executors, node *shufflehandlertest.Service, collect func()) {
			collect()
			more.addOn("c", "host", nil) // it reads the map outputs of its host from files
			before := more.registered()
			more.driver.Decommission([]string{"a", "b"}, driver.DecommissionNotice{Reason: "the test says so", NodeLeaves: nodeLeaves})
			require.Eventually(t, func() bool { return more.registered() == before-2 }, time.Minute, time.Millisecond)
			moved := false
			for _, job := range session.Jobs() {
				moved = moved || strings.HasPrefix(job.Name, "data of executor ")
			}
			require.Equal(t, nodeLeaves, moved)
			if nodeLeaves {
				node.Close()
				for _, output := range keptOutputs(t, node) {
					require.NoError(t, os.RemoveAll(output))
				}
			}
			collect()
			require.EqualValues(t, 100, computed.Load())
		})
	}
}

func TestOutputsInAShuffleServiceAreRemoved(t *testing.T) {
	node := startNode(t)
	runWithMore(t, func(ctx context.Context, session *bobbin.Session, more *executors) {
		more.addOn("a", "host", node)
		more.addOn("b", "host", node)
		more.decommission("driver")
		func() {
			_, err := countedSums.With(session, counted.With(session, numbers{100, 20})).Len(ctx)
			require.NoError(t, err)
		}()
		require.NotEmpty(t, keptOutputs(t, node))
		more.lose("a")
		require.Eventually(t, func() bool {
			runtime.GC()
			_, err := counted.With(session, numbers{1, 1}).Len(ctx) // the next job removes unneeded outputs
			require.NoError(t, err)
			return len(keptOutputs(t, node)) == 0
		}, time.Minute, 10*time.Millisecond)
	})
}
