package application

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

func newTestState() state {
	return newState("app-1", &protocol.ApplicationDescription{Command: &protocol.ExecutorCommand{}}, nil)
}

func requireSame(t *testing.T, want, got proto.Message) {
	t.Helper()
	require.True(t, proto.Equal(want, got), "want %v\n got %v", want, got)
}

func executors(ids ...uint32) []*protocol.ApplicationExecutor {
	var all []*protocol.ApplicationExecutor
	for _, id := range ids {
		all = append(all, &protocol.ApplicationExecutor{Id: id})
	}
	return all
}

func TestANewMasterGetsEverythingAndThenChanges(t *testing.T) {
	s := newTestState()
	require.Nil(t, s.takeUnsent())
	request := &protocol.ExecutorRequest{ExcludedHosts: []string{"a"}}
	s.setRequest(request)
	requireSame(t, &protocol.ApplicationMessage{Request: request}, s.takeUnsent())
	require.Nil(t, s.takeUnsent(), "it was sent")

	told := s.receive(&protocol.ApplicationOrder{Executors: executors(1, 2, 3)})
	require.Len(t, told.launched, 3)
	s.executorRegistered(2)
	s.killExecutor(3)
	s.killExecutor(3)
	requireSame(t, &protocol.ApplicationMessage{Registered: []uint32{2}, Kills: []uint32{3}}, s.takeUnsent())
	told = s.receive(&protocol.ApplicationOrder{Executors: executors(1), Ends: []*protocol.ExecutorEnd{{Id: 1, Sequence: 7}, {Id: 9, Sequence: 8}}})
	require.Empty(t, told.launched)
	require.Len(t, told.ends, 2)
	requireSame(t, &protocol.ApplicationMessage{Acknowledged: 8}, s.takeUnsent())

	hello := s.hello().GetHello()
	require.Equal(t, []uint32{2, 3}, hello.GetExecutors())
	require.EqualValues(t, 9, hello.GetHighestExecutorId())
	require.Equal(t, "app-1", hello.GetApplicationId())
	s.sendAll()
	requireSame(t, &protocol.ApplicationMessage{Request: request, Registered: []uint32{2}, Kills: []uint32{3}}, s.takeUnsent())
}

func TestExecutorsMissingFromACompleteListAreLost(t *testing.T) {
	s := newTestState()
	s.receive(&protocol.ApplicationOrder{Executors: executors(1, 2)})
	s.executorRegistered(3)
	s.killExecutor(2)
	told := s.receive(&protocol.ApplicationOrder{Executors: executors(1, 4), Complete: true})
	require.Equal(t, []uint32{2, 3}, told.missing)
	require.Len(t, told.launched, 1)
	require.Equal(t, []uint32{1, 4}, s.hello().GetHello().GetExecutors())
	s.sendAll()
	require.Empty(t, s.takeUnsent().GetKills(), "who is gone need not be killed")
}

func TestSendAllKeepsAcknowledgements(t *testing.T) {
	s := newTestState()
	s.receive(&protocol.ApplicationOrder{Ends: []*protocol.ExecutorEnd{{Id: 1, Sequence: 3}}})
	s.sendAll()
	require.EqualValues(t, 3, s.takeUnsent().GetAcknowledged())
}

func TestAHindranceIsReportedOnce(t *testing.T) {
	s := newTestState()
	require.Nil(t, s.receive(&protocol.ApplicationOrder{Hindrance: proto.String("")}).waitReason)
	require.Equal(t, "no room", *s.receive(&protocol.ApplicationOrder{Hindrance: proto.String("no room")}).waitReason)
	require.Nil(t, s.receive(&protocol.ApplicationOrder{Hindrance: proto.String("no room")}).waitReason)
	require.Nil(t, s.receive(&protocol.ApplicationOrder{}).waitReason)
	require.Empty(t, *s.receive(&protocol.ApplicationOrder{Hindrance: proto.String("")}).waitReason)
}

func TestEncodeRequest(t *testing.T) {
	options := Options{TaskResources: func(amounts map[string]int64) map[string]int64 {
		return map[string]int64{"gpu": amounts["yarn.io/gpu"]}
	}}
	got := options.encode(driver.Request{
		Demands: []driver.Demand{
			{Profile: profile.Profile{Memory: config.GiB, Overhead: 1, Cores: WholeWorker}, Total: Unlimited, HostTasks: map[string]int{"a": 2}, LocalityAwareTasks: 3},
			{Profile: profile.Profile{ID: 1, Cores: 2, Resources: map[string]int64{"yarn.io/gpu": 4}}, Total: 5},
		},
		ExcludedNodes: []string{"b"},
	})
	requireSame(t, &protocol.ExecutorRequest{
		Demands: []*protocol.ExecutorDemand{
			{
				Profile: &protocol.ExecutorProfile{Memory: 1 << 30, Overhead: 1, Resources: map[string]int64{"gpu": 0}},
				Total:   protocol.Unlimited, HostTasks: map[string]uint32{"a": 2}, LocalityAware: 3,
			},
			{Profile: &protocol.ExecutorProfile{Id: 1, Cores: 2, Resources: map[string]int64{"gpu": 4}}, Total: 5},
		},
		ExcludedHosts: []string{"b"},
	}, got)
}

func TestDriverSettings(t *testing.T) {
	read := func(set map[string]string) *config.Config {
		settings, err := config.FromMap(set)
		require.NoError(t, err)
		made, err := DriverSettings(settings)
		require.NoError(t, err)
		return made
	}
	all := read(map[string]string{"authenticate.secret": "0123456789abcdef", "app.name": "n"})
	require.Equal(t, []int{Unlimited, WholeWorker}, []int{config.ExecutorInstances.In(all), config.ExecutorCores.In(all)})
	require.False(t, all.IsSet(config.AuthenticateSecret.Name()), "executors get the driver's settings")
	require.Equal(t, "n", config.AppName.In(all))
	require.Zero(t, config.RegisteredWait.In(all))
	some := read(map[string]string{"executor.instances": "3", "executor.cores": "2"})
	require.Equal(t, []int{3, 2}, []int{config.ExecutorInstances.In(some), config.ExecutorCores.In(some)})
	require.NotZero(t, config.RegisteredWait.In(some))
	elastic := read(map[string]string{"dynamicAllocation.enabled": "true"})
	require.Equal(t, 1, config.ExecutorCores.In(elastic))
}
