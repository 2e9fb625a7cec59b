package application

import (
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// state is all that a master is told, and what of it has not been sent over the
// stream that there is. It is pure: no I/O, no clock, no goroutine.
type state struct {
	id          string
	description *protocol.ApplicationDescription

	request    *protocol.ExecutorRequest // the newest; nil before the first
	live       map[uint32]bool           // executors; true of those that registered with the driver
	kills      map[uint32]struct{}       // executors to end that have not been told to have ended
	highest    uint32                    // of all executors' ids
	finish     *protocol.Finish          // nil until the application ends
	hindrance  string                    // why fewer executors than wanted can be had
	finishSent bool                      // over the stream that there is

	// pending is what has not been sent; nil for nothing.
	pending *protocol.ApplicationMessage
}

func newState(id string, description *protocol.ApplicationDescription, files *Files) state {
	return state{
		id: id, description: describe(description, files),
		live: map[uint32]bool{}, kills: map[uint32]struct{}{},
	}
}

// describe names the program and the files in the command.
func describe(description *protocol.ApplicationDescription, files *Files) *protocol.ApplicationDescription {
	if described := files.described(); len(described) > 0 {
		description.Command.Program, description.Command.Files = described[0], described[1:]
	}
	return description
}

// hello is the first message of a stream.
func (s *state) hello() *protocol.ApplicationMessage {
	return &protocol.ApplicationMessage{Hello: &protocol.ApplicationHello{
		Version:           protocol.Version,
		Registration:      s.id,
		ApplicationId:     s.id,
		Description:       s.description,
		Executors:         slices.Sorted(maps.Keys(s.live)),
		HighestExecutorId: s.highest,
	}}
}

// anew has all be sent to a master that knows nothing.
func (s *state) anew() {
	s.pending = &protocol.ApplicationMessage{
		Request:      s.request,
		Kills:        slices.Sorted(maps.Keys(s.kills)),
		Acknowledged: s.pending.GetAcknowledged(),
		Finish:       s.finish,
	}
	for _, id := range slices.Sorted(maps.Keys(s.live)) {
		if s.live[id] {
			s.pending.Registered = append(s.pending.Registered, id)
		}
	}
	s.finishSent = false
}

// take returns what is to be sent, or nil.
func (s *state) take() *protocol.ApplicationMessage {
	message := s.pending
	s.pending = nil
	if message.GetFinish() != nil {
		s.finishSent = true
	}
	return message
}

// next is where what is new goes.
func (s *state) next() *protocol.ApplicationMessage {
	if s.pending == nil {
		s.pending = &protocol.ApplicationMessage{}
	}
	return s.pending
}

func (s *state) want(request *protocol.ExecutorRequest) {
	s.request = request
	s.next().Request = request
}

func (s *state) kill(id uint32) {
	if _, open := s.kills[id]; open {
		return
	}
	s.kills[id] = struct{}{}
	message := s.next()
	message.Kills = append(message.Kills, id)
}

func (s *state) register(id uint32) {
	s.live[id] = true
	s.highest = max(s.highest, id)
	message := s.next()
	message.Registered = append(message.Registered, id)
}

func (s *state) end(finish *protocol.Finish) {
	s.finish = finish
	s.next().Finish = finish
}

// news is what an order says that the driver is to know.
type news struct {
	launched  []*protocol.ApplicationExecutor // that are new
	ends      []*protocol.ExecutorEnd
	notices   []*protocol.ExecutorNotice
	missing   []uint32 // executors that the master does not know of
	hindrance *string  // where it has changed
	end       *protocol.ApplicationEnd
}

// hear acts on an order.
func (s *state) hear(order *protocol.ApplicationOrder) news {
	told := news{notices: order.GetNotices(), end: order.GetEnd()}
	known := map[uint32]struct{}{}
	for _, executor := range order.GetExecutors() {
		id := executor.GetId()
		known[id] = struct{}{}
		s.highest = max(s.highest, id)
		if _, there := s.live[id]; !there {
			s.live[id] = false
			told.launched = append(told.launched, executor)
		}
	}
	for _, end := range order.GetEnds() {
		id := end.GetId()
		s.highest = max(s.highest, id)
		s.forget(id)
		told.ends = append(told.ends, end)
		message := s.next()
		message.Acknowledged = max(message.Acknowledged, end.GetSequence())
	}
	if order.GetComplete() {
		for _, id := range slices.Sorted(maps.Keys(s.live)) {
			if _, there := known[id]; !there {
				s.forget(id)
				told.missing = append(told.missing, id)
			}
		}
	}
	if order.Hindrance != nil && order.GetHindrance() != s.hindrance {
		s.hindrance = order.GetHindrance()
		told.hindrance = order.Hindrance
	}
	return told
}

func (s *state) forget(id uint32) {
	delete(s.live, id)
	delete(s.kills, id)
}
