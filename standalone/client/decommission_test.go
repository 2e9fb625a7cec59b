package client

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
)

func testWorkers() []cluster.WorkerStatus {
	return []cluster.WorkerStatus{
		{ID: "worker-1", Host: "a", State: cluster.WorkerAlive, Executors: 2},
		{ID: "worker-2", Host: "b", State: cluster.WorkerDecommissioning, Drivers: 1},
		{ID: "worker-3", Host: "b", State: cluster.WorkerDisconnected},
		{ID: "worker-4", Host: "c", State: cluster.WorkerDead, Reason: "it was stopped"},
	}
}

func TestDecommissionByIDAndHost(t *testing.T) {
	m, s := startFakeMaster(t, testWorkers()...)
	asked, err := s.Decommission(t.Context(), []string{"b", "worker-1", "worker-2"})
	require.NoError(t, err)
	require.Equal(t, []string{"worker-1", "worker-2", "worker-3"}, m.asked, "each worker once")
	var texts []string
	for i := range asked {
		texts = append(texts, asked[i].String())
	}
	require.Equal(t, []string{
		"worker-1 on a is being decommissioned, with executors: 2, drivers: 0",
		"worker-2 on b was being decommissioned already, with executors: 0, drivers: 1",
		"worker-3 on b is being decommissioned, with executors: 0, drivers: 0",
	}, texts)
}

func TestDecommissionOfAnUnknownWorkerDecommissionsNone(t *testing.T) {
	m, s := startFakeMaster(t, testWorkers()...)
	for _, unknown := range []string{"d", "worker-4", "c", ""} {
		_, err := s.Decommission(t.Context(), []string{"worker-1", unknown})
		require.ErrorContains(t, err, `"`+unknown+`" is neither the id nor the host of a worker that is alive: the cluster has worker-1, worker-2, worker-3`)
		require.Equal(t, client.ExitCluster, client.ExitCode(err))
	}
	require.Empty(t, m.asked)
	_, s = startFakeMaster(t)
	_, err := s.Decommission(t.Context(), []string{"a"})
	require.ErrorContains(t, err, `"a" is no worker of the cluster, which has none`)
}

func TestAwaitDecommissionedUpdatesTheWorkers(t *testing.T) {
	m, s := startFakeMaster(t, testWorkers()...)
	asked, err := s.Decommission(t.Context(), []string{"a", "b"})
	require.NoError(t, err)
	before := m.statuses
	m.change = func(statuses int, status *cluster.Status) {
		switch statuses - before {
		case 2: // worker-1 has stopped, and the status no longer has worker-2
			status.Workers[0].State, status.Workers[0].Reason = cluster.WorkerDead, "it was stopped"
			status.Workers = append(status.Workers[:1], status.Workers[2:]...)
		case 3:
			status.Workers[1].State, status.Workers[1].Reason = cluster.WorkerDead, "nothing was heard of it"
		}
	}
	require.NoError(t, s.AwaitDecommissioned(t.Context(), asked, client.NewConsole(io.Discard)))
	require.Equal(t, 3, m.statuses-before)
	require.Equal(t, "worker-1 on a has ended: it was stopped", asked[0].String())
	require.Equal(t, "worker-2 on b has ended: the master does not know it any more", asked[1].String())
	require.Equal(t, "worker-3 on b has ended: nothing was heard of it", asked[2].String())
}

func TestInterruptedWaitDoesNotStopDecommissioning(t *testing.T) {
	_, s := startFakeMaster(t, testWorkers()...)
	asked, err := s.Decommission(t.Context(), []string{"a"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(context.DeadlineExceeded)
	err = s.AwaitDecommissioned(ctx, asked, client.NewConsole(io.Discard))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "the decommissioning goes on")
	require.Equal(t, client.ExitFailed, client.ExitCode(err))
}
