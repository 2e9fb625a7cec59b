package driver

import (
	"fmt"
	"math"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// maxFetchWindow limits the bytes of a task set's results in the driver: results that are being
// fetched from executors, and results that the listener has not released. A result larger than
// the limit is fetched when the driver has no other results of the set.
const maxFetchWindow = 64 << 20

// ResultSizeError is the error of a task set whose results exceed driver.maxResultSize.
type ResultSizeError struct {
	Job     string
	Results int   // number of results that together exceed the limit; 1 if a single result exceeds it
	Bytes   int64 // total size of these results, encoded
	Limit   int64 // value of driver.maxResultSize, in bytes
}

func (e *ResultSizeError) Error() string {
	return fmt.Sprintf("the results of %q are too large: %d of them take %d bytes (%s) encoded, and the driver may have %d (%s) of a job's at once: "+
		"return less, write results to files, take them one after the other with Stream, or raise %s",
		e.Job, e.Results, e.Bytes, config.Size(e.Bytes), e.Limit, config.Size(e.Limit), config.DriverMaxResult.Name())
}

// resultFetches are the results of one task set that executors store because they are too large
// to be sent with a task's end, or because the listener has not released earlier results. The
// driver fetches them when the listener releases earlier results.
type resultFetches struct {
	limit         int64         // value of driver.maxResultSize; the largest int64 if there is no limit
	fetchWindow   int64         // maximum of fetchingBytes and the unreleased results together, in bytes
	queue         []*attempt    // attempts whose results have not been requested
	fetchingBytes int64         // total size of the results that have been requested and have not arrived, in bytes
	sizes         map[int]int64 // sizes in bytes of the results that executors store, by task index
	storedBytes   int64         // the sum of sizes
	received      int64         // total size of the results that were passed to the listener, in bytes
}

func newFetches(c *config.Config, spec *TaskSet) resultFetches {
	f := resultFetches{limit: int64(config.DriverMaxResult.In(c)), sizes: map[int]int64{}}
	if f.limit == 0 {
		f.limit = math.MaxInt64
	}
	f.fetchWindow = min(maxFetchWindow, f.limit)
	if spec.Barrier {
		// The driver delivers the results of a barrier set only when it has all of them, so a
		// limited window would save no memory.
		f.fetchWindow = math.MaxInt64
	}
	return f
}

// add queues a stored result. If two attempts of a task have stored results, only
// the first counts in storedBytes.
func (f *resultFetches) add(a *attempt) {
	if _, counted := f.sizes[a.index]; !counted {
		f.sizes[a.index] = a.stored.size()
		f.storedBytes += a.stored.size()
	}
	f.queue = append(f.queue, a)
}

// remove stops counting a stored result that has arrived, is lost or is discarded.
func (f *resultFetches) remove(a *attempt) {
	if size, known := f.sizes[a.index]; known {
		delete(f.sizes, a.index)
		f.storedBytes -= size
	}
	if a.stored.fetchRequested {
		a.stored.fetchRequested = false
		f.fetchingBytes -= a.stored.size()
	}
}

// peek returns the first queued attempt whose executor still stores its result, and removes the
// attempts before it from the queue. It returns nil if there is no such attempt.
func (f *resultFetches) peek() *attempt {
	for len(f.queue) > 0 {
		if a := f.queue[0]; !a.killed && a.isAtExecutor() {
			return a
		}
		f.pop()
	}
	f.queue = nil
	return nil
}

// pop removes the first queued attempt. The queue's array must not refer to it any more: the
// attempt will refer to its result.
func (f *resultFetches) pop() {
	f.queue[0] = nil
	f.queue = f.queue[1:]
}

// start marks the first queued result as requested. It returns false if the result does not fit
// into the fetch window. unreleased is the total size of the results that the listener has
// received and not released, in bytes.
func (f *resultFetches) start(unreleased int64) bool {
	a := f.queue[0]
	if used := f.fetchingBytes + unreleased; used > 0 && used+a.stored.size() > f.fetchWindow {
		return false
	}
	f.pop()
	f.fetchingBytes += a.stored.size()
	a.stored.fetchRequested = true
	return true
}

// storedResult is a result that an attempt's executor stores.
type storedResult struct {
	update         *wire.TaskUpdate // the update that reported that the result is stored
	fetchRequested bool
	received       []byte // the parts that have arrived
}

func (r *storedResult) size() int64 { return int64(r.update.GetStoredBytes()) }

// resultStored handles an update which reports that the executor stores an attempt's result.
func (l *loop) resultStored(a *attempt, update *wire.TaskUpdate) {
	if a.isStored() {
		return // a repeated update
	}
	set := a.set
	a.stored = &storedResult{update: update}
	set.addProgress(a, &wire.TaskProgress{Values: update.GetValues(), Metrics: update.GetMetrics()})
	a.executor.storedResults++
	set.runningAttempts--
	l.scheduler.ResultPending(a.id, coreTime(update.GetMetrics()))
	if set.ended || a.killed {
		return // the executor removes the result when it receives the kill of the attempt
	}
	f, size := &set.fetches, a.stored.size()
	f.add(a)
	switch {
	case set.spec.KeepsAllResults && f.received+f.storedBytes > f.limit:
		l.endSet(set, set.resultsTooLarge(set.doneTasks+len(f.sizes), f.received+f.storedBytes))
	case size > f.limit:
		l.endSet(set, set.resultsTooLarge(1, size))
	default:
		l.fetch(set)
	}
}

// fetch requests stored results of a task set until the fetch window is full.
func (l *loop) fetch(set *runningSet) {
	for !set.ended {
		a := set.fetches.peek()
		if a == nil {
			break
		}
		// Set fetchPending before reading unreleased: if the listener releases results at the
		// same time, it then sees fetchPending and calls fetch again.
		set.fetchPending.Store(true)
		if !set.fetches.start(set.unreleased.Load()) {
			return
		}
		l.send.fetch(a)
	}
	set.fetchPending.Store(false)
}

// addPart appends a part of a fetched result to the parts received before.
func (a *attempt) addPart(part []byte) {
	if !a.isStored() || a.set.ended || a.killed {
		return
	}
	if a.stored.received == nil {
		a.stored.received = make([]byte, 0, a.stored.size())
	}
	a.stored.received = append(a.stored.received, part...)
}

// completeResult returns an attempt's last update, with the complete result. The parts of a
// stored result arrive in several updates, and the last update contains only the last part.
func (a *attempt) completeResult(last *wire.TaskUpdate) *wire.TaskUpdate {
	if !a.isStored() {
		return last
	}
	value := last.GetResult()
	if a.stored.received != nil {
		value, a.stored.received = append(a.stored.received, value...), nil
	}
	return &wire.TaskUpdate{Attempt: last.GetAttempt(), State: last.GetState(), Result: value,
		Metrics: a.stored.update.GetMetrics(), Values: a.stored.update.GetValues()}
}

// receiveResult counts the bytes of a result that is to be passed to the listener. It fails if
// the result exceeds driver.maxResultSize. With TaskSet.KeepsAllResults, it fails if all results
// of the set together, including results that executors still store, exceed
// driver.maxResultSize.
func (set *runningSet) receiveResult(size int64) error {
	f := &set.fetches
	f.received += size
	results, bytes := 1, size
	if set.spec.KeepsAllResults {
		results, bytes = set.doneTasks+1+len(f.sizes), f.received+f.storedBytes
	}
	if bytes > f.limit {
		return set.resultsTooLarge(results, bytes)
	}
	return nil
}

func (set *runningSet) resultsTooLarge(results int, bytes int64) error {
	return &ResultSizeError{Job: set.spec.Name, Results: results, Bytes: bytes, Limit: set.fetches.limit}
}
