package am

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// fleet is the executors that the application has and wants: a state machine
// with no I/O. The allocator tells it what the ResourceManager, the launcher
// and the driver said, and asks it what to tell them.
type fleet struct {
	wanted    int
	hostTasks map[string]int // waiting tasks that prefer each host, by the driver

	racks  map[string]string // of the nodes that can be used
	asks   asks
	random *rand.Rand

	executors map[yarn.ContainerID]*executor
	byID      map[string]*executor
	lastID    int
	releases  []yarn.ContainerID // to be told to the ResourceManager

	maxFailures int
	failures    int
	lastFailure string

	memory string // of an executor, as set, for advice
}

// executor is one executor from its allocation to its container's end.
type executor struct {
	id        string
	container yarn.Container
	started   time.Time // when its NodeManager took it; zero before
	killed    bool      // by the driver's wish
}

func newFleet(wanted, maxFailures int, racks map[string]string, memory string, random *rand.Rand) *fleet {
	f := &fleet{
		wanted:      wanted,
		racks:       maps.Clone(racks),
		random:      random,
		executors:   map[yarn.ContainerID]*executor{},
		byID:        map[string]*executor{},
		maxFailures: maxFailures,
		memory:      memory,
	}
	if f.racks == nil {
		f.racks = map[string]string{}
	}
	f.asks = asks{rackOf: f.rackOf}
	return f
}

// defaultRack is the rack of hosts of which nothing is known
// (NetworkTopology.DEFAULT_RACK).
const defaultRack = "/default-rack"

func (f *fleet) rackOf(host string) string {
	return cmp.Or(f.racks[host], defaultRack)
}

// want takes the driver's newest request.
func (f *fleet) want(request driver.Request) {
	f.wanted = request.Total()
	f.hostTasks = nil
	for _, demand := range request.Demands {
		f.hostTasks = demand.HostTasks
	}
}

// missing is how many containers should be asked for and are not there.
func (f *fleet) missing() int { return max(0, f.wanted-len(f.executors)) }

// changes are the numbers to send so that what is asked for is what is missing,
// at the best places.
func (f *fleet) changes() []ask {
	missing := f.missing()
	if missing == f.asks.outstanding() && (missing == 0 || len(f.hostTasks) == 0) {
		return nil // the places that were chosen before are as good as others
	}
	placed := map[string]int{}
	for _, executor := range f.executors {
		placed[executor.container.Node.Host]++
	}
	return f.asks.change(missing, place(missing, slices.Sorted(maps.Keys(f.racks)), placed, f.hostTasks, f.random))
}

// take makes executors of allocated containers and returns them. Those closest
// to what was asked for come first: on a host that was named, in its rack,
// anywhere. What is more than wanted goes back unlaunched.
func (f *fleet) take(containers []yarn.Container) []*executor {
	distance := func(c yarn.Container) int {
		switch {
		case f.asks.believed[c.Node.Host] > 0:
			return 0
		case f.asks.believed[f.rackOf(c.Node.Host)] > 0:
			return 1
		default:
			return 2
		}
	}
	sorted := slices.Clone(containers)
	slices.SortStableFunc(sorted, func(a, b yarn.Container) int { return cmp.Compare(distance(a), distance(b)) })
	var taken []*executor
	for _, container := range sorted {
		missing := f.missing()
		f.asks.allocated(container.Node.Host)
		if missing == 0 {
			f.releases = append(f.releases, container.ID)
			continue
		}
		f.lastID++
		executor := &executor{id: strconv.Itoa(f.lastID), container: container}
		f.executors[container.ID] = executor
		f.byID[executor.id] = executor
		taken = append(taken, executor)
	}
	return taken
}

// launched notes that a NodeManager took the executor.
func (f *fleet) launched(id yarn.ContainerID, now time.Time) {
	if executor, ok := f.executors[id]; ok {
		executor.started = now
	}
}

// launchFailed gives up an executor that its NodeManager did not take.
func (f *fleet) launchFailed(id yarn.ContainerID, err error) (lost, bool) {
	executor, ok := f.executors[id]
	if !ok {
		return lost{}, false
	}
	f.remove(executor)
	f.releases = append(f.releases, id)
	loss := driver.Loss{Text: fmt.Sprintf("could not be started on %s: %v", executor.container.Node.Host, err)}
	f.failed(executor, loss.Text)
	return lost{executor: executor, loss: loss}, true
}

// lost is an executor that has ended, and how.
type lost struct {
	executor *executor
	status   yarn.ExitStatus
	loss     driver.Loss
}

// completed judges the containers that have ended. Containers that are not
// executors any more, because they were released, are passed over.
func (f *fleet) completed(statuses []yarn.ContainerStatus) []lost {
	var ended []lost
	for _, status := range statuses {
		executor, ok := f.executors[status.ID]
		if !ok {
			continue
		}
		f.remove(executor)
		loss, failed := judge(status, executor.killed, f.memory)
		if failed {
			f.failed(executor, loss.Text)
		}
		ended = append(ended, lost{executor: executor, status: status.ExitStatus, loss: loss})
	}
	return ended
}

// kill marks executors as ended by the driver's wish and returns their
// containers, which are released.
func (f *fleet) kill(ids []string) {
	for _, id := range ids {
		if executor, ok := f.byID[id]; ok && !executor.killed {
			executor.killed = true
			f.releases = append(f.releases, executor.container.ID)
		}
	}
}

func (f *fleet) remove(executor *executor) {
	delete(f.executors, executor.container.ID)
	delete(f.byID, executor.id)
}

func (f *fleet) failed(executor *executor, text string) {
	f.failures++
	f.lastFailure = fmt.Sprintf("executor %s (%s on %s) %s", executor.id, executor.container.ID, executor.container.Node.Host, text)
}

// exhausted is the reason to give up, once too many executors have failed.
func (f *fleet) exhausted() error {
	if f.failures < f.maxFailures {
		return nil
	}
	return fmt.Errorf("%d executors failed, executor.maxNumFailures is %d; the last: %s", f.failures, f.maxFailures, f.lastFailure)
}

// takeReleases returns the containers to give back, once.
func (f *fleet) takeReleases() []yarn.ContainerID {
	releases := f.releases
	f.releases = nil
	return releases
}

// nodesChanged follows the nodes that come and go.
func (f *fleet) nodesChanged(reports []yarn.NodeReport) {
	for _, report := range reports {
		if report.State == yarn.NodeRunning {
			f.racks[report.ID.Host] = cmp.Or(report.Rack, defaultRack)
		} else {
			delete(f.racks, report.ID.Host)
		}
	}
}

// resent is for a ResourceManager that restarted: all is asked for again.
func (f *fleet) resent() { f.asks.forget() }
