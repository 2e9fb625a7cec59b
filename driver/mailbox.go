package driver

import (
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// mailbox contains the messages that wait to be sent over an executor's stream. The event loop
// adds messages without blocking, and a goroutine of the stream sends them.
type mailbox struct {
	ready chan struct{} // has an element if a message waits or the mailbox has been closed

	mu          sync.Mutex
	waiting     *wire.DriverMessage // all unsent messages, merged into one; nil if there are none
	closed      bool
	closeReason error // return value of drain after the mailbox is closed
}

func newMailbox() *mailbox { return &mailbox{ready: make(chan struct{}, 1)} }

// put adds a message. It merges the message into a message that has not been sent, if there is
// one. This is correct because executors act on the fields of a message in a fixed order; see
// wire.DriverMessage.
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

// merge adds the fields of a message to an earlier message. TestMergeCarriesEveryField fails if
// merge omits a field of wire.DriverMessage.
func merge(into, message *wire.DriverMessage) {
	if message.Registered != nil {
		into.Registered = message.Registered
	}
	if message.Refused != nil {
		into.Refused = message.Refused
	}
	if message.Credentials != nil {
		into.Credentials = message.Credentials
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
	into.Profiles = append(into.Profiles, message.Profiles...)
	if message.Stop != nil {
		into.Stop = message.Stop
	}
}

// close makes drain send the waiting messages and then return reason. If the mailbox is already
// closed, close does nothing.
func (m *mailbox) close(reason error) {
	m.mu.Lock()
	if !m.closed {
		m.closed, m.closeReason = true, reason
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

// drain sends messages until the mailbox is closed or a send fails. It receives from only one
// channel: a select with a second channel that all streams share would take nearly as long as
// sending a message.
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
			return m.closeReason
		}
	}
}

// bytesPerInput is the approximate size in bytes of a launch or a task set without its inputs.
const bytesPerInput = 64

// sendSplit sends a message. If the inputs in it take more than wire.MaxPart bytes, it sends
// several messages. The first one contains the fields that executors act on before task sets and
// launches, the last one the fields that executors act on after them.
func sendSplit(stream wire.DriverSide, message *wire.DriverMessage) error {
	for {
		sets, launches, size := 0, 0, 0
		for ; sets < len(message.TaskSets) && size < wire.MaxPart; sets++ {
			size += len(message.TaskSets[sets].Common) + bytesPerInput
		}
		if sets == len(message.TaskSets) {
			for ; launches < len(message.Launches) && size < wire.MaxPart; launches++ {
				size += message.Launches[launches].Size() + bytesPerInput
			}
		}
		if sets == len(message.TaskSets) && launches == len(message.Launches) {
			return stream.Send(message)
		}
		rest := &wire.DriverMessage{
			TaskSets: message.TaskSets[sets:], Launches: message.Launches[launches:],
			Kills: message.Kills, Forget: message.Forget, Profiles: message.Profiles, Fetches: message.Fetches, Stop: message.Stop,
		}
		message.TaskSets, message.Launches = message.TaskSets[:sets], message.Launches[:launches]
		message.Kills, message.Forget, message.Profiles, message.Fetches, message.Stop = nil, nil, nil, nil, nil
		if err := stream.Send(message); err != nil {
			return err
		}
		message = rest
	}
}
