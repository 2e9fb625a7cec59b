package application

import (
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// state has an application's description and desired state, and the executors that masters
// have reported. It does no I/O, reads no clock and is not safe for concurrent use.
type state struct {
	desiredState
	id          string
	description *protocol.ApplicationDescription

	live       map[uint32]struct{} // executors that have not ended
	highestID  uint32              // the highest executor id so far
	waitReason string              // why the master cannot launch all requested executors
}

func newState(id string, description *protocol.ApplicationDescription, files *HashedFiles) state {
	if described := files.Described(); len(described) > 0 {
		description.Command.Program, description.Command.Files = described[0], described[1:]
	}
	return state{desiredState: newDesired(), id: id, description: description, live: map[uint32]struct{}{}}
}

// hello returns the first message of a stream, which registers the application.
func (s *state) hello() *protocol.ApplicationMessage {
	return &protocol.ApplicationMessage{Hello: &protocol.ApplicationHello{
		Version:           protocol.Version,
		Registration:      s.id,
		ApplicationId:     s.id,
		Description:       s.description,
		Executors:         slices.Sorted(maps.Keys(s.live)),
		HighestExecutorId: s.highestID,
	}}
}

func (s *state) executorRegistered(id uint32) {
	s.addLive(id)
	s.desiredState.executorRegistered(id)
}

// addLive adds a running executor, and reports whether the executor is new.
func (s *state) addLive(id uint32) bool {
	s.highestID = max(s.highestID, id)
	if _, known := s.live[id]; known {
		return false
	}
	s.live[id] = struct{}{}
	return true
}

func (s *state) executorEnded(id uint32) {
	s.highestID = max(s.highestID, id)
	delete(s.live, id)
	s.desiredState.executorEnded(id)
}

// orderEffects are the effects of a master's message that are passed to the driver or logged.
type orderEffects struct {
	launched   []*protocol.ApplicationExecutor // executors that were not known before
	ends       []*protocol.ExecutorEnd
	notices    []*protocol.ExecutorNotice
	missing    []uint32 // running executors that the master does not know
	waitReason *string  // nil means unchanged
	end        *protocol.ApplicationEnd
}

// receive applies a message of the master to the state.
func (s *state) receive(order *protocol.ApplicationOrder) orderEffects {
	n := orderEffects{ends: order.GetEnds(), notices: order.GetNotices(), end: order.GetEnd()}
	reported := map[uint32]struct{}{}
	for _, executor := range order.GetExecutors() {
		reported[executor.GetId()] = struct{}{}
		if s.addLive(executor.GetId()) {
			n.launched = append(n.launched, executor)
		}
	}
	for _, end := range order.GetEnds() {
		s.executorEnded(end.GetId())
		s.acknowledge(end.GetSequence())
	}
	if order.GetComplete() {
		for _, id := range slices.Sorted(maps.Keys(s.live)) {
			if _, ok := reported[id]; !ok {
				s.executorEnded(id)
				n.missing = append(n.missing, id)
			}
		}
	}
	if order.Hindrance != nil && order.GetHindrance() != s.waitReason {
		s.waitReason = order.GetHindrance()
		n.waitReason = order.Hindrance
	}
	return n
}
