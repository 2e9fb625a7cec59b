package am

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

func containerOn(host string, id int64) yarn.Container {
	return yarn.Container{ID: yarn.ContainerID{ID: id}, Node: yarn.NodeID{Host: host, Port: 1}, NodeHTTPAddress: host + ":8042"}
}

func twoNodes(wanted int) *fleet {
	return newFleet(wanted, 3, map[string]string{"a1": "/a", "b1": "/b"}, "1g", seeded())
}

func completed(id int64, status yarn.ExitStatus, diagnostics string) []yarn.ContainerStatus {
	return []yarn.ContainerStatus{{ID: yarn.ContainerID{ID: id}, State: yarn.ContainerComplete, ExitStatus: status, Diagnostics: diagnostics}}
}

func TestAFleetAsksOnceForWhatIsMissing(t *testing.T) {
	f := twoNodes(2)
	require.Equal(t, []ask{{"/a", 1}, {"/b", 1}, {"a1", 1}, {"b1", 1}, {anywhere, 2}}, f.changes())
	require.Empty(t, f.changes(), "the same is not asked for again")
	require.Len(t, f.take([]yarn.Container{containerOn("a1", 1)}), 1)
	require.Empty(t, f.changes(), "the ResourceManager has lowered its numbers itself")
	f.want(request(driver.Demand{Total: 1}))
	require.Contains(t, f.changes(), ask{anywhere, 0})
}

func TestContainersCloseToTheAskAreTakenAndTheRestGivenBack(t *testing.T) {
	f := twoNodes(2)
	f.changes()
	taken := f.take([]yarn.Container{containerOn("c9", 1), containerOn("b1", 2), containerOn("a1", 3)})
	require.Len(t, taken, 2)
	require.Equal(t, "b1", taken[0].container.Node.Host)
	require.Equal(t, "a1", taken[1].container.Node.Host)
	require.Equal(t, []yarn.ContainerID{{ID: 1}}, f.takeReleases())
	require.Empty(t, f.takeReleases(), "a container is given back once")
	require.Empty(t, f.completed(completed(1, yarn.ExitAborted, "")), "what was given back was no executor")
}

func TestALostExecutorIsReplaced(t *testing.T) {
	f := twoNodes(1)
	f.changes()
	first := f.take([]yarn.Container{containerOn("a1", 1)})[0]
	ended := f.completed(completed(1, 137, "Killed by external signal"))
	require.Len(t, ended, 1)
	require.Equal(t, first.id, ended[0].executor.id)
	require.True(t, ended[0].loss.CountsAsFailure)
	require.Contains(t, f.changes(), ask{anywhere, 1})
	second := f.take([]yarn.Container{containerOn("a1", 2)})[0]
	require.NotEqual(t, first.id, second.id, "an id is never used again")
}

func TestOnlyTheApplicationsOwnFailuresEndIt(t *testing.T) {
	f := twoNodes(1)
	id := int64(0)
	end := func(status yarn.ExitStatus) {
		f.changes()
		id++
		f.take([]yarn.Container{containerOn("a1", id)})
		f.completed(completed(id, status, ""))
	}
	for range 10 {
		for _, status := range []yarn.ExitStatus{yarn.ExitPreempted, yarn.ExitAborted, yarn.ExitDisksFailed, yarn.ExitKilledByResourceManager} {
			end(status)
		}
	}
	require.NoError(t, f.exhausted())
	for range 3 {
		end(1)
	}
	require.ErrorContains(t, f.exhausted(), "3 executors failed")
	require.ErrorContains(t, f.exhausted(), "exited with code 1")
}

func TestAFailedLaunchIsGivenBackAndCounts(t *testing.T) {
	f := twoNodes(1)
	f.changes()
	f.take([]yarn.Container{containerOn("a1", 7)})
	ended, ok := f.launchFailed(yarn.ContainerID{ID: 7}, errors.New("no room on the disk"))
	require.True(t, ok)
	require.Contains(t, ended.loss.Text, "no room on the disk")
	require.Equal(t, []yarn.ContainerID{{ID: 7}}, f.takeReleases())
	require.Equal(t, 1, f.failures)
	require.Equal(t, 1, f.missing())
	_, ok = f.launchFailed(yarn.ContainerID{ID: 7}, errors.New("again"))
	require.False(t, ok)
}

func TestAnExecutorThatTheDriverEndsIsNoFailure(t *testing.T) {
	f := twoNodes(1)
	f.changes()
	executor := f.take([]yarn.Container{containerOn("a1", 1)})[0]
	f.kill([]string{executor.id, executor.id, "unknown"})
	require.Equal(t, []yarn.ContainerID{{ID: 1}}, f.takeReleases())
	ended := f.completed(completed(1, 143, ""))
	require.False(t, ended[0].loss.CountsAsFailure)
	require.Zero(t, f.failures)
}

func TestMemoryKillsSayWhatToRaise(t *testing.T) {
	diagnostics := "[2026-01-01 00:00:00.000]Container [pid=1,containerID=container_1] is running 512MB beyond the 'PHYSICAL' memory limit. " +
		"Current usage: 1.5 GB of 1 GB physical memory used; 2.0 GB of 2.1 GB virtual memory used. Killing container.\nDump of the process-tree"
	for _, status := range []yarn.ExitStatus{yarn.ExitExceededPhysicalMemory, 143, 1} {
		loss, failed := judge(completed(1, status, diagnostics)[0], false, "1g")
		require.True(t, failed)
		require.Equal(t, "was killed for its memory: 1.5 GB of 1 GB physical memory used; 2.0 GB of 2.1 GB virtual memory used; "+
			"raise executor.memory (now 1g) or executor.memoryOverhead", loss.Text)
	}
}

// TestAnyHistory holds a fleet to its promise whatever happens: it never has
// more executors than it wanted when it took them, and every container it was
// given is an executor or goes back.
func TestAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFleet(rapid.IntRange(0, 5).Draw(t, "wanted"), 1000, map[string]string{"a1": "/a", "a2": "/a", "b1": "/b"}, "1g", seeded())
		host := rapid.SampledFrom([]string{"a1", "a2", "b1", "c1"})
		next, open := int64(0), map[yarn.ContainerID]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				f.want(request(driver.Demand{Total: rapid.IntRange(0, 5).Draw(t, "total"),
					HostTasks: rapid.MapOf(host, rapid.IntRange(1, 9)).Draw(t, "tasks")}))
			case 1:
				var given []yarn.Container
				for range rapid.IntRange(0, 4).Draw(t, "containers") {
					next++
					given = append(given, containerOn(host.Draw(t, "host"), next))
					open[yarn.ContainerID{ID: next}] = true
				}
				f.take(given)
			case 2:
				for id := range open {
					if rapid.Bool().Draw(t, "ends") {
						f.completed([]yarn.ContainerStatus{{ID: id, ExitStatus: 1}})
						delete(open, id)
					}
					break
				}
			case 3:
				for id := range f.executors {
					f.launched(id, time.Unix(1, 0))
				}
			}
			f.changes()
			require.Equal(t, f.missing(), f.asks.outstanding())
			for _, id := range f.takeReleases() {
				require.NotContains(t, f.executors, id)
				delete(open, id)
			}
			require.Len(t, f.executors, len(open))
			require.Len(t, f.byID, len(f.executors))
		}
	})
}

// request is a driver's for executors of the settings' profile.
func request(demand driver.Demand) driver.Request {
	return driver.Request{Demands: []driver.Demand{demand}}
}
