package am

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// notice is what the driver is to be told of executors that will be taken away.
type notice struct {
	ids    []string
	notice driver.Notice
}

// takeNotices returns what the driver has not been told, once.
func (f *fleet) takeNotices() []notice {
	notices := f.notices
	f.notices = nil
	return notices
}

// nodesChanged follows the nodes that come and go, and returns those that have
// gone: what they had been given before is lost, also where they are back. The
// ends of their containers are told of by the ResourceManager.
func (f *fleet) nodesChanged(reports []yarn.NodeReport, now time.Time) (gone []yarn.NodeID) {
	for _, report := range chronological(reports) {
		if f.topology.report(report) {
			f.excluded.recount()
			f.replan()
		}
		if report.State == yarn.NodeDecommissioning {
			why := driver.Notice{Reason: fmt.Sprintf("its node %s is being decommissioned", report.ID.Host)}
			if report.DecommissioningTimeout > 0 {
				why.Deadline = now.Add(report.DecommissioningTimeout)
			}
			f.drain(slices.Clone(f.byNode[report.ID]), why, nodeDecommissioned, now)
		}
		if hasGone(report.State) {
			gone = append(gone, report.ID)
		} else {
			f.releaseAgain(report.ID)
		}
	}
	return gone
}

// chronological puts a node that was lost and is back, of which an answer has a
// report as it was and one as it is, in this order: the ResourceManager has them
// in that of a hash map (DefaultAMSProcessor.handleNodeUpdates).
func chronological(reports []yarn.NodeReport) []yarn.NodeReport {
	var was, is []yarn.NodeReport
	for _, report := range reports {
		if hasGone(report.State) {
			was = append(was, report)
		} else {
			is = append(is, report)
		}
	}
	return append(was, is...)
}

// hasGone reports whether the state is the last one of a node: a NodeManager
// that comes back is another node to the ResourceManager (RMNodeImpl).
func hasGone(state yarn.NodeState) bool {
	switch state {
	case yarn.NodeLost, yarn.NodeDecommissioned, yarn.NodeShutdown, yarn.NodeRebooted:
		return true
	}
	return false
}

// Verdicts on executors that had nothing to lose when they were to be taken.
var (
	nodeDecommissioned = verdict{reason: "node decommissioned"}
	preempted          = byCluster[yarn.ExitPreempted]
)

// drain has executors leave before they are taken away. They no longer count, so
// that others are asked for at once. Those that have not registered have nothing
// to finish and are given back.
func (f *fleet) drain(executors []*executor, why driver.Notice, v verdict, now time.Time) {
	var ids []string
	for _, e := range executors {
		switch e.state {
		case stateLaunching:
			f.giveUp(e, v, "was given back before it had come up: "+why.Reason, now)
			continue
		case stateRegistered:
			f.become(e, stateDecommissioning)
			e.reason = why.Reason
		case stateEnding:
			continue
		}
		ids = append(ids, e.id) // of two notices the driver keeps to the earlier
	}
	if len(ids) > 0 {
		f.notices = append(f.notices, notice{ids, why})
	}
}

// preempt has the executors leave that the ResourceManager will take whatever
// happens.
func (f *fleet) preempt(containers []yarn.ContainerID, deadline, now time.Time) {
	var named []*executor
	for _, id := range containers {
		if e, ok := f.executors[id]; ok {
			named = append(named, e)
		}
	}
	f.drain(named, driver.Notice{Reason: "the ResourceManager preempts its container", Deadline: deadline}, preempted, now)
}

// contract is what the ResourceManager wants back, with the choice left to the
// application: it will take the named containers, unless others of the same size
// come first. The schedulers name containers and ask for what they sum up to,
// rounded up to their least allocation (FiCaSchedulerApp.getAllocation).
type contract struct {
	containers []yarn.ContainerID
	resources  []yarn.ResourceRequest
	deadline   time.Time
}

// preemptionWarning is how long executors have at the least from the heartbeat
// that tells of a preemption until it happens, by the settings of the cluster.
func preemptionWarning(hadoop *conf.Config, heartbeat time.Duration) time.Duration {
	const usual = 15 * time.Second // the default of both keys
	key := "yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill"
	if strings.HasSuffix(hadoop.GetDefault("yarn.resourcemanager.scheduler.class", ""), "FairScheduler") {
		key = "yarn.scheduler.fair.waitTimeBeforeKill"
	}
	wait, err := hadoop.Duration(key, usual, time.Millisecond)
	if err != nil {
		wait = usual
	}
	return max(wait-heartbeat, wait/2)
}

// amount is memory and cores that are to be given back.
type amount struct{ memory, cores int64 }

func (a *amount) add(r yarn.Resource, times int64) {
	a.memory += r.MemoryMB * times
	a.cores += int64(r.VCores) * times
}

// covers reports whether a is at least b.
func (a amount) covers(b amount) bool { return a.memory >= b.memory && a.cores >= b.cores }

// negotiate has as many executors leave as a contract asks for: first those that
// have not come up, then those without a task, then those that the
// ResourceManager has named, as it takes them if the others are not gone in time;
// among equals those with the fewest tasks, and the youngest. tasks are those
// that run on each executor, nil where it is not known.
func (f *fleet) negotiate(c contract, tasks map[string]int, now time.Time) {
	var wanted, asked, given amount
	named := make(map[*executor]bool, len(c.containers))
	for _, id := range c.containers {
		if e, ok := f.executors[id]; ok {
			named[e] = true
			wanted.add(e.container.Resource, 1)
			if !e.state.counts() {
				given.add(e.container.Resource, 1) // it leaves already
			}
		}
	}
	for _, request := range c.resources {
		asked.add(request.Resource, int64(request.Containers))
	}
	enough := func() bool {
		return given.covers(wanted) || len(c.resources) > 0 && given.covers(asked)
	}
	if enough() {
		return
	}
	cost := func(e *executor) int {
		switch {
		case e.state == stateLaunching:
			return 0
		case tasks != nil && tasks[e.id] == 0:
			return 1
		case named[e]:
			return 2
		default:
			return 3
		}
	}
	candidates := make([]*executor, 0, f.states[stateLaunching]+f.states[stateRegistered])
	for _, e := range f.executors {
		if e.state.counts() {
			candidates = append(candidates, e)
		}
	}
	slices.SortFunc(candidates, func(a, b *executor) int {
		return cmp.Or(cmp.Compare(cost(a), cost(b)), cmp.Compare(tasks[a.id], tasks[b.id]), youngestFirst(a, b))
	})
	chosen := 0
	for ; chosen < len(candidates) && !enough(); chosen++ {
		given.add(candidates[chosen].container.Resource, 1)
	}
	f.drain(candidates[:chosen], driver.Notice{Reason: "the ResourceManager wants resources back", Deadline: c.deadline}, preempted, now)
}
