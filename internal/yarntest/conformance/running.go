package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

func releases(t *testing.T, s *System) {
	a := register(t, s)
	got := a.get(2, ask(yarn.AnyHost, 2, unit))
	idle, busy := got[0], got[1]
	node := a.start(busy, "sleep 1000")
	a.beat(yarn.AllocateRequest{Releases: []yarn.ContainerID{idle.ID, busy.ID}})
	for _, id := range []yarn.ContainerID{idle.ID, busy.ID} {
		status := a.awaitEnd(id)
		require.Equal(t, yarn.ExitAborted, status.ExitStatus)
		require.Equal(t, "Container released by application", status.Diagnostics)
	}
	a.await("the node ends the released container", func() bool {
		statuses, _, err := node.Statuses(a.ctx, []yarn.ContainerID{busy.ID})
		require.NoError(t, err)
		return len(statuses) == 0 || statuses[0].State == yarn.ContainerComplete
	})
	// Each completion is reported once. Releasing a completed container is not an error.
	a.completed = nil
	a.beat(yarn.AllocateRequest{Releases: []yarn.ContainerID{idle.ID, busy.ID}})
	a.expectNone()
	require.Empty(t, a.completed)
	a.finish()
}

func life(t *testing.T, s *System) {
	a := register(t, s)
	for command, want := range map[string]yarn.ExitStatus{"exit 0": 0, "exit 3": 3} {
		container := a.get(1, ask(yarn.AnyHost, 1, unit))[0]
		node := a.start(container, command)
		status := a.awaitEnd(container.ID)
		require.Equal(t, want, status.ExitStatus, command)
		a.completed = nil
		a.expectNone()
		require.Empty(t, a.completed, "each end is reported once")
		statuses, failed, err := node.Statuses(a.ctx, []yarn.ContainerID{container.ID})
		require.NoError(t, err)
		if len(statuses) > 0 { // the NodeManager may have removed the container already
			require.Equal(t, want, statuses[0].ExitStatus)
		} else {
			require.Len(t, failed, 1)
		}
	}
	a.finish()
}

func stopping(t *testing.T, s *System) {
	a := register(t, s)
	container := a.get(1, ask(yarn.AnyHost, 1, unit))[0]
	node := a.start(container, "sleep 1000")
	statuses, failed, err := node.Statuses(a.ctx, []yarn.ContainerID{container.ID})
	require.NoError(t, err)
	require.Empty(t, failed)
	require.Len(t, statuses, 1)
	require.Equal(t, yarn.ContainerRunning, statuses[0].State)
	require.Equal(t, yarn.ExitUnknown, statuses[0].ExitStatus)
	unknown := container.ID
	unknown.ID += 1000
	stopped, failed, err := node.StopContainers(a.ctx, []yarn.ContainerID{container.ID, unknown})
	require.NoError(t, err)
	require.Equal(t, []yarn.ContainerID{container.ID}, stopped)
	require.ErrorContains(t, failed[unknown], "is not handled by this NodeManager")
	status := a.awaitEnd(container.ID)
	require.Equal(t, yarn.ExitKilledByApplicationMaster, status.ExitStatus)
	stopped, failed, err = node.StopContainers(a.ctx, []yarn.ContainerID{container.ID})
	require.NoError(t, err)
	require.Empty(t, failed)
	require.Equal(t, []yarn.ContainerID{container.ID}, stopped, "stopping what has just ended succeeds")
	_, failed, err = node.Statuses(a.ctx, []yarn.ContainerID{unknown})
	require.NoError(t, err)
	require.Contains(t, failed, unknown)
	a.finish()
}

func (a *attempt) onePerNode() []yarn.Container {
	a.t.Helper()
	var containers []yarn.Container
	for _, host := range a.s.Hosts {
		containers = append(containers, a.get(1, asksAt(host, 1)...)...)
	}
	return containers
}

func nodeRefusals(t *testing.T, s *System) {
	a := register(t, s)
	pair := a.onePerNode()
	here, there := pair[0], pair[1]
	node := a.node(here)
	forged := here
	forged.Token.Password = []byte("forged")
	// A call fails completely if one container token is forged or for another node.
	for _, wrong := range []yarn.Container{forged, there} {
		_, _, err := node.StartContainers(a.ctx, []yarn.StartRequest{request(wrong, "sleep 1000"), request(here, "sleep 1000")})
		require.ErrorIs(t, err, yarn.ErrInvalidToken)
	}
	a.start(here, "sleep 1000")
	started, failed, err := node.StartContainers(a.ctx, []yarn.StartRequest{request(here, "sleep 1000")})
	require.NoError(t, err)
	require.Empty(t, started)
	require.Error(t, failed[here.ID], "a container starts once")
	a.finish()
}

func wrongTokens(t *testing.T, s *System) {
	a := register(t, s)
	pair := a.onePerNode()
	// A node rejects the NMToken of another node.
	otherNode := yarn.NewNodeClient(pair[0].Node, a.options(a.tokens[pair[1].Node]))
	defer otherNode.Close()
	_, _, err := otherNode.Statuses(a.ctx, nil)
	require.ErrorIs(t, err, yarn.ErrInvalidToken)
	// The ResourceManager rejects a forged AMRMToken.
	forged := a.token
	forged.Password = []byte("forged")
	forger := yarn.NewAMClient(s.Scheduler, a.options(forged))
	defer forger.Close()
	_, err = forger.Allocate(a.ctx, yarn.AllocateRequest{})
	var remote *ipc.RemoteError
	require.ErrorAs(t, err, &remote)
	require.NotErrorIs(t, err, yarn.ErrInvalidToken, "a wrong password fails in SASL")
	// The ResourceManager rejects the AMRMToken of an application that has ended.
	a.finish()
	a.await("it has ended", func() bool { return a.report().State.Ended() })
	late := yarn.NewAMClient(s.Scheduler, a.options(a.token))
	defer late.Close()
	_, err = late.Allocate(a.ctx, yarn.AllocateRequest{})
	require.ErrorIs(t, err, yarn.ErrInvalidToken)
	require.Equal(t, security.KindAMRM, a.token.Kind)
}

func unregistering(t *testing.T, s *System) {
	a := register(t, s)
	container := a.get(1, ask(yarn.AnyHost, 1, unit))[0]
	node := a.start(container, "sleep 1000")
	done, err := a.client.Finish(a.ctx, yarn.FinishRequest{Status: yarn.FinalFailed, Diagnostics: "it was not to be"})
	require.NoError(t, err)
	require.True(t, done, "an unmanaged ApplicationMaster need not ask twice")
	a.await("it may ask twice", func() bool {
		done, err = a.client.Finish(a.ctx, yarn.FinishRequest{Status: yarn.FinalFailed})
		if err != nil { // the attempt has ended, and the application will end soon
			require.ErrorIs(t, err, yarn.ErrInvalidMasterRequest)
		}
		return done
	})
	a.await("it has ended", func() bool { return a.report().State.Ended() })
	final := a.report()
	require.Equal(t, yarn.ApplicationFinished, final.State, "an application that says it failed has finished")
	require.Equal(t, yarn.FinalFailed, final.FinalStatus)
	require.Contains(t, final.Diagnostics, "it was not to be")
	a.await("its container ends", func() bool {
		statuses, _, err := node.Statuses(a.ctx, []yarn.ContainerID{container.ID})
		return err != nil || len(statuses) == 0 || statuses[0].State == yarn.ContainerComplete
	})
	_, err = a.client.Allocate(a.ctx, yarn.AllocateRequest{ResponseID: a.last})
	require.ErrorIs(t, err, yarn.ErrAttemptNotFound)
}

func killed(t *testing.T, s *System) {
	a := register(t, s)
	require.NoError(t, s.Kill(a.ctx, a.app))
	a.await("it has ended", func() bool { return a.report().State == yarn.ApplicationKilled })
	_, err := a.client.Allocate(a.ctx, yarn.AllocateRequest{ResponseID: a.last})
	require.ErrorIs(t, err, yarn.ErrAttemptNotFound)
}
