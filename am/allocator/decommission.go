package allocator

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

// driverNotice is a message to the driver: YARN will end the containers of these executors.
type driverNotice struct {
	ids    []string
	notice driver.DecommissionNotice
}

// takeNotices returns the notices to the driver, and clears the list.
func (s *state) takeNotices() []driverNotice {
	notices := s.notices
	s.notices = nil
	return notices
}

// nodesChanged applies node reports and returns the lost nodes. The caller must cancel launches on
// a lost node, even if reports also says that the node is running again. The ResourceManager
// reports the ends of containers on lost nodes separately.
func (s *state) nodesChanged(reports []yarn.NodeReport, now time.Time) (lost []yarn.NodeID) {
	for _, report := range lostFirst(reports) {
		if s.topology.report(report) {
			s.excluded.invalidate()
			s.replanAll()
		}
		if report.State == yarn.NodeDecommissioning {
			notice := driver.DecommissionNotice{Reason: fmt.Sprintf("its node %s is being decommissioned", report.ID.Host), NodeLeaves: true}
			if report.DecommissioningTimeout > 0 {
				notice.Deadline = now.Add(report.DecommissioningTimeout)
			}
			s.decommission(slices.Clone(s.byNode[report.ID]), notice, reasonNodeDecommissioned, now)
		}
		if isLost(report.State) {
			lost = append(lost, report.ID)
		} else {
			s.releaseAgain(report.ID)
		}
	}
	return lost
}

// lostFirst moves the reports of lost nodes to the front. If a node was lost and is running again,
// the answer to a heartbeat contains two reports of the node, in random order
// (DefaultAMSProcessor.handleNodeUpdates).
func lostFirst(reports []yarn.NodeReport) []yarn.NodeReport {
	var before, after []yarn.NodeReport
	for _, report := range reports {
		if isLost(report.State) {
			before = append(before, report)
		} else {
			after = append(after, report)
		}
	}
	return append(before, after...)
}

// isLost reports whether a node in this state is lost. If the NodeManager of a lost node registers
// again, the ResourceManager treats the node as a new node (RMNodeImpl).
func isLost(state yarn.NodeState) bool {
	switch state {
	case yarn.NodeLost, yarn.NodeDecommissioned, yarn.NodeShutdown, yarn.NodeRebooted:
		return true
	}
	return false
}

// Reasons for the release of executors that had not registered with the driver.
var (
	reasonNodeDecommissioned = exitReason{text: "node decommissioned"}
	reasonPreempted          = reasonByStatus[yarn.ExitPreempted]
)

// decommission starts the decommissioning of executors whose containers YARN will end. These
// executors no longer count towards the driver's demand. decommission releases executors that have
// not registered with the driver, and queues a notice to the driver about the others.
func (s *state) decommission(executors []*executor, why driver.DecommissionNotice, reason exitReason, now time.Time) {
	var ids []string
	for _, e := range executors {
		switch e.state {
		case stateLaunching:
			s.giveUp(e, reason, "was released before it had registered: "+why.Reason, now)
			continue
		case stateRegistered:
			s.setState(e, stateDecommissioning)
			e.reason = why.Reason
		case stateEnding:
			continue
		}
		ids = append(ids, e.ID) // report e even if it is already decommissioning, because the driver uses the earlier of two deadlines
	}
	if len(ids) > 0 {
		s.notices = append(s.notices, driverNotice{ids, why})
	}
}

// preempt decommissions the executors of containers that the ResourceManager will certainly
// preempt.
func (s *state) preempt(containers []yarn.ContainerID, deadline, now time.Time) {
	var named []*executor
	for _, id := range containers {
		if e, ok := s.executors[id]; ok {
			named = append(named, e)
		}
	}
	s.decommission(named, driver.DecommissionNotice{Reason: "the ResourceManager preempts its container", Deadline: deadline}, reasonPreempted, now)
}

// preemptionContract is YARN's PreemptionContract. The ResourceManager preempts the containers in
// the contract, unless the application first releases the same amount of resources, in any
// containers. Schedulers round the resources in the contract up to a multiple of their minimum
// allocation (FiCaSchedulerApp.getAllocation).
type preemptionContract struct {
	containers []yarn.ContainerID
	resources  []yarn.ResourceRequest
	deadline   time.Time
}

// preemptionWarning returns the minimum time, according to the cluster's configuration, from the
// heartbeat that announces a preemption to the preemption.
func preemptionWarning(hadoop *conf.Config, heartbeat time.Duration) time.Duration {
	const defaultWait = 15 * time.Second // Hadoop's default for both keys
	key := "yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill"
	if strings.HasSuffix(hadoop.GetDefault("yarn.resourcemanager.scheduler.class", ""), "FairScheduler") {
		key = "yarn.scheduler.fair.waitTimeBeforeKill"
	}
	wait, err := hadoop.Duration(key, defaultWait, time.Millisecond)
	if err != nil {
		wait = defaultWait
	}
	return max(wait-heartbeat, wait/2)
}

// amount is an amount of memory in MiB, and of cores.
type amount struct{ memory, cores int64 }

func (a *amount) add(r yarn.Resource, times int64) {
	a.memory += r.MemoryMB * times
	a.cores += int64(r.VCores) * times
}

func (a amount) covers(b amount) bool { return a.memory >= b.memory && a.cores >= b.cores }

// satisfyContract decommissions as many executors as the contract requires. It first chooses
// executors that have not registered, then executors without running tasks, then executors in the
// contract, and then all others. In each group, it first chooses the executors with the fewest
// tasks, and then the youngest. tasks is the number of running tasks by executor id; nil if it is
// unknown.
func (s *state) satisfyContract(c preemptionContract, tasks map[string]int, now time.Time) {
	var wanted, asked, given amount
	named := make(map[*executor]bool, len(c.containers))
	for _, id := range c.containers {
		if e, ok := s.executors[id]; ok {
			named[e] = true
			wanted.add(e.Container.Resource, 1)
			if !e.state.counts() {
				given.add(e.Container.Resource, 1) // the container will end even if it is not chosen for decommissioning
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
		case tasks != nil && tasks[e.ID] == 0:
			return 1
		case named[e]:
			return 2
		default:
			return 3
		}
	}
	candidates := make([]*executor, 0, s.states[stateLaunching]+s.states[stateRegistered])
	for _, e := range s.executors {
		if e.state.counts() {
			candidates = append(candidates, e)
		}
	}
	slices.SortFunc(candidates, func(a, b *executor) int {
		return cmp.Or(cmp.Compare(cost(a), cost(b)), cmp.Compare(tasks[a.ID], tasks[b.ID]), youngestFirst(a, b))
	})
	numChosen := 0
	for ; numChosen < len(candidates) && !enough(); numChosen++ {
		given.add(candidates[numChosen].Container.Resource, 1)
	}
	s.decommission(candidates[:numChosen], driver.DecommissionNotice{Reason: "the ResourceManager wants resources back", Deadline: c.deadline}, reasonPreempted, now)
}
