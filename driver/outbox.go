package driver

import (
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// outbox is what waits to be sent to one executor. The event loop puts in
// without ever waiting; the goroutine of the stream sends all there is.
type outbox struct {
	ready chan struct{} // holds a token where something was put in, or the box was closed

	mu      sync.Mutex
	waiting *wire.DriverMessage // of any size; nil where there is nothing
	closed  bool                // nothing more comes
	reason  error               // with which drain then returns
}

func newOutbox() *outbox { return &outbox{ready: make(chan struct{}, 1)} }

// put adds a message. It is merged with the one that waits, which the order in
// which executors act on fields allows: see wire.DriverMessage.
func (o *outbox) put(message *wire.DriverMessage) {
	o.mu.Lock()
	if o.waiting == nil {
		o.waiting = message
	} else {
		join(o.waiting, message)
	}
	o.mu.Unlock()
	o.signal()
}

func join(into, message *wire.DriverMessage) {
	if message.Registered != nil {
		into.Registered = message.Registered
	}
	if message.Refused != nil {
		into.Refused = message.Refused
	}
	into.TaskSets = append(into.TaskSets, message.TaskSets...)
	into.Launches = append(into.Launches, message.Launches...)
	into.Kills = append(into.Kills, message.Kills...)
	into.Forget = append(into.Forget, message.Forget...)
	into.Release = append(into.Release, message.Release...)
	into.Recall = into.Recall || message.Recall
	into.Fetches = append(into.Fetches, message.Fetches...)
	into.CommitReplies = append(into.CommitReplies, message.CommitReplies...)
	into.BarrierReleases = append(into.BarrierReleases, message.BarrierReleases...)
	into.BarrierPeers = append(into.BarrierPeers, message.BarrierPeers...)
	if message.Stop != nil {
		into.Stop = message.Stop
	}
	if message.Decommission != nil {
		into.Decommission = message.Decommission
	}
}

// close ends the sending once what waits was sent; drain then returns reason.
func (o *outbox) close(reason error) {
	o.mu.Lock()
	if !o.closed {
		o.closed, o.reason = true, reason
	}
	o.mu.Unlock()
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

func (o *outbox) take() (message *wire.DriverMessage, closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	message, o.waiting = o.waiting, nil
	return message, o.closed
}

// drain sends what comes until the box is closed. It waits for that alone: a
// select, over channels that all streams have in common at that, would cost
// much of what a message does.
func (o *outbox) drain(stream wire.DriverSide) error {
	for {
		<-o.ready
		message, closed := o.take()
		if message != nil {
			if err := sendSplit(stream, message); err != nil {
				return err
			}
		}
		if closed {
			return o.reason
		}
	}
}

// itemOverhead is about what launches or a task set take in a message beside their
// payload.
const itemOverhead = 64

// sendSplit sends a message as several if it is much larger than wire.MaxPart.
// What executors act on before task sets and launches goes with the first, what
// they act on after them with the last.
func sendSplit(stream wire.DriverSide, message *wire.DriverMessage) error {
	for {
		sets, launches, size := 0, 0, 0
		for ; sets < len(message.TaskSets) && size < wire.MaxPart; sets++ {
			size += len(message.TaskSets[sets].Common) + itemOverhead
		}
		if sets == len(message.TaskSets) {
			for ; launches < len(message.Launches) && size < wire.MaxPart; launches++ {
				size += message.Launches[launches].Size() + itemOverhead
			}
		}
		if sets == len(message.TaskSets) && launches == len(message.Launches) {
			return stream.Send(message)
		}
		rest := &wire.DriverMessage{
			TaskSets: message.TaskSets[sets:], Launches: message.Launches[launches:],
			Kills: message.Kills, Forget: message.Forget, Fetches: message.Fetches, Stop: message.Stop,
		}
		message.TaskSets, message.Launches = message.TaskSets[:sets], message.Launches[:launches]
		message.Kills, message.Forget, message.Fetches, message.Stop = nil, nil, nil, nil
		if err := stream.Send(message); err != nil {
			return err
		}
		message = rest
	}
}
