package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

func beforeRegistration(t *testing.T, s *System) {
	a := submit(t, s)
	_, err := a.client.Allocate(a.ctx, yarn.AllocateRequest{})
	require.ErrorIs(t, err, yarn.ErrNotRegistered)
	_, err = a.client.Finish(a.ctx, yarn.FinishRequest{Status: yarn.FinalSucceeded})
	require.ErrorIs(t, err, yarn.ErrNotRegistered)
	granted := a.register()
	require.EqualValues(t, 4096, granted.MaxResource.MemoryMB)
	require.EqualValues(t, 4, granted.MaxResource.VCores)
	require.True(t, granted.ChecksCores)
	_, err = a.client.Register(a.ctx, yarn.RegisterRequest{Host: "127.0.0.1", RPCPort: -1})
	require.ErrorIs(t, err, yarn.ErrInvalidMasterRequest)
	response := a.beat(yarn.AllocateRequest{})
	require.EqualValues(t, len(s.Hosts), response.ClusterNodes, "a second registration changes nothing")
	require.EqualValues(t, 1, response.ResponseID)
	a.finish()
}

func report(t *testing.T, s *System) {
	a := submit(t, s)
	before := a.report()
	require.Equal(t, a.app, before.ID)
	require.Equal(t, s.User, before.User)
	require.Equal(t, yarn.ApplicationAccepted, before.State)
	require.EqualValues(t, 1, before.Attempt.Attempt)
	require.Equal(t, "N/A", before.Host)
	require.EqualValues(t, -1, before.RPCPort)
	require.NotNil(t, before.AMRMToken)
	a.register()
	a.await("it runs", func() bool { return a.report().State == yarn.ApplicationRunning })
	after := a.report()
	require.Nil(t, after.AMRMToken, "only until the ApplicationMaster registers")
	require.Equal(t, "127.0.0.1", after.Host)
	a.finish()
	a.await("it has ended", func() bool { return a.report().State == yarn.ApplicationFinished })
	require.Equal(t, yarn.FinalSucceeded, a.report().FinalStatus)
}

func responseIDs(t *testing.T, s *System) {
	a := register(t, s)
	a.beat(yarn.AllocateRequest{Asks: []yarn.ResourceRequest{ask(yarn.AnyHost, 2, unit)}})
	var first *yarn.AllocateResponse
	a.await("containers are allocated", func() bool {
		first = a.beat(yarn.AllocateRequest{})
		return len(first.Allocated) > 0
	})
	again, err := a.client.Allocate(a.ctx, yarn.AllocateRequest{ResponseID: first.ResponseID - 1, Asks: []yarn.ResourceRequest{ask(yarn.AnyHost, 9, unit)}})
	require.NoError(t, err)
	require.Equal(t, first, again, "a request that is repeated gets the same answer, whatever it asks")
	for _, wrong := range []int32{first.ResponseID + 1, first.ResponseID - 2, -1} {
		_, err = a.client.Allocate(a.ctx, yarn.AllocateRequest{ResponseID: wrong})
		require.ErrorIs(t, err, yarn.ErrInvalidMasterRequest, "id %d", wrong)
	}
	require.Equal(t, first.ResponseID+1, a.beat(yarn.AllocateRequest{}).ResponseID, "and the attempt goes on")
	a.finish()
}

func impossibleRequests(t *testing.T, s *System) {
	a := register(t, s)
	refused := func(class error, request yarn.AllocateRequest) {
		t.Helper()
		request.ResponseID = a.last
		_, err := a.client.Allocate(a.ctx, request)
		require.ErrorIs(t, err, class)
	}
	refused(yarn.ErrInvalidResourceRequest, yarn.AllocateRequest{Asks: []yarn.ResourceRequest{ask(yarn.AnyHost, 1, yarn.Resource{MemoryMB: 1 << 20, VCores: 1})}})
	refused(yarn.ErrInvalidResourceRequest, yarn.AllocateRequest{Asks: []yarn.ResourceRequest{ask(yarn.AnyHost, 1, yarn.Resource{MemoryMB: 256, VCores: 99})}})
	refused(yarn.ErrInvalidBlacklist, yarn.AllocateRequest{BlacklistAdd: []string{yarn.AnyHost}})
	labelled := ask(yarn.AnyHost, 1, unit)
	labelled.NodeLabel = "nowhere"
	refused(yarn.ErrInvalidLabelRequest, yarn.AllocateRequest{Asks: []yarn.ResourceRequest{labelled}})
	foreign := yarn.ContainerID{Attempt: yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1}, Attempt: 1}, ID: 1}
	refused(yarn.ErrInvalidRelease, yarn.AllocateRequest{Releases: []yarn.ContainerID{foreign}})
	// A request that is rejected has no effect, not even its valid parts.
	refused(yarn.ErrInvalidBlacklist, yarn.AllocateRequest{Asks: []yarn.ResourceRequest{ask(yarn.AnyHost, 1, unit)}, BlacklistAdd: []string{yarn.AnyHost}})
	a.expectNone()
	a.finish()
}

func anywhere(t *testing.T, s *System) {
	a := register(t, s)
	got := a.get(3, ask(yarn.AnyHost, 3, unit))
	for i, container := range got {
		require.EqualValues(t, 1, container.Priority)
		require.Equal(t, unit.MemoryMB, container.Resource.MemoryMB)
		require.Equal(t, yarn.Guaranteed, container.ExecutionType)
		require.EqualValues(t, i+1, container.ID.Sequence(), "an unmanaged master has no container, so that numbers begin at 1")
		require.NotEmpty(t, a.tokens[container.Node].Password, "a token for each node")
		identity, err := yarn.ParseContainerIdentifier(container.Token)
		require.NoError(t, err)
		require.Equal(t, container.ID, identity.Container)
		require.Equal(t, container.Node.String(), identity.NodeAddress)
		require.Equal(t, s.User, identity.User)
	}
	// Memory is rounded up to a multiple of the minimum container size.
	odd := a.get(1, ask(yarn.AnyHost, 1, yarn.Resource{MemoryMB: 200, VCores: 1}))
	require.EqualValues(t, 256, odd[0].Resource.MemoryMB)
	// A node's NMToken is sent only once.
	for range 3 {
		require.Empty(t, a.beat(yarn.AllocateRequest{}).NMTokens)
	}
	a.finish()
}

func asksAt(host Host, n int32) []yarn.ResourceRequest {
	return []yarn.ResourceRequest{ask(host.Name, n, unit), ask(host.Rack, n, unit), ask(yarn.AnyHost, n, unit)}
}

func onHost(t *testing.T, s *System) {
	a := register(t, s)
	for _, host := range s.Hosts {
		for _, container := range a.get(4, asksAt(host, 4)...) {
			require.Equal(t, host.Name, container.Node.Host)
		}
	}
	// Without relaxed locality, containers are allocated only on the requested host, although
	// 99 containers do not fit on it.
	strict := asksAt(s.Hosts[0], 99)
	strict[1].RelaxLocality, strict[2].RelaxLocality = false, false
	var got []yarn.Container
	a.await("containers are allocated", func() bool {
		got = append(got, a.beat(yarn.AllocateRequest{Asks: strict}).Allocated...)
		strict = nil
		return len(got) > 0
	})
	for range 30 {
		got = append(got, a.beat(yarn.AllocateRequest{}).Allocated...)
		a.pause()
	}
	for _, container := range got {
		require.Equal(t, s.Hosts[0].Name, container.Node.Host)
	}
	a.finish()
}

func inRack(t *testing.T, s *System) {
	a := register(t, s)
	for _, host := range s.Hosts {
		a.get(2, ask(host.Rack, 2, unit), ask(yarn.AnyHost, 2, unit))
	}
	// A request for a rack is never satisfied if the request for AnyHost does not relax
	// locality: before the scheduler allocates in the rack, it waits for heartbeats of nodes
	// that the request for AnyHost allows, but the request allows no node
	// (RegularContainerAllocator.tryAllocateOnNode).
	rack, total := ask(s.Hosts[0].Rack, 1, unit), ask(yarn.AnyHost, 1, unit)
	total.RelaxLocality = false
	rack.Priority, total.Priority = 2, 2
	require.Empty(t, a.beat(yarn.AllocateRequest{Asks: []yarn.ResourceRequest{rack, total}}).Allocated)
	a.expectNone()
	a.expectNone()
	a.finish()
}

func lowering(t *testing.T, s *System) {
	a := register(t, s)
	a.get(2, ask(yarn.AnyHost, 2, unit))
	a.expectNone()
	// A request replaces the unsatisfied part of the previous request. After all containers of
	// the previous request were allocated, an equal request requests as many containers again.
	a.get(2, ask(yarn.AnyHost, 2, unit))
	a.expectNone()
	a.get(2, asksAt(s.Hosts[0], 2)...)
	// The allocations on the host have lowered the count of the request for AnyHost, too. So
	// one more container is allocated now, on any host.
	a.get(1, ask(yarn.AnyHost, 1, unit))
	a.expectNone()
	a.finish()
}

func replacing(t *testing.T, s *System) {
	a := register(t, s)
	// Of requests with the same priority and name, only the last one counts, even if their
	// sizes differ.
	got := a.get(1, ask(yarn.AnyHost, 2, unit), ask(yarn.AnyHost, 1, big))
	require.Equal(t, big.MemoryMB, got[0].Resource.MemoryMB)
	a.expectNone()
	// Requests with different allocation request ids all count.
	other := ask(yarn.AnyHost, 1, unit)
	other.AllocationRequestID = 7
	both := a.get(2, other, ask(yarn.AnyHost, 1, big))
	ids := map[int64]int64{}
	for _, container := range both {
		ids[container.AllocationRequestID] = container.Resource.MemoryMB
	}
	require.Equal(t, map[int64]int64{7: unit.MemoryMB, 0: big.MemoryMB}, ids)
	// A request for a host has no effect if the request for AnyHost is for 0 containers.
	require.Empty(t, a.beat(yarn.AllocateRequest{Asks: []yarn.ResourceRequest{ask("no-such-host", 5, unit), ask(yarn.AnyHost, 0, unit)}}).Allocated)
	a.expectNone()
	a.finish()
}

func totalBounds(t *testing.T, s *System) {
	a := register(t, s)
	rows := asksAt(s.Hosts[0], 3)
	rows[2].Containers = 1
	got := a.get(1, rows...)
	require.Equal(t, s.Hosts[0].Name, got[0].Node.Host)
	a.expectNone()
	a.finish()
}

func blacklist(t *testing.T, s *System) {
	a := register(t, s)
	bad, good := s.Hosts[0].Name, s.Hosts[1].Name
	a.beat(yarn.AllocateRequest{BlacklistAdd: []string{bad}})
	for _, container := range a.get(3, ask(yarn.AnyHost, 3, unit)) {
		require.Equal(t, good, container.Node.Host)
	}
	// The blacklist also applies to hosts that are requested by name.
	require.Empty(t, a.beat(yarn.AllocateRequest{Asks: asksAt(s.Hosts[0], 1), BlacklistAdd: []string{s.Hosts[1].Rack}}).Allocated)
	a.expectNone()
	a.beat(yarn.AllocateRequest{BlacklistRemove: []string{bad}})
	require.Equal(t, bad, a.get(1)[0].Node.Host)
	a.finish()
}
