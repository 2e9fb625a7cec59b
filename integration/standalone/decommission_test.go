//go:build integration

package standalone

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	standaloneclient "github.com/bobbin-yarn/bobbin/standalone/client"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
)

// workerIDs returns the ids of the workers in state alive.
func (s *site) workerIDs(t *testing.T) []string {
	t.Helper()
	var ids []string
	for _, w := range s.status(t).Workers {
		if w.State == cluster.WorkerAlive {
			ids = append(ids, w.ID)
		}
	}
	return ids
}

// TestDecommissionCommand decommissions workers by `yarn-submit decommission`, which connects
// to a standby master, while an application runs on the workers.
func TestDecommissionCommand(t *testing.T) {
	t.Parallel()
	s, _ := newSiteWithEtcd(t, 2)
	s.startMasters(t)
	standby := 1 - s.awaitLeader(t, -1)
	master := "bobbin://" + s.addresses[standby]
	leaving := s.startWorker(t, 2)
	s.awaitWorkers(t, 1)
	id := s.workerIDs(t)[0]
	h, before := s.startHeld(t, 2, nil)
	staying := s.startWorker(t, 2)
	s.awaitWorkers(t, 2)

	unknown := s.submit(t, "decommission", "--master", master, id, "node-7")
	require.Equal(t, client.ExitCluster, unknown.wait(t, testTimeout))
	assert.Contains(t, unknown.lastLine(), `"node-7" is neither the id nor the host of a worker`)
	assert.Contains(t, unknown.lastLine(), id)
	assert.Len(t, s.workerIDs(t), 2, "nothing was done")

	waiting := s.submit(t, "decommission", "--master", master, "--wait", id)
	await(t, "the executors are to be had elsewhere, beside those that finish their tasks", func() bool {
		return s.aliveWorkers(t) == 1 && len(s.executors()) == 4
	})
	again := s.submit(t, "decommission", "--master", master, "--json", id)
	require.Zero(t, again.wait(t, testTimeout), "%s", again.stderr.text())
	var asked []standaloneclient.DecommissioningWorker
	require.NoError(t, json.Unmarshal([]byte(again.stdout.text()), &asked))
	require.Len(t, asked, 1)
	assert.True(t, asked[0].AlreadyDecommissioning)
	assert.Equal(t, cluster.WorkerDecommissioning, asked[0].State)
	assert.Equal(t, 2, asked[0].Executors)
	assert.Subset(t, pids(s.executors()), pids(before), "they run their tasks to the end")
	assert.True(t, leaving.alive())
	assert.True(t, waiting.alive(), "%s", waiting.stderr.text())

	h.release(t)
	require.Zero(t, waiting.wait(t, testTimeout), "%s", waiting.stderr.text())
	assert.Contains(t, waiting.lastLine(), id+" on 127.0.0.1 has ended")
	leaving.awaitEnd(t)
	assert.Zero(t, leaving.command.ProcessState.ExitCode(), "%s", leaving.said())
	assert.True(t, staying.alive())

	byHost := s.submit(t, "decommission", "--master", master, "--wait", "127.0.0.1")
	require.Zero(t, byHost.wait(t, testTimeout), "%s", byHost.stderr.text())
	staying.awaitEnd(t)
	none := s.submit(t, "decommission", "--master", master, "127.0.0.1")
	require.Equal(t, client.ExitCluster, none.wait(t, testTimeout))
	assert.Contains(t, none.lastLine(), "no worker of the cluster, which has none")
}
