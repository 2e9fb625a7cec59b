package allocator

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/launcher"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// begin is the time at which tests of the state begin, and later returns times after it.
var (
	begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	later = func(d time.Duration) time.Time { return begin.Add(d) }
)

// small returns a profile of 1 GiB and one core.
func small(id int) profile.Profile { return profile.Profile{ID: id, Memory: 1 << 30, Cores: 1} }

// containerOn returns a container of profile 0.
func containerOn(host string, id int64) yarn.Container {
	return yarn.Container{
		ID: yarn.ContainerID{ID: id}, Node: yarn.NodeID{Host: host, Port: 1}, NodeHTTPAddress: host + ":8042", Priority: 1,
		Resource: yarn.Resource{MemoryMB: 1024, VCores: 1}, Token: security.Token{Identifier: []byte(strconv.FormatInt(id, 10))},
	}
}

// request returns a request of the driver for executors of profile 0.
func request(demand driver.Demand) driver.Request {
	demand.Profile = small(0)
	return driver.Request{Demands: []driver.Demand{demand}}
}

// stateOn returns a state with nodes on the given hosts. The first letter of a host is its rack.
// The driver wants the given number of executors.
func stateOn(wanted int, hosts ...string) *state {
	racks := map[string]string{}
	for _, host := range hosts {
		racks[host] = rackOfLetter(host)
	}
	f := newState(stateOptions{

		racks:         racks,
		excluded:      newExclusions(nil, true, 2, time.Hour, slog.New(slog.DiscardHandler)),
		failures:      &failureCounts{max: 3},
		launchTimeout: time.Minute,
		random:        seeded(),
		logger:        slog.New(slog.DiscardHandler),
	})
	f.want(request(driver.Demand{Total: wanted}), begin)
	return f
}

func twoNodes(wanted int) *state { return stateOn(wanted, "a1", "b1") }

// rowsOf returns the names and numbers in ResourceRequests.
func rowsOf(rows []yarn.ResourceRequest) []ask {
	var short []ask
	for _, row := range rows {
		short = append(short, ask{row.Name, int(row.Containers)})
	}
	return short
}

// give applies an answer to a heartbeat with allocated containers. It returns the new executors.
func (f *state) give(containers ...yarn.Container) []*executor {
	taken := f.addAllocated(containers, begin)
	f.responseApplied()
	return taken
}

// settled returns the changed requests, and applies an empty answer.
func (f *state) settled() []ask {
	rows := f.changedAsks()
	f.responseApplied()
	return rowsOf(rows)
}

func completion(id int64, exit yarn.ExitStatus, diagnostics string) []yarn.ContainerStatus {
	return []yarn.ContainerStatus{{ID: yarn.ContainerID{ID: id}, State: yarn.ContainerComplete, ExitStatus: exit, Diagnostics: diagnostics}}
}

func (f *state) exits(id int64, exit yarn.ExitStatus, diagnostics string) []endedExecutor {
	f.completed(completion(id, exit, diagnostics), begin)
	return f.takeEnded()
}

func TestMissingExecutorsAreAskedForOnce(t *testing.T) {
	f := twoNodes(2)
	require.Equal(t, []ask{{"/a", 1}, {"/b", 1}, {"a1", 1}, {"b1", 1}, {anywhere, 2}}, f.settled())
	require.Empty(t, f.settled(), "the same is not asked for again")
	require.Len(t, f.give(containerOn("a1", 1)), 1)
	require.Empty(t, f.settled(), "the ResourceManager has lowered its numbers itself")
	require.False(t, f.want(request(driver.Demand{Total: 1}), begin), begin)
	require.Contains(t, f.settled(), ask{anywhere, 0})
	require.True(t, f.want(request(driver.Demand{Total: 4}), begin), "more are wanted")
	require.Contains(t, f.settled(), ask{anywhere, 3})
}

func TestEachProfileIsAskedForUnderItsOwnPriority(t *testing.T) {
	f := stateOn(1)
	gpu := profile.Profile{
		ID: 2, Memory: 2 << 30, Overhead: 1 << 30, Cores: 4, Resources: map[string]int64{"yarn.io/gpu": 1}, NodeLabel: "gpu", Opportunistic: true,
	}
	f.want(driver.Request{Demands: []driver.Demand{
		{Profile: small(0), Total: 1},
		{Profile: gpu, Total: 2, HostTasks: map[string]int{"a1": 1}},
	}}, begin)
	rows := f.changedAsks()
	f.responseApplied()
	require.Equal(t, yarn.ResourceRequest{
		Priority: 1, Name: anywhere, Resource: yarn.Resource{MemoryMB: 1024, VCores: 1}, Containers: 1, RelaxLocality: true,
	}, rows[0])
	size := yarn.Resource{MemoryMB: 3072, VCores: 4, Others: map[string]int64{"yarn.io/gpu": 1}}
	for _, row := range rows[1:] {
		require.Equal(t, int32(3), row.Priority)
		require.Equal(t, size, row.Resource)
		require.Equal(t, yarn.Opportunistic, row.ExecutionType)
		if row.Name == anywhere {
			require.Equal(t, "gpu", row.NodeLabel)
		} else {
			require.Empty(t, row.NodeLabel, "other rows may not bear a label")
		}
	}
	small, large, stray := containerOn("a1", 1), containerOn("a1", 2), containerOn("a1", 3)
	large.Priority, stray.Priority = 3, 9
	taken := f.give(stray, large, small)
	require.Len(t, taken, 2)
	require.Equal(t, 2, taken[0].Profile.ID)
	require.Equal(t, 0, taken[1].Profile.ID)
	require.Equal(t, []yarn.ContainerID{stray.ID}, f.takeReleases(begin), "of an unknown profile")
	f.want(driver.Request{}, begin)
	require.Contains(t, f.settled(), ask{anywhere, 0}, "of a profile that is not named none are wanted")
}

func TestCloseContainersAreTakenAndTheRestReleased(t *testing.T) {
	f := twoNodes(2)
	f.settled()
	taken := f.give(containerOn("c9", 1), containerOn("b1", 2), containerOn("a1", 3))
	require.Len(t, taken, 2)
	require.Equal(t, "b1", taken[0].host())
	require.Equal(t, "a1", taken[1].host())
	require.Equal(t, []yarn.ContainerID{{ID: 1}}, f.takeReleases(begin))
	require.Empty(t, f.takeReleases(begin), "a container is released once")
	require.Empty(t, f.exits(1, yarn.ExitAborted, ""), "released containers were no executors")
}

func TestAContainerIsTakenOnce(t *testing.T) {
	f := twoNodes(3)
	f.settled()
	require.Len(t, f.give(containerOn("a1", 1)), 1)
	require.Empty(t, f.give(containerOn("a1", 1)), "an answer that came twice")
	require.Empty(t, f.takeReleases(begin))
	require.Len(t, f.executors, 1)
}

func TestALowerTargetKeepsTheBestAsks(t *testing.T) {
	f := stateOn(0, "a1", "a2", "b1")
	tasks := map[string]int{"a1": 60, "b1": 30, "x9": 10}
	f.topology.addRacks(map[string]string{"x9": "/a"})
	want := func(total int) map[string]int {
		f.want(request(driver.Demand{Total: total, HostTasks: tasks, LocalityAwareTasks: 10}), begin)
		f.settled()
		return maps.Clone(f.profiles[0].asks.knownToManager)
	}
	require.Equal(t, map[string]int{"a1": 6, "b1": 3, "/a": 7, "/b": 3, anywhere: 12}, want(12), "x9 is no NodeManager, so its rack is asked for")
	require.Equal(t, map[string]int{"a1": 6, "b1": 3, "/a": 7, "/b": 3, anywhere: 10}, want(10), "anywhere goes first")
	require.Equal(t, map[string]int{"a1": 2, "b1": 1, "/a": 2, "/b": 1, anywhere: 3}, want(3), "then the rack")
	require.Equal(t, map[string]int{"a1": 1, "/a": 1, anywhere: 1}, want(1), "the host with the most tasks is kept")
	require.Empty(t, want(0))
}

func TestSurplusExecutorsAreReleasedBeforeTheyStart(t *testing.T) {
	f := twoNodes(4)
	f.settled()
	executors := f.give(containerOn("a1", 1), containerOn("a1", 2), containerOn("b1", 3), containerOn("b1", 4))
	f.launched(executors[3].Container.ID, begin)
	f.want(request(driver.Demand{Total: 2}), begin)
	require.Equal(t, []yarn.ContainerID{{ID: 3}, {ID: 2}}, f.takeReleases(begin), "the youngest of those that wait for their NodeManager")
	require.Len(t, f.takeReleasedBeforeStart(), 2)
	require.Len(t, f.takeEnded(), 2)
	require.Zero(t, f.failures.total)
	f.want(request(driver.Demand{}), begin)
	require.Len(t, f.takeReleases(begin), 1, "the driver kills running ones")
}

// TestReleasesEndWithoutConfirmation restarts the ResourceManager. The ResourceManager then does
// not know containers that were not started or whose node is dead, and never confirms the release
// of these containers.
func TestReleasesEndWithoutConfirmation(t *testing.T) {
	f := twoNodes(2)
	f.settled()
	executors := f.give(containerOn("a1", 1), containerOn("b1", 2), containerOn("b1", 3))
	f.launched(executors[0].Container.ID, begin)
	f.registered("1")
	f.launchFailed(executors[1].Container.ID, yarn.ErrInvalidContainer, begin)
	f.kill([]string{"1"}, begin)
	require.Len(t, f.takeReleases(begin), 3)
	require.Len(t, f.takeEnded(), 1)
	f.resendAll()
	require.Len(t, f.takeReleases(later(time.Second)), 3)
	f.responseApplied()
	f.tick(later(releaseTimeout), 2)
	require.Equal(t, 3, f.status().Counts.Ending)
	f.tick(later(releaseTimeout+time.Second), 2)
	require.Zero(t, f.status().Counts.Ending)
	ended := f.takeEnded()
	require.Len(t, ended, 1)
	require.Equal(t, "1", ended[0].executor.ID)
	require.Equal(t, "was ended by the driver", ended[0].loss.Reason)
	f.stop()
	f.settled()
	require.False(t, f.hasContainers())

	require.Empty(t, f.takeReleases(later(time.Hour)))
	f.nodesChanged([]yarn.NodeReport{{ID: executors[0].Container.Node, State: yarn.NodeRunning}}, later(time.Hour))
	require.Len(t, f.takeReleases(later(time.Hour)), 1, "it may have the container still")
	require.Empty(t, f.exits(1, yarn.ExitAborted, ""))
	require.False(t, f.hasContainers())
}

func TestLocationsFollowTheTasks(t *testing.T) {
	f := stateOn(0, "a1", "b1", "c1")
	f.want(request(driver.Demand{Total: 2, HostTasks: map[string]int{"a1": 8, "b1": 8}, LocalityAwareTasks: 16}), begin)
	f.settled()
	f.give(containerOn("a1", 1))
	f.want(request(driver.Demand{Total: 2, HostTasks: map[string]int{"c1": 8}, LocalityAwareTasks: 8}), begin)
	require.Equal(t, []ask{{"/b", 0}, {"/c", 1}, {"b1", 0}, {"c1", 1}}, f.settled())
}

func TestALostExecutorIsReplaced(t *testing.T) {
	f := twoNodes(1)
	f.settled()
	first := f.give(containerOn("a1", 1))[0]
	ended := f.exits(1, 137, "Killed by external signal")
	require.Len(t, ended, 1)
	require.Equal(t, first.ID, ended[0].executor.ID)
	require.True(t, ended[0].loss.CountsAsFailure)
	require.Contains(t, f.settled(), ask{anywhere, 1})
	second := f.give(containerOn("a1", 2))[0]
	require.NotEqual(t, first.ID, second.ID, "an id is never used again")
}

func TestOnlyTheApplicationsOwnFailuresEndIt(t *testing.T) {
	f := twoNodes(1)
	id := int64(0)
	end := func(exit yarn.ExitStatus) {
		f.settled()
		id++
		f.give(containerOn("a1", id))
		f.exits(id, exit, "")
	}
	clusters := []yarn.ExitStatus{
		yarn.ExitPreempted, yarn.ExitAborted, yarn.ExitDisksFailed, yarn.ExitKilledByResourceManager,
		yarn.ExitKilledByContainerScheduler, yarn.ExitKilledAfterApplication,
	}
	for range 10 {
		for _, exit := range clusters {
			end(exit)
		}
	}
	require.NoError(t, f.failures.tooMany(0, begin))
	for range 3 {
		end(1)
	}
	require.ErrorContains(t, f.failures.tooMany(0, begin), "3 executors failed")
	require.ErrorContains(t, f.failures.tooMany(0, begin), "exited with code 1")
	listed := f.status().Failures
	require.Len(t, listed, len(clusters)+1)
	require.Contains(t, listed, FailureCount{Reason: "preempted", Count: 10, Last: listed[slices.IndexFunc(listed, func(c FailureCount) bool { return c.Reason == "preempted" })].Last})
}

func TestAFailedLaunchIsReleasedAndCounts(t *testing.T) {
	tests := []struct {
		name    string
		err     error
		failure bool
	}{
		{"on a full disk", errors.New("no room on the disk"), true},
		{"on a node that is gone", fmt.Errorf("start: %w", launcher.ErrNodeLost), false},
		{"with a token that the node refuses", fmt.Errorf("%w: %w", launcher.ErrContainerToken, yarn.ErrInvalidToken), false},
		{"after the ResourceManager was replaced", fmt.Errorf("start: %w", yarn.ErrInvalidContainer), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := twoNodes(1)
			f.settled()
			f.give(containerOn("a1", 7))
			f.launchFailed(yarn.ContainerID{ID: 7}, test.err, begin)
			ended := f.takeEnded()
			require.Contains(t, ended[0].loss.Reason, test.err.Error())
			require.Equal(t, []yarn.ContainerID{{ID: 7}}, f.takeReleases(begin))
			require.Equal(t, test.failure, f.failures.total == 1)
			require.Equal(t, test.failure, len(f.excluded.failures["a1"]) == 1)
			require.Equal(t, 1, f.containersToAsk())
			require.Len(t, f.takeReleasedBeforeStart(), 1)
			f.launchFailed(yarn.ContainerID{ID: 7}, errors.New("again"), begin)
			require.Empty(t, f.takeEnded())
		})
	}
}

func TestLaunchesOnAnExcludedNodeAreGivenUp(t *testing.T) {
	f := twoNodes(4)
	f.settled()
	executors := f.give(containerOn("a1", 1), containerOn("a1", 2), containerOn("a1", 3), containerOn("b1", 4))
	f.launched(executors[0].Container.ID, begin)
	f.launchFailed(executors[1].Container.ID, errors.New("no"), begin)
	f.excluded.setByDriver([]string{"a1"})
	f.tick(begin, 2)
	ended := f.takeEnded()
	require.Len(t, ended, 2)
	require.Equal(t, int64(3), ended[1].executor.Container.ID.ID)
	require.Len(t, f.takeReleasedBeforeStart(), 2)
	require.Equal(t, 1, f.failures.total)
	require.Len(t, f.executors, 2, "registered ones are kept")
}

func TestAnExecutorThatDoesNotRegisterIsReplaced(t *testing.T) {
	f := twoNodes(2)
	f.settled()
	executors := f.give(containerOn("a1", 1), containerOn("b1", 2))
	f.launched(executors[0].Container.ID, begin)
	f.launched(executors[1].Container.ID, later(time.Second))
	f.registered(executors[1].ID)
	f.tick(later(time.Minute-1), 2)
	require.Empty(t, f.takeEnded())
	f.tick(later(time.Minute), 2)
	ended := f.takeEnded()
	require.Len(t, ended, 1)
	require.Contains(t, ended[0].loss.Reason, "did not register with the driver within 1m0s (yarn.executor.launchTimeout)")
	require.Equal(t, []yarn.ContainerID{{ID: 1}}, f.takeReleases(begin))
	require.Len(t, f.excluded.failures["a1"], 1, "it counts against its node")
	require.Equal(t, 1, f.failures.total)
	require.Contains(t, f.settled(), ask{anywhere, 1})
	f.registered(ended[0].executor.ID)
	f.tick(later(time.Hour), 2)
	require.Empty(t, f.takeEnded(), "registered ones are kept")
	require.Empty(t, f.awaitingRegistration)
	require.Empty(t, f.exits(1, yarn.ExitKilledByApplicationMaster, ""))
}

func TestARegisteredExecutorSurvivesALostLaunchAnswer(t *testing.T) {
	f := twoNodes(1)
	f.settled()
	executor := f.give(containerOn("a1", 1))[0]
	f.registered(executor.ID)
	f.launchFailed(executor.Container.ID, errors.New("the answer was lost"), begin)
	require.Empty(t, f.takeEnded())
	require.Equal(t, 1, f.running())
}

func TestOpportunisticExecutorsMayWaitForTheirNode(t *testing.T) {
	f := stateOn(0)
	p := small(1)
	p.Opportunistic = true
	f.want(driver.Request{Demands: []driver.Demand{{Profile: p, Total: 1}}}, begin)
	f.settled()
	container := containerOn("a1", 1)
	container.Priority = 2
	f.launched(f.give(container)[0].Container.ID, begin)
	f.tick(later(24*time.Hour), 1)
	require.Empty(t, f.takeEnded())
}

func TestAKilledExecutorIsNoFailure(t *testing.T) {
	f := twoNodes(1)
	f.settled()
	executor := f.give(containerOn("a1", 1))[0]
	f.registered(executor.ID)
	f.kill([]string{executor.ID, executor.ID, "unknown"}, begin)
	require.Equal(t, []yarn.ContainerID{{ID: 1}}, f.takeReleases(begin))
	require.Equal(t, 1, f.containersToAsk(), "it is replaced at once")
	ended := f.exits(1, 0, "")
	require.False(t, ended[0].loss.CountsAsFailure)
	require.Zero(t, f.failures.total)
	require.False(t, f.hasContainers() && len(f.releasing) > 0, "its end is confirmed")
}

func TestResendAll(t *testing.T) {
	f := twoNodes(3)
	f.excluded.setByDriver([]string{"z1"})
	f.tick(begin, 2)
	first := f.settled()
	add, _ := f.excluded.changes()
	require.Equal(t, []string{"z1"}, add)
	f.give(containerOn("a1", 1), containerOn("b1", 2))
	f.launched(yarn.ContainerID{ID: 1}, begin)
	f.kill([]string{"1"}, begin)
	require.Len(t, f.takeReleases(begin), 1)
	f.resendAll()
	require.Equal(t, []yarn.ContainerID{{ID: 1}}, f.takeReleases(begin), "the release may be lost")
	add, _ = f.excluded.changes()
	require.Equal(t, []string{"z1"}, add)
	require.Contains(t, f.settled(), ask{anywhere, 2})
	require.NotEmpty(t, first)
	require.Len(t, f.exits(1, yarn.ExitKilledByApplicationMaster, ""), 1)
	require.Empty(t, f.exits(1, yarn.ExitKilledByApplicationMaster, ""), "old ends are reported once more")
	f.resendAll()
	require.Empty(t, f.takeReleases(begin))
}

func TestAStoppedStateReleasesEverything(t *testing.T) {
	f := twoNodes(3)
	f.settled()
	f.give(containerOn("a1", 1), containerOn("b1", 2))
	f.registered("1")
	f.stop()
	require.Contains(t, f.settled(), ask{anywhere, 0})
	require.False(t, f.want(request(driver.Demand{Total: 9}), begin), "requests are ignored")
	require.Empty(t, f.give(containerOn("a1", 3)))
	require.ElementsMatch(t, []yarn.ContainerID{{ID: 1}, {ID: 2}, {ID: 3}}, f.takeReleases(begin))
	for id := range int64(3) {
		require.True(t, f.hasContainers())
		f.exits(id+1, 1, "")
	}
	require.False(t, f.hasContainers())
	require.Zero(t, f.failures.total)
}

func TestTheStatusCountsExecutorsByState(t *testing.T) {
	f := twoNodes(6)
	f.settled()
	f.give(containerOn("a1", 1), containerOn("a1", 2), containerOn("b1", 3), containerOn("b1", 4))
	for _, id := range []string{"1", "2", "3"} {
		f.registered(id)
	}
	f.kill([]string{"1"}, begin)
	f.decommission([]*executor{f.byID["2"]}, driver.DecommissionNotice{Reason: "gone soon"}, reasonPreempted, begin)
	f.settled()
	require.Equal(t, ExecutorCounts{
		Requested: 6, Pending: 4, Allocated: 4, Launching: 1, Running: 2, Decommissioning: 1, Ending: 1, MaxFailures: 3,
	}, f.status().Counts)
}
