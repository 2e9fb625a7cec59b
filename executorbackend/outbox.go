package executorbackend

import (
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// outbox collects what an executor sends to its driver. A goroutine that adds an item sends all
// items in the outbox. If another goroutine is already sending, that goroutine also sends the
// added item. So a single update is sent without a goroutine switch, and many updates are sent
// in one message.
type outbox struct {
	send     func(*wire.ExecutorMessage) error
	executor *executor

	mu             sync.Mutex
	releasedKeys   []string // keys of held data whose removal is to be acknowledged
	updates        []*wire.TaskUpdate
	window         *wire.Window // number of tasks that the driver may queue at this executor; sent with the next updates
	delayed        *time.Timer  // sends the updates that the method report has delayed; nil if none are delayed
	fetches        []*fetch     // fetches of stored results, which send one part each in turn
	heartbeat      *wire.Heartbeat
	decommission   *wire.Decommission // the decommission request to send, or nil
	newHeldKeys    []string           // keys of held data to report to the driver
	commitRequests []uint64
	arrivals       []*wire.BarrierArrival
	credentials    uint64 // version of delegation tokens to acknowledge; 0 for none
	profiles       []*wire.Profile
	sending        bool      // whether a goroutine is sending
	sendStarted    time.Time // when the current send began
	broken         bool      // set when a send has failed; Recv then returns the reason
}

// put adds updates and sends them.
func (o *outbox) put(updates ...*wire.TaskUpdate) {
	o.mu.Lock()
	o.updates = append(o.updates, updates...)
	o.flush()
}

// reportDelay limits how long the executor delays the report of an ended task. Reports are
// delayed only while the executor has queued tasks to run. One message then reports the ends of
// several tasks, because sending a message takes much longer than running a very short task. The
// limit is half of queuedTimePerCore, so that the driver gets reports, and can send more tasks,
// before the executor's queue is empty.
const reportDelay = queuedTimePerCore / 2

// report adds a window and an update, which may be nil. If more is true, the caller expects to
// report again soon, and the update is not sent at once. It is sent with the next update that is
// sent, or after reportDelay.
func (o *outbox) report(window *wire.Window, more bool, update *wire.TaskUpdate) {
	o.mu.Lock()
	if o.window = window; update != nil {
		o.updates = append(o.updates, update)
	}
	if !more {
		o.flush()
		return
	}
	if o.delayed == nil {
		o.delayed = time.AfterFunc(reportDelay, o.flushNow)
	}
	o.mu.Unlock()
}

// stopTimer stops the timer of delayed updates. It is called when the stream has ended.
func (o *outbox) stopTimer() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.delayed != nil {
		o.delayed.Stop()
	}
}

// sendHeartbeat adds a heartbeat and sends it. If the previous heartbeat has not been sent, the
// new one replaces it.
func (o *outbox) sendHeartbeat(heartbeat *wire.Heartbeat) {
	o.mu.Lock()
	o.heartbeat = heartbeat
	o.flush()
}

// hold records a key under which a task has declared held data, and sends the key. The key is
// sent before any update that is added later.
func (o *outbox) hold(key string) {
	key = wire.HoldKey(key)
	o.mu.Lock()
	if !o.executor.holdKey(key) {
		o.mu.Unlock()
		return
	}
	o.newHeldKeys = append(o.newHeldKeys, key)
	o.flush()
}

// requestDecommission sends a request to decommission the executor. The request is sent before
// updates that are added later. So when the driver learns from these updates that cores are
// free, it launches no tasks on them.
func (o *outbox) requestDecommission(reason string) {
	o.mu.Lock()
	o.decommission = &wire.Decommission{Reason: reason}
	o.flush()
}

// release removes keys of held data, and adds the acknowledgement of the removal. It does not
// send the acknowledgement: a send may block, and the caller must receive the driver's next
// message, which may be urgent.
func (o *outbox) release(keys []string) {
	o.executor.release(keys)
	o.mu.Lock()
	o.releasedKeys = append(o.releasedKeys, keys...)
	o.mu.Unlock()
}

// fetch adds the driver's requests for stored results. Like release, it sends nothing.
func (o *outbox) fetch(attempts []uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, attempt := range attempts {
		o.fetches = append(o.fetches, &fetch{attempt: attempt})
	}
}

// acknowledgeCredentials adds the acknowledgement of delegation tokens. Like release, it
// sends nothing. The acknowledgement is sent with the next message, at the latest with the
// next heartbeat.
func (o *outbox) acknowledgeCredentials(version uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.credentials = version
}

// requestCommit sends a request for permission to commit the output of an attempt.
func (o *outbox) requestCommit(attempt uint64) {
	o.mu.Lock()
	o.commitRequests = append(o.commitRequests, attempt)
	o.flush()
}

// reportBarrierArrival reports to the driver that an attempt waits at a barrier.
func (o *outbox) reportBarrierArrival(arrival *wire.BarrierArrival) {
	o.mu.Lock()
	o.arrivals = append(o.arrivals, arrival)
	o.flush()
}

// sendProfile sends a profile that the driver has requested.
func (o *outbox) sendProfile(profile *wire.Profile) {
	o.mu.Lock()
	o.profiles = append(o.profiles, profile)
	o.flush()
}

// blockedFor returns how long the current send has taken; 0 if nothing is being sent.
func (o *outbox) blockedFor() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.sending {
		return 0
	}
	return time.Since(o.sendStarted)
}

// flushNow sends all items. If another goroutine is sending, that goroutine sends them.
func (o *outbox) flushNow() {
	o.mu.Lock()
	o.flush()
}

// flush is flushNow for a caller that holds the lock. flush releases the lock.
func (o *outbox) flush() {
	defer o.mu.Unlock()
	if o.sending {
		return
	}
	o.sending = true
	for !o.broken && (len(o.updates) > 0 || o.heartbeat != nil || o.decommission != nil || len(o.newHeldKeys) > 0 ||
		len(o.commitRequests) > 0 || len(o.arrivals) > 0 || len(o.fetches) > 0 || len(o.profiles) > 0) {
		message, result := o.next(), o.nextFetch()
		o.sendStarted = time.Now()
		o.mu.Unlock()
		if result != nil {
			if update := result.next(o.executor.blocks); update != nil {
				message.Updates = append(message.Updates, update)
			}
		}
		err := o.send(message)
		o.mu.Lock()
		if result != nil && !result.ended {
			o.fetches = append(o.fetches, result)
		}
		o.broken = err != nil
	}
	o.sending = false
	if o.delayed != nil {
		o.delayed.Stop()
		o.delayed = nil
	}
	if o.broken {
		o.updates = nil
		o.heartbeat, o.decommission, o.newHeldKeys = nil, nil, nil
		o.commitRequests, o.arrivals = nil, nil
		o.fetches, o.profiles = nil, nil
	}
}

// nextFetch removes and returns the first fetch of a stored result; nil if there is none.
func (o *outbox) nextFetch() *fetch {
	if len(o.fetches) == 0 {
		return nil
	}
	f := o.fetches[0]
	o.fetches = o.fetches[1:]
	return f
}

const (
	bytesPerUpdate = 64   // approximate size in bytes of an update without its result and texts
	maxHeldKeys    = 1000 // largest number of keys of held data in one message
)

// next removes items from the outbox and returns them as one message. It adds updates, up to
// wire.MaxPart bytes, only if the message contains all remaining keys of held data. So the
// driver gets keys and decommission requests before later updates. The caller may add a part of
// a stored result to the message.
func (o *outbox) next() *wire.ExecutorMessage {
	message := &wire.ExecutorMessage{
		Heartbeat: o.heartbeat, Decommission: o.decommission, Released: o.releasedKeys,
		CommitRequests: o.commitRequests, BarrierArrivals: o.arrivals, CredentialsVersion: o.credentials,
	}
	o.credentials = 0
	if len(o.profiles) > 0 { // at most one profile per message, because profiles are large
		message.Profiles, o.profiles = o.profiles[:1:1], o.profiles[1:]
	}
	o.heartbeat, o.decommission, o.releasedKeys, o.commitRequests, o.arrivals = nil, nil, nil, nil, nil
	if len(o.newHeldKeys) > maxHeldKeys {
		message.Holds, o.newHeldKeys = o.newHeldKeys[:maxHeldKeys:maxHeldKeys], o.newHeldKeys[maxHeldKeys:]
		return message
	}
	message.Holds, o.newHeldKeys = o.newHeldKeys, nil
	var successes wire.SuccessBuilder
	taken, size := 0, 0
	for _, update := range o.updates {
		own := len(update.GetResult()) + len(update.GetFailure().GetMessage()) + len(update.GetFailure().GetStack()) + bytesPerUpdate
		if size > 0 && size+own > wire.MaxPart {
			break
		}
		size += own
		taken++
		if update.IsPlain() {
			successes.Add(update)
		} else {
			message.Updates = append(message.Updates, update)
		}
	}
	if o.updates = o.updates[taken:]; len(o.updates) == 0 {
		o.updates = nil
	}
	message.Successes, message.Window = successes.Take(), o.window
	return message
}
