package driver

import (
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// mailbox is the queue of one stream to an executor. The event loop adds
// messages without waiting; the stream's goroutine sends them.
type mailbox struct {
	ready chan struct{} // holds a token if there is a message or the mailbox was closed

	mu      sync.Mutex
	waiting *wire.DriverMessage // merged from all that are not sent; nil for none
	closed  bool
	reason  error // that drain returns after the mailbox was closed
}

func newMailbox() *mailbox { return &mailbox{ready: make(chan struct{}, 1)} }

// put adds a message. It is merged with the one that waits, which the order in
// which executors act on the fields allows: see wire.DriverMessage.
func (m *mailbox) put(message *wire.DriverMessage) {
	m.mu.Lock()
	if m.waiting == nil {
		m.waiting = message
	} else {
		merge(m.waiting, message)
	}
	m.mu.Unlock()
	m.signal()
}

// merge adds a later message. TestMergeCarriesEveryField fails for a field of
// wire.DriverMessage that is missing here.
func merge(into, message *wire.DriverMessage) {
	if message.Registered != nil {
		into.Registered = message.Registered
	}
	if message.Refused != nil {
		into.Refused = message.Refused
	}
	if message.Decommission != nil {
		into.Decommission = message.Decommission
	}
	into.Release = append(into.Release, message.Release...)
	into.TaskSets = append(into.TaskSets, message.TaskSets...)
	into.BarrierPeers = append(into.BarrierPeers, message.BarrierPeers...)
	into.CommitReplies = append(into.CommitReplies, message.CommitReplies...)
	into.BarrierReleases = append(into.BarrierReleases, message.BarrierReleases...)
	into.Recall = into.Recall || message.Recall
	into.Launches = append(into.Launches, message.Launches...)
	into.Kills = append(into.Kills, message.Kills...)
	into.Forget = append(into.Forget, message.Forget...)
	into.Fetches = append(into.Fetches, message.Fetches...)
	if message.Stop != nil {
		into.Stop = message.Stop
	}
}

// close ends drain with a reason after it has sent what waits. Only the first
// reason counts.
func (m *mailbox) close(reason error) {
	m.mu.Lock()
	if !m.closed {
		m.closed, m.reason = true, reason
	}
	m.mu.Unlock()
	m.signal()
}

func (m *mailbox) signal() {
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

func (m *mailbox) take() (message *wire.DriverMessage, closed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	message, m.waiting = m.waiting, nil
	return message, m.closed
}

// drain sends messages until the mailbox is closed or sending fails. It receives
// from one channel only: a select over channels that all streams share would cost
// nearly as much as a message.
func (m *mailbox) drain(stream wire.DriverSide) error {
	for {
		<-m.ready
		message, closed := m.take()
		if message != nil {
			if err := sendSplit(stream, message); err != nil {
				return err
			}
		}
		if closed {
			return m.reason
		}
	}
}

// itemOverhead is about what a launch or a task set takes in a message beside its
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
