package application

import (
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// desiredState is what the driver wants: the newest request for executors, the executors to
// stop, the registered ones, and whether the application has ended. A master gets all of
// this when the application attaches (opens a stream to it), and then only changes.
// desiredState does no I/O, reads no clock and is not safe for concurrent use.
type desiredState struct {
	request    *protocol.ExecutorRequest // the newest; nil before the first
	kills      map[uint32]struct{}       // executors to stop that are not known to have ended
	registered map[uint32]struct{}       // live executors that have registered with the driver
	finish     *protocol.Finish          // nil until the application ends

	unsent     *protocol.ApplicationMessage // the next message on the current stream; nil for none
	finishSent bool                         // finish was sent on the current stream
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

// executorEnded forgets an ended executor, because later masters need not know about it.
func (d *desiredState) executorEnded(id uint32) {
	delete(d.kills, id)
	delete(d.registered, id)
}

func (d *desiredState) setFinish(finish *protocol.Finish) {
	d.finish = finish
	d.changes().Finish = finish
}

// acknowledge confirms the ends of executors up to this sequence number to the master.
func (d *desiredState) acknowledge(sequence uint64) {
	changes := d.changes()
	changes.Acknowledged = max(changes.Acknowledged, sequence)
}

// changes returns the next message, to which the caller adds.
func (d *desiredState) changes() *protocol.ApplicationMessage {
	if d.unsent == nil {
		d.unsent = &protocol.ApplicationMessage{}
	}
	return d.unsent
}

// beginStream drops unsent changes. The caller then calls sendAll, which includes them.
func (d *desiredState) beginStream() { d.unsent, d.finishSent = nil, false }

// sendAll puts the whole state into the next message, for a new master.
func (d *desiredState) sendAll() {
	d.unsent = &protocol.ApplicationMessage{
		Request:      d.request,
		Kills:        slices.Sorted(maps.Keys(d.kills)),
		Registered:   slices.Sorted(maps.Keys(d.registered)),
		Acknowledged: d.unsent.GetAcknowledged(),
		Finish:       d.finish,
	}
}

// takeUnsent returns the message to send, or nil, and marks it as sent.
func (d *desiredState) takeUnsent() *protocol.ApplicationMessage {
	message := d.unsent
	d.unsent = nil
	d.finishSent = d.finishSent || message.GetFinish() != nil
	return message
}
