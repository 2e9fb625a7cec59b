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

// launched records that a NodeManager has accepted an executor. From then on, the executor must
// register with the driver within launchTimeout. There is no limit for an executor in an
// OPPORTUNISTIC container, because the node may queue the container.
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

// expireLaunches releases executors that have not registered by their deadline, and reports them as
// ended.
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

// launchFailed releases an executor that could not be started, and reports it as ended. If the
// executor has registered with the driver, only the NodeManager's answer was lost, and launchFailed
// does nothing.
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
		reason = reasonInvalidContainer // a restart of the ResourceManager has invalidated the container
	}
	s.giveUp(e, reason, fmt.Sprintf("could not be started on %s: %v", e.host(), err), now)
}

// giveUpOnExcluded calls giveUp for each executor on an excluded node, unless the NodeManager has
// accepted the executor.
func (s *state) giveUpOnExcluded(now time.Time) {
	for _, p := range s.profiles {
		for _, e := range slices.SortedFunc(maps.Keys(p.starting), youngestFirst) {
			if s.excluded.has(e.host()) {
				s.giveUp(e, reasonOnExcludedNode, "was not started, as its node "+e.host()+" is excluded", now)
			}
		}
	}
}

// giveUp releases the container of an executor that has not registered, and reports the executor as
// ended.
func (s *state) giveUp(e *executor, reason exitReason, text string, now time.Time) {
	s.remove(e)
	s.release(e.Container.ID, e.Container.Node)
	s.releasedBeforeStart = append(s.releasedBeforeStart, e)
	s.executorEnded(endedExecutor{executor: e, status: yarn.ExitKilledByApplicationMaster, reason: reason, loss: driver.Loss{Reason: text}}, now)
}

// executorEnded counts an ended executor, and queues a report to the driver.
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

// completed records the ends of containers. It ignores containers without an executor: containers
// that were released, and containers whose end a restarted ResourceManager reports again.
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

// kill releases the containers of executors that the driver kills.
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

// takeReleasedBeforeStart returns the executors that were released before they had registered, and
// clears their list. The launcher must not start these executors, or must stop them.
func (s *state) takeReleasedBeforeStart() []*executor {
	withdrawn := s.releasedBeforeStart
	s.releasedBeforeStart = nil
	return withdrawn
}

// takeEnded returns the ended executors to report to the driver, and clears their list.
func (s *state) takeEnded() []endedExecutor {
	ended := s.endedToReport
	s.endedToReport = nil
	return ended
}
