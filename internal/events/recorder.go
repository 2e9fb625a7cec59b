package events

import (
	"sync"
	"time"
)

const (
	// MaxRows is the maximum number of attempts started in one second that are chosen to have
	// rows. All attempts that fail or take at least LongAttempt have rows too.
	MaxRows = 20_000
	// LongAttempt is the shortest duration of an attempt that always has a row.
	LongAttempt = time.Second

	// flushInterval is how long a batch with an event or row stays open for further ones before
	// it is passed to the consumers. A batch with flushRows events, or flushRows rows of one
	// type, is passed at once.
	flushInterval = 100 * time.Millisecond
	flushRows     = 4096
	// snapshotAge is how long Recorder.Snapshot reuses a snapshot.
	snapshotAge = 500 * time.Millisecond
)

// Consumer receives batches, one at a time. Its Consume method must not block.
type Consumer interface {
	Consume(*Batch)
}

// Sink accepts events. Recorder implements it.
type Sink interface {
	Record(Event)
}

// Recorder collects events and rows in batches, and passes each batch to a Model and to other
// consumers. Its methods are safe for concurrent use. A nil Recorder records nothing. The owner
// must call Close.
type Recorder struct {
	model     *Model
	consumers []Consumer

	mu          sync.Mutex
	batch       *Batch              // events and rows recorded since the last flush, except those in the field omitted
	omitted     map[uint64]*Omitted // by the id of the task set
	lastOmitted *Omitted            // the element of omitted that was last returned by omittedOf
	quota       rowQuota
	closed      bool

	wake          chan struct{}      // contains an element if the batch is not empty
	full          chan struct{}      // contains an element if the batch has flushRows events, or flushRows rows of one type
	flushRequests chan chan struct{} // run receives a channel, passes the batch to the consumers, and closes the received channel
	quit          chan struct{}
	done          sync.WaitGroup

	snapshots sync.Mutex // guards the fields below
	snapshot  *Snapshot
	taken     time.Time
}

// NewRecorder returns a Recorder that passes batches to a Model, and then to the
// consumers.
func NewRecorder(limits Limits, consumers ...Consumer) *Recorder {
	r := &Recorder{
		model:         NewModel(limits),
		consumers:     consumers,
		batch:         &Batch{},
		omitted:       map[uint64]*Omitted{},
		wake:          make(chan struct{}, 1),
		full:          make(chan struct{}, 1),
		flushRequests: make(chan chan struct{}),
		quit:          make(chan struct{}),
	}
	r.done.Go(r.run)
	return r
}

// lock locks r.mu and returns true. If r is nil or closed, it does not lock and returns false.
func (r *Recorder) lock() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return false
	}
	return true
}

// Record records an event.
func (r *Recorder) Record(e Event) {
	if !r.lock() {
		return
	}
	defer r.mu.Unlock()
	r.batch.Events = append(r.batch.Events, e)
	r.signal(len(r.batch.Events))
}

// Launched records the start of an attempt, whose Outcome must be OutcomeRunning. It reports
// whether the attempt has a row. The caller must pass the result to Ended.
func (r *Recorder) Launched(a *Attempt) (hasRow bool) {
	if !r.lock() {
		return false
	}
	defer r.mu.Unlock()
	if !r.quota.take(a.Start) {
		omitted := r.omittedOf(a.Set)
		omitted.Launched++
		omitted.Sums.Localities[min(a.Locality, LocalityAny)]++
		return false
	}
	r.add(a)
	return true
}

// Ended records the end of an attempt. hasRow is the result of Launched for the attempt.
func (r *Recorder) Ended(a *Attempt, hasRow bool) {
	if !r.lock() {
		return
	}
	defer r.mu.Unlock()
	if hasRow {
		r.add(a)
		return
	}
	omitted := r.omittedOf(a.Set)
	if a.Outcome == OutcomeSucceeded && a.Took() < LongAttempt {
		omitted.Ended++
		omitted.Took.count(a.End - a.Start)
		omitted.Sums.add(a)
		return
	}
	omitted.Launched-- // the attempt now gets a row, which counts its launch too
	omitted.Sums.Localities[min(a.Locality, LocalityAny)]--
	r.add(a)
}

func (r *Recorder) add(a *Attempt) {
	r.batch.Attempts = append(r.batch.Attempts, *a)
	r.signal(len(r.batch.Attempts))
}

// Measured records what a task of a data set's stage has read, written and spilled. A batch
// contains at most MaxRows measurements; further ones are dropped.
func (r *Recorder) Measured(m Measurement) {
	if !r.lock() {
		return
	}
	defer r.mu.Unlock()
	if len(r.batch.Measurements) < MaxRows {
		r.batch.Measurements = append(r.batch.Measurements, m)
		r.signal(len(r.batch.Measurements))
	}
}

// Memory records the memory of an executor's process.
func (r *Recorder) Memory(s MemorySample) {
	if !r.lock() {
		return
	}
	defer r.mu.Unlock()
	r.batch.Memory = append(r.batch.Memory, s)
	r.signal(len(r.batch.Memory))
}

func (r *Recorder) omittedOf(set uint64) *Omitted {
	if r.lastOmitted == nil || r.lastOmitted.Set != set {
		r.lastOmitted = r.omitted[set]
		if r.lastOmitted == nil {
			r.lastOmitted = &Omitted{Set: set}
			r.omitted[set] = r.lastOmitted
			r.signal(len(r.omitted))
		}
	}
	return r.lastOmitted
}

// signal wakes run if a list in the batch has got its first element or has reached flushRows
// elements. length is the new length of the list.
func (r *Recorder) signal(length int) {
	switch length {
	case 1:
		select {
		case r.wake <- struct{}{}:
		default:
		}
	case flushRows:
		select {
		case r.full <- struct{}{}:
		default:
		}
	}
}

// Snapshot returns the state of the application. The state may be about 600 ms old, because
// events wait up to flushInterval in a batch, and a snapshot is reused for snapshotAge. It
// returns nil if r is nil.
func (r *Recorder) Snapshot() *Snapshot {
	if r == nil {
		return nil
	}
	r.snapshots.Lock()
	defer r.snapshots.Unlock()
	if r.snapshot == nil || time.Since(r.taken) >= snapshotAge {
		r.snapshot, r.taken = r.model.Snapshot(), time.Now()
	}
	return r.snapshot
}

// Newest returns the state of the application, including all events and rows that were
// recorded before the call. It returns nil if r is nil.
func (r *Recorder) Newest() *Snapshot {
	if r == nil {
		return nil
	}
	passed := make(chan struct{})
	select {
	case r.flushRequests <- passed:
		<-passed
	case <-r.quit:
		r.done.Wait()
	}
	r.snapshots.Lock()
	r.snapshot = nil
	r.snapshots.Unlock()
	return r.Snapshot()
}

// Close passes all recorded events and rows to the consumers, so that the next Snapshot
// includes them. Events and rows that are recorded later are ignored.
func (r *Recorder) Close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	closed := r.closed
	r.closed = true
	r.mu.Unlock()
	if !closed {
		close(r.quit)
	}
	r.done.Wait()
	r.snapshots.Lock()
	defer r.snapshots.Unlock()
	r.snapshot = nil // so that the next call of Snapshot returns a new one with all events
}

// run passes batches to the consumers until the recorder is closed.
func (r *Recorder) run() {
	timer := time.NewTimer(flushInterval)
	defer timer.Stop()
	next := &Batch{}
	for {
		var asked chan struct{}
		select {
		case <-r.wake:
			timer.Reset(flushInterval)
			select {
			case <-timer.C:
			case <-r.full:
			case asked = <-r.flushRequests:
			case <-r.quit:
			}
		case asked = <-r.flushRequests:
		case <-r.quit:
			r.flushBatch(next)
			return
		}
		next = r.flushBatch(next)
		if asked != nil {
			close(asked)
		}
	}
}

// flushBatch replaces the current batch by its argument, an empty batch, and passes the replaced
// batch to the model and the consumers. It then clears the replaced batch and returns it, for
// use as the argument of the next call.
func (r *Recorder) flushBatch(empty *Batch) *Batch {
	r.mu.Lock()
	batch := r.batch
	r.batch = empty
	for _, omitted := range r.omitted {
		batch.Omitted = append(batch.Omitted, *omitted)
	}
	clear(r.omitted)
	r.lastOmitted = nil
	r.mu.Unlock()
	r.model.Consume(batch)
	for _, consumer := range r.consumers {
		consumer.Consume(batch)
	}
	batch.reset()
	return batch
}

// reset empties the batch, for reuse.
func (b *Batch) reset() {
	clear(b.Events)
	b.Events, b.Attempts, b.Omitted = b.Events[:0], b.Attempts[:0], b.Omitted[:0]
	b.Measurements, b.Memory = b.Measurements[:0], b.Memory[:0]
}

// rowQuota chooses the attempts that have rows. If fewer than MaxRows attempts started in the
// previous second, it chooses every attempt, otherwise every stride-th attempt. It never
// chooses more than MaxRows attempts in a second.
type rowQuota struct {
	second        Micros // the current second, as a number of seconds since 1970
	started, kept int    // number of attempts that started in this second; number of them that were chosen
	stride        int    // every stride-th attempt is chosen
}

// take counts an attempt with the given start time and reports whether the attempt has a row.
func (q *rowQuota) take(start Micros) bool {
	if second := start / 1e6; second != q.second {
		if second != q.second+1 {
			q.started = 0
		}
		q.stride = q.started/MaxRows + 1
		q.second, q.started, q.kept = second, 0, 0
	}
	q.started++
	if q.kept >= MaxRows || q.started%q.stride != 0 {
		return false
	}
	q.kept++
	return true
}
