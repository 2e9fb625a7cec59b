package application

import (
	"maps"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// masterModel is the state that a master derives from the messages on its stream.
type masterModel struct {
	request    *protocol.ExecutorRequest
	kills      map[uint32]bool
	registered map[uint32]bool
	finished   bool
}

func newMasterModel() *masterModel {
	return &masterModel{kills: map[uint32]bool{}, registered: map[uint32]bool{}}
}

func (m *masterModel) receive(message *protocol.ApplicationMessage) {
	if message == nil {
		return
	}
	if message.GetRequest() != nil {
		m.request = message.GetRequest()
	}
	for _, id := range message.GetKills() {
		m.kills[id] = true
	}
	for _, id := range message.GetRegistered() {
		m.registered[id] = true
	}
	m.finished = m.finished || message.GetFinish() != nil
}

// TestTheLastMasterKnowsEverything replaces masters at random, and loses messages when a
// stream ends. At the end, the last master must have received the application's request and
// its running executors.
func TestTheLastMasterKnowsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, master := newTestState(), newMasterModel()
		s.sendAll()
		ended := map[uint32]bool{}
		id := rapid.Uint32Range(1, 8)
		t.Repeat(map[string]func(*rapid.T){
			"want": func(t *rapid.T) {
				s.setRequest(&protocol.ExecutorRequest{ExcludedHosts: []string{rapid.StringN(0, 3, -1).Draw(t, "host")}})
			},
			"launched": func(t *rapid.T) {
				if n := id.Draw(t, "id"); !ended[n] {
					s.receive(&protocol.ApplicationOrder{Executors: executors(n)})
				}
			},
			"registered": func(t *rapid.T) {
				if n := id.Draw(t, "id"); !ended[n] {
					s.executorRegistered(n)
				}
			},
			"kill": func(t *rapid.T) {
				if n := id.Draw(t, "id"); !ended[n] {
					s.killExecutor(n)
				}
			},
			"end": func(t *rapid.T) {
				n := id.Draw(t, "id")
				ended[n] = true
				s.receive(&protocol.ApplicationOrder{Ends: []*protocol.ExecutorEnd{{Id: n, Sequence: 1}}})
				delete(master.kills, n)
				delete(master.registered, n)
			},
			"send":   func(*rapid.T) { master.receive(s.takeUnsent()) },
			"finish": func(*rapid.T) { s.setFinish(&protocol.Finish{}) },
			"another master": func(*rapid.T) {
				s.takeUnsent() // the message is lost
				master = newMasterModel()
				s.sendAll()
			},
			"": func(t *rapid.T) {
				if s.unsent != nil {
					return
				}
				registered, kills := map[uint32]bool{}, map[uint32]bool{}
				for n := range s.registered {
					registered[n] = true
				}
				for n := range s.kills {
					kills[n] = true
				}
				// A master may be sent executors that have already ended.
				for n := range ended {
					delete(master.registered, n)
					delete(master.kills, n)
				}
				if !proto.Equal(s.request, master.request) || !maps.Equal(registered, master.registered) || !maps.Equal(kills, master.kills) ||
					master.finished != (s.finish != nil) {
					t.Fatalf("the master knows %+v, and the application %+v", master, s)
				}
			},
		})
	})
}
