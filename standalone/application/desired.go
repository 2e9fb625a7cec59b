package application

import (
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// desiredState is the state that the driver wants: the latest request for executors, the
// executors to stop, the executors that have registered with the driver, and whether the
// application has ended. When the application attaches to a master (opens a stream to it), it
// sends the master this whole state, and then only changes. desiredState does no I/O, reads no
// clock and is not safe for concurrent use.
type desiredState struct {
	request    *protocol.ExecutorRequest // the latest request; nil before the first
	kills      map[uint32]struct{}       // executors to stop whose end was not reported yet
	registered map[uint32]struct{}       // live executors that have registered with the driver
	finish     *protocol.Finish          // nil until the application ends

	unsent     *protocol.ApplicationMessage // the next message on the current stream; nil if there is nothing to send
	finishSent bool                         // whether finish was sent on the current stream
}

func newDesired() desiredState {
	return desiredState{kills: map[uint32]struct{}{}, registered: map[uint32]struct{}{}}
}

func (d *desiredState) setRequest(request *protocol.ExecutorRequest) {
	d.request = request
	d.changes().Request = request
}

func (d *desiredState) killExecutor(id uint32) {
	if _, known := d.kills[id]; known {
		return
	}
	d.kills[id] = struct{}{}
	changes := d.changes()
	changes.Kills = append(changes.Kills, id)
}

func (d *desiredState) executorRegistered(id uint32) {
	d.registered[id] = struct{}{}
	changes := d.changes()
	changes.Registered = append(changes.Registered, id)
}

// executorEnded removes an ended executor, so that later masters do not receive its id.
func (d *desiredState) executorEnded(id uint32) {
	delete(d.kills, id)
	delete(d.registered, id)
}

func (d *desiredState) setFinish(finish *protocol.Finish) {
	d.finish = finish
	d.changes().Finish = finish
}

// acknowledge adds to the next message that the application has received every end of an
// executor with a sequence number up to sequence.
func (d *desiredState) acknowledge(sequence uint64) {
	changes := d.changes()
	changes.Acknowledged = max(changes.Acknowledged, sequence)
}

// changes returns the next message to send. The caller adds a change to it.
func (d *desiredState) changes() *protocol.ApplicationMessage {
	if d.unsent == nil {
		d.unsent = &protocol.ApplicationMessage{}
	}
	return d.unsent
}

// beginStream removes the unsent changes. The caller must then call sendAll, which sends the
// whole state.
func (d *desiredState) beginStream() { d.unsent, d.finishSent = nil, false }

// sendAll sets the next message to the whole state, for a new master.
func (d *desiredState) sendAll() {
	d.unsent = &protocol.ApplicationMessage{
		Request:      d.request,
		Kills:        slices.Sorted(maps.Keys(d.kills)),
		Registered:   slices.Sorted(maps.Keys(d.registered)),
		Acknowledged: d.unsent.GetAcknowledged(),
		Finish:       d.finish,
	}
}

// takeUnsent returns the next message and marks it as sent. It returns nil if there is nothing
// to send.
func (d *desiredState) takeUnsent() *protocol.ApplicationMessage {
	message := d.unsent
	d.unsent = nil
	d.finishSent = d.finishSent || message.GetFinish() != nil
	return message
}
