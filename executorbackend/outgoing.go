package executorbackend

import (
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// outgoing is what an executor has to say. Whoever puts something in while
// nobody sends becomes the sender, until nothing is left: so an update leaves
// without a change of goroutines when it is alone, and together with others
// when there are many.
type outgoing struct {
	send func(*wire.ExecutorMessage) error

	mu        sync.Mutex
	life      *life    // whose blocks are the results
	released  []string // keys, to be acknowledged
	updates   []*wire.TaskUpdate
	window    *wire.Window // that goes with the next updates
	later     *time.Timer  // sends updates that wait for others; nil where none do
	fetches   []*fetch     // in turns
	heartbeat *wire.Heartbeat
	wish      *wire.Decommission // to leave; nil where it was told or there is none
	holds     []string           // of those that life has, the ones that are not told yet
	asking    []uint64           // attempts that ask whether they may commit
	arrivals  []*wire.BarrierArrival
	sending   bool
	since     time.Time // when the message now being sent was begun
	broken    bool      // the stream takes nothing more; its receiving side says why
}

// put takes updates over and sends, unless somebody already does.
func (o *outgoing) put(updates ...*wire.TaskUpdate) {
	o.mu.Lock()
	o.updates = append(o.updates, updates...)
	o.flush()
}

// reportWait is how long the ends of queued tasks wait for others to leave with: a
// message costs much more than a very short task does. The driver hears in time
// to fill the window again.
const reportWait = windowWork / 2

// report is put with the window that the executor has by now. With more, further
// ends are about to follow, and these may leave together. A nil update is none.
func (o *outgoing) report(window *wire.Window, more bool, update *wire.TaskUpdate) {
	o.mu.Lock()
	if o.window = window; update != nil {
		o.updates = append(o.updates, update)
	}
	if !more {
		o.flush()
		return
	}
	if o.later == nil {
		o.later = time.AfterFunc(reportWait, o.flushNow)
	}
	o.mu.Unlock()
}

// end has no timer go off any more. The stream has ended by then.
func (o *outgoing) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.later != nil {
		o.later.Stop()
	}
}

// beat adds a heartbeat. Where one is still waiting, it is replaced.
func (o *outgoing) beat(heartbeat *wire.Heartbeat) {
	o.mu.Lock()
	o.heartbeat = heartbeat
	o.flush()
}

// hold adds a key under which this executor has something that others may want.
// The driver hears of it before it hears of what is put in afterwards.
func (o *outgoing) hold(key string) {
	key = wire.HoldKey(key)
	o.mu.Lock()
	if !o.life.hold(key) {
		o.mu.Unlock()
		return
	}
	o.holds = append(o.holds, key)
	o.flush()
}

// leave says that this executor wishes to leave. The driver hears of it before
// it hears of what is put in afterwards, and sends no further task then.
func (o *outgoing) leave(reason string) {
	o.mu.Lock()
	o.wish = &wire.Decommission{Reason: reason}
	o.flush()
}

// release forgets keys that nobody wants any more, and says so. It does not wait
// for that to leave: the driver's next message may be urgent.
func (o *outgoing) release(keys []string) {
	o.life.release(keys)
	o.mu.Lock()
	o.released = append(o.released, keys...)
	o.mu.Unlock()
}

// fetch adds results that the driver fetches. It does not begin to send them:
// flushNow does.
func (o *outgoing) fetch(attempts []uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, attempt := range attempts {
		o.fetches = append(o.fetches, &fetch{attempt: attempt})
	}
}

// flushNow sends what there is, unless somebody already does.
func (o *outgoing) flushNow() {
	o.mu.Lock()
	o.flush()
}

// askToCommit asks whether an attempt may commit its output.
func (o *outgoing) askToCommit(attempt uint64) {
	o.mu.Lock()
	o.asking = append(o.asking, attempt)
	o.flush()
}

// arrive says that an attempt waits at a barrier.
func (o *outgoing) arrive(arrival *wire.BarrierArrival) {
	o.mu.Lock()
	o.arrivals = append(o.arrivals, arrival)
	o.flush()
}

// stuckFor is how long the message now being sent has not left.
func (o *outgoing) stuckFor() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.sending {
		return 0
	}
	return time.Since(o.since)
}

// flush sends what there is. It is called with the lock held and returns
// without it.
func (o *outgoing) flush() {
	defer o.mu.Unlock()
	if o.sending {
		return
	}
	o.sending = true
	for !o.broken && (len(o.updates) > 0 || o.heartbeat != nil || o.wish != nil || len(o.holds) > 0 ||
		len(o.asking) > 0 || len(o.arrivals) > 0 || len(o.fetches) > 0) {
		message, result := o.next(), o.nextFetch()
		o.since = time.Now()
		o.mu.Unlock()
		if result != nil {
			if update := result.next(o.life.blocks); update != nil {
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
	if o.later != nil { // nothing waits any more
		o.later.Stop()
		o.later = nil
	}
	if o.broken {
		o.updates = nil
		o.heartbeat, o.wish, o.holds = nil, nil, nil
		o.asking, o.arrivals = nil, nil
		o.fetches = nil
	}
}

// nextFetch takes out the fetch whose turn it is; nil where there is none.
func (o *outgoing) nextFetch() *fetch {
	if len(o.fetches) == 0 {
		return nil
	}
	f := o.fetches[0]
	o.fetches = o.fetches[1:]
	return f
}

// updateOverhead is about what an update takes in a message beside its texts.
const updateOverhead = 64

// maxHolds is how many keys one message carries.
const maxHolds = 1000

// next takes what fits into one message: always the heartbeat, the wish and what
// tasks ask, then keys, and once all of these are taken updates up to
// wire.MaxPart bytes. A piece of a result that was fetched may be added.
func (o *outgoing) next() *wire.ExecutorMessage {
	message := &wire.ExecutorMessage{
		Heartbeat: o.heartbeat, Decommission: o.wish, Released: o.released, CommitRequests: o.asking, BarrierArrivals: o.arrivals,
	}
	o.heartbeat, o.wish, o.released, o.asking, o.arrivals = nil, nil, nil, nil, nil
	if len(o.holds) > maxHolds {
		message.Holds, o.holds = o.holds[:maxHolds:maxHolds], o.holds[maxHolds:]
		return message
	}
	message.Holds, o.holds = o.holds, nil
	var successes wire.SuccessBuilder
	taken, size := 0, 0
	for _, update := range o.updates {
		own := len(update.GetResult()) + len(update.GetFailure().GetMessage()) + len(update.GetFailure().GetStack()) + updateOverhead
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
