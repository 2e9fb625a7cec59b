package conformance

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

func masterRestarts(t *testing.T, s *System) {
	a := register(t, s)
	pair := a.onePerNode()
	kept := pair[0]
	node := a.start(kept, "sleep 1000")
	short := a.get(1, asksAt(s.Hosts[0], 1)...)[0]
	a.start(short, "exit 5")
	require.EqualValues(t, 5, a.awaitEnd(short.ID).ExitStatus)
	// A restarted ResourceManager does not know containers that had not been started.
	idle := pair[1]
	a.completed, a.updated = nil, nil
	require.NoError(t, s.RestartMaster(a.ctx))

	var err error
	a.await("the ResourceManager asks for a registration", func() bool {
		_, err = a.client.Allocate(a.ctx, yarn.AllocateRequest{ResponseID: a.last})
		return err != nil
	})
	require.ErrorIs(t, err, yarn.ErrNotRegistered)
	a.register()
	_, err = a.client.Allocate(a.ctx, yarn.AllocateRequest{ResponseID: 7})
	require.ErrorIs(t, err, yarn.ErrInvalidMasterRequest, "ids restart at 0")
	// The ResourceManager has lost earlier requests. Ids of new containers contain its new
	// epoch.
	fresh := a.get(1, ask(yarn.AnyHost, 1, unit))[0]
	require.EqualValues(t, 1, fresh.ID.Epoch())
	require.Contains(t, fresh.ID.String(), "container_e01_")

	statuses, failed, err := node.Statuses(a.ctx, []yarn.ContainerID{kept.ID})
	require.NoError(t, err, "the node's token is still valid")
	require.Empty(t, failed)
	require.Equal(t, yarn.ContainerRunning, statuses[0].State, "containers keep running")
	_, failed, err = a.node(idle).StartContainers(a.ctx, []yarn.StartRequest{request(idle, "sleep 1000")})
	require.NoError(t, err)
	require.ErrorIs(t, failed[idle.ID], yarn.ErrInvalidContainer, "it was allocated by a ResourceManager that is gone")

	// Container completions that were reported before the restart are reported again.
	require.EqualValues(t, 5, a.awaitEnd(short.ID).ExitStatus)
	a.await("all nodes are reported", func() bool {
		a.beat(yarn.AllocateRequest{})
		hosts := map[string]bool{}
		for _, report := range a.updated {
			hosts[report.ID.Host] = hosts[report.ID.Host] || report.State == yarn.NodeRunning
		}
		return len(hosts) == len(s.Hosts)
	})
	// A container that was running during the restart can be released.
	a.beat(yarn.AllocateRequest{Releases: []yarn.ContainerID{kept.ID}})
	require.Equal(t, yarn.ExitAborted, a.awaitEnd(kept.ID).ExitStatus)
	a.finish()
}

func nodeIsLost(t *testing.T, s *System) {
	a := register(t, s)
	pair := a.onePerNode()
	a.start(pair[0], "sleep 1000")
	a.start(pair[1], "sleep 1000")
	host := s.Hosts[0].Name
	a.updated = nil
	require.NoError(t, s.StopNode(a.ctx, host))
	status := a.awaitEnd(pair[0].ID)
	require.Equal(t, yarn.ExitAborted, status.ExitStatus)
	require.Equal(t, "Container released on a *lost* node", status.Diagnostics)
	reported := func(state yarn.NodeState) func() bool {
		return func() bool {
			for _, report := range a.updated {
				if report.ID.Host == host && report.State == state {
					require.Equal(t, s.Hosts[0].Rack, report.Rack)
					return true
				}
			}
			a.beat(yarn.AllocateRequest{})
			return false
		}
	}
	a.await("the node is reported lost", reported(yarn.NodeLost))
	require.EqualValues(t, len(s.Hosts)-1, a.beat(yarn.AllocateRequest{}).ClusterNodes)

	a.updated = nil
	require.NoError(t, s.StartNode(a.ctx, host))
	a.await("the node is reported running", reported(yarn.NodeRunning))
	// The restarted node's NMToken is sent again. The other node's NMToken is still valid.
	delete(a.tokens, pair[0].Node)
	back := a.get(1, asksAt(s.Hosts[0], 1)...)[0]
	require.NotEmpty(t, a.tokens[back.Node].Password)
	a.start(back, "sleep 1000")
	_, _, err := a.node(pair[1]).Statuses(a.ctx, []yarn.ContainerID{pair[1].ID})
	require.NoError(t, errors.Join(err))
	a.finish()
}

// nodeIsReportedTwice stops and restarts a node between two heartbeats of an ApplicationMaster,
// and checks that the ApplicationMaster receives a report of each change. A second
// ApplicationMaster, follower, sends heartbeats meanwhile to wait for each change.
func nodeIsReportedTwice(t *testing.T, s *System) {
	a, follower := register(t, s), register(t, s)
	host := s.Hosts[0].Name
	reported := func(by *attempt) (states []yarn.NodeState) {
		for _, report := range by.updated {
			if report.ID.Host == host {
				states = append(states, report.State)
			}
		}
		return states
	}
	until := func(state yarn.NodeState) {
		follower.await("the node is "+state.String(), func() bool {
			follower.beat(yarn.AllocateRequest{})
			return slices.Contains(reported(follower), state)
		})
	}
	a.beat(yarn.AllocateRequest{})
	a.updated, follower.updated = nil, nil
	require.NoError(t, s.StopNode(a.ctx, host))
	until(yarn.NodeLost)
	require.NoError(t, s.StartNode(a.ctx, host))
	until(yarn.NodeRunning)
	a.beat(yarn.AllocateRequest{})
	require.ElementsMatch(t, []yarn.NodeState{yarn.NodeLost, yarn.NodeRunning}, reported(a))
	follower.finish()
	a.finish()
}
