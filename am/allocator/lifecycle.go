package allocator

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/am/launcher"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// launched records that a NodeManager accepted an executor. The executor must then register
// with the driver within launchTimeout. This does not apply to an executor in an
// OPPORTUNISTIC container, which may be queued on the node.
func (s *state) launched(id yarn.ContainerID, now time.Time) {
	e, ok := s.executors[id]
	if !ok || e.accepted {
		return
	}
	e.accepted = true
	delete(e.profile.starting, e)
	if e.state != stateLaunching || s.launchTimeout <= 0 || e.Profile.Opportunistic {
		return
	}
	e.registerBy = now.Add(s.launchTimeout)
	s.awaitingRegistration = append(s.awaitingRegistration, e)
}

func (s *state) registered(id string) {
	if e, ok := s.byID[id]; ok && e.state == stateLaunching {
		e.accepted = true
		delete(e.profile.starting, e)
		s.setState(e, stateRegistered)
	}
}

// expireLaunches gives up executors that have not registered in time.
func (s *state) expireLaunches(now time.Time) {
	for len(s.awaitingRegistration) > 0 {
		e := s.awaitingRegistration[0]
		if e.state == stateLaunching && s.executors[e.Container.ID] == e {
			if now.Before(e.registerBy) {
				return
			}
			text := fmt.Sprintf("did not register with the driver within %v (yarn.executor.launchTimeout): see its log on %s", s.launchTimeout, e.host())
			s.giveUp(e, reasonNotRegistered, text, now)
		}
		s.awaitingRegistration = s.awaitingRegistration[1:]
	}
	s.awaitingRegistration = nil
}

// launchFailed gives up an executor that could not be started. It ignores the failure if the
// executor has registered with the driver, because then only the NodeManager's answer was
// lost.
func (s *state) launchFailed(id yarn.ContainerID, err error, now time.Time) {
	e, ok := s.executors[id]
	if !ok || e.state != stateLaunching {
		return
	}
	reason := reasonNotLaunched
	switch {
	case errors.Is(err, launcher.ErrNodeLost):
		reason = reasonByStatus[yarn.ExitAborted]
	case errors.Is(err, launcher.ErrContainerToken):
		reason = reasonTokenRefused
	case errors.Is(err, yarn.ErrInvalidContainer):
		reason = reasonInvalidContainer // the ResourceManager that allocated it has restarted
	}
	s.giveUp(e, reason, fmt.Sprintf("could not be started on %s: %v", e.host(), err), now)
}

// giveUpOnExcluded gives up executors on excluded nodes that no NodeManager has accepted.
func (s *state) giveUpOnExcluded(now time.Time) {
	for _, p := range s.profiles {
		for _, e := range slices.SortedFunc(maps.Keys(p.starting), youngestFirst) {
			if s.excluded.has(e.host()) {
				s.giveUp(e, reasonOnExcludedNode, "was not started, as its node "+e.host()+" is excluded", now)
			}
		}
	}
}

// giveUp releases an unregistered executor's container, and reports the executor as ended.
func (s *state) giveUp(e *executor, reason exitReason, text string, now time.Time) {
	s.remove(e)
	s.release(e.Container.ID, e.Container.Node)
	s.releasedBeforeStart = append(s.releasedBeforeStart, e)
	s.executorEnded(endedExecutor{executor: e, status: yarn.ExitKilledByApplicationMaster, reason: reason, loss: driver.Loss{Reason: text}}, now)
}

// executorEnded counts an ended executor and queues the report for the driver.
func (s *state) executorEnded(ended endedExecutor, now time.Time) {
	e, reason, text := ended.executor, ended.reason, ended.loss.Reason
	s.failures.count(reason, e.describe(text), now)
	if reason.countsAsFailure || e.state == stateLaunching && !reason.expected {
		s.containerFailed(e.profile, e.describe(text), now)
	}
	if reason.countsAgainstNode {
		s.excluded.failed(e.host(), text, now)
	}
	s.endedToReport = append(s.endedToReport, ended)
}

// completed records the ends of containers. It reports no executor as ended for a container
// without one: a released container, or one that a restarted ResourceManager reports again.
func (s *state) completed(statuses []yarn.ContainerStatus, now time.Time) {
	for _, status := range statuses {
		if _, ok := s.releasing[status.ID]; ok {
			delete(s.releasing, status.ID)
			s.changed = true
		}
		e, ok := s.executors[status.ID]
		if !ok {
			s.unknownCompleted[status.ID] = struct{}{}
			continue
		}
		s.remove(e)
		ended := endedExecutor{executor: e, status: status.ExitStatus}
		switch {
		case s.stopped:
			ended.loss, ended.reason = driver.Loss{Reason: reasonEndedWithApplication.text}, reasonEndedWithApplication
		case e.state == stateEnding:
			ended.loss, ended.reason = driver.Loss{Reason: e.reason}, reasonEndedByDriver
		case e.state == stateDecommissioning:
			ended.loss, ended.reason = driver.Loss{Reason: "left: " + e.reason}, reasonDecommissioned
		default:
			ended.loss, ended.reason = classifyExit(status, e.Profile)
		}
		s.executorEnded(ended, now)
	}
}

// kill releases executors that the driver kills.
func (s *state) kill(ids []string, now time.Time) {
	for _, id := range ids {
		e, ok := s.byID[id]
		if !ok || e.state == stateEnding {
			continue
		}
		const reason = "was ended by the driver"
		switch e.state {
		case stateLaunching:
			if !e.accepted {
				s.giveUp(e, reasonEndedByDriver, reason, now)
				continue
			}
			s.releasedBeforeStart = append(s.releasedBeforeStart, e)
			e.reason = reason
		case stateRegistered:
			e.reason = reason
		}
		s.setState(e, stateEnding)
		s.release(e.Container.ID, e.Container.Node)
	}
}

// takeReleasedBeforeStart returns and clears the executors that were released before they
// registered. The launcher must not start them, or must stop them.
func (s *state) takeReleasedBeforeStart() []*executor {
	withdrawn := s.releasedBeforeStart
	s.releasedBeforeStart = nil
	return withdrawn
}

// takeEnded returns and clears the ended executors.
func (s *state) takeEnded() []endedExecutor {
	ended := s.endedToReport
	s.endedToReport = nil
	return ended
}
