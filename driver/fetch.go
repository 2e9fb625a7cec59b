package driver

import (
	"fmt"
	"math"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// fetchWindow is how many bytes of a task set's results may be in the driver
// before the listener releases them. A larger result is fetched alone.
const fetchWindow = 64 << 20

// ResultSizeError ends a task set if the driver would keep more of its results at
// once than driver.maxResultSize.
type ResultSizeError struct {
	Job     string
	Results int   // that exceed the limit; 1 for a single one
	Bytes   int64 // of these results, encoded
	Limit   int64 // driver.maxResultSize
}

// Error describes the error in one line.
func (e *ResultSizeError) Error() string {
	return fmt.Sprintf("the results of %q are too large: %d of them take %d bytes (%s) encoded, and the driver may have %d (%s) of a job's at once: "+
		"return less, write results to files, take them one after the other with Stream, or raise %s",
		e.Job, e.Results, e.Bytes, config.Size(e.Bytes), e.Limit, config.Size(e.Limit), config.DriverMaxResult.Name())
}

// fetches are the results of one task set that executors store, because they are
// too large for a task's last update or the driver has too many. The driver
// fetches them as the listener releases earlier ones.
type fetches struct {
	limit       int64
	window      int64
	queue       []*attempt    // whose results are not fetched yet
	fetching    int64         // bytes that were requested and have not all arrived
	sizes       map[int]int64 // of stored results, by task
	storedBytes int64         // the sum of sizes
	received    int64         // bytes of all results that the listener was given
}

func newFetches(c *config.Config, spec *TaskSet) fetches {
	f := fetches{limit: int64(config.DriverMaxResult.In(c)), sizes: map[int]int64{}}
	if f.limit == 0 {
		f.limit = math.MaxInt64
	}
	f.window = min(fetchWindow, f.limit)
	if spec.Barrier {
		// The listener is given no result before the driver has all.
		f.window = math.MaxInt64
	}
	return f
}

// add queues a stored result. Of a task's attempts only the first counts.
func (f *fetches) add(a *attempt) {
	if _, counted := f.sizes[a.index]; !counted {
		f.sizes[a.index] = a.stored.size()
		f.storedBytes += a.stored.size()
	}
	f.queue = append(f.queue, a)
}

// remove removes a result that has arrived, or is lost or dropped.
func (f *fetches) remove(a *attempt) {
	if size, known := f.sizes[a.index]; known {
		delete(f.sizes, a.index)
		f.storedBytes -= size
	}
	if a.stored.fetching {
		a.stored.fetching = false
		f.fetching -= a.stored.size()
	}
}

// peek returns the first result of the queue that can be fetched; nil if there is
// none.
func (f *fetches) peek() *attempt {
	for len(f.queue) > 0 {
		if a := f.queue[0]; !a.killed && a.isAtExecutor() {
			return a
		}
		f.queue = f.queue[1:]
	}
	f.queue = nil
	return nil
}

// start begins to fetch the first result of the queue. It reports false if the
// window is full: unreleased is how many bytes the listener has.
func (f *fetches) start(unreleased int64) bool {
	a := f.queue[0]
	if used := f.fetching + unreleased; used > 0 && used+a.stored.size() > f.window {
		return false
	}
	f.queue = f.queue[1:]
	f.fetching += a.stored.size()
	a.stored.fetching = true
	return true
}

// storedResult is a result that an attempt's executor stores.
type storedResult struct {
	update   *wire.TaskUpdate // that reported it
	fetching bool
	value    []byte // the parts that have arrived
}

func (r *storedResult) size() int64 { return int64(r.update.GetStoredBytes()) }

// resultStored handles the end of an attempt whose result its executor stores.
func (l *loop) resultStored(a *attempt, update *wire.TaskUpdate) {
	if a.isStored() {
		return // a repeated update
	}
	set := a.set
	a.stored = &storedResult{update: update}
	set.addProgress(a, &wire.TaskProgress{Values: update.GetValues(), Metrics: update.GetMetrics()})
	a.executor.stored++
	set.running--
	l.scheduler.ResultPending(a.id, coreTime(update.GetMetrics()))
	if set.ended || a.killed {
		return // the executor drops the result when it is told to kill the attempt
	}
	f, size := &set.fetches, a.stored.size()
	f.add(a)
	switch {
	case set.spec.Collect && f.received+f.storedBytes > f.limit:
		l.endSet(set, set.resultsTooLarge(set.done+len(f.sizes), f.received+f.storedBytes))
	case size > f.limit:
		l.endSet(set, set.resultsTooLarge(1, size))
	default:
		l.fetch(set)
	}
}

// fetch requests stored results, as far as the window allows.
func (l *loop) fetch(set *runningSet) {
	for !set.ended {
		a := set.fetches.peek()
		if a == nil {
			break
		}
		// Set fetchPending before reading unreleased, so that a listener which releases
		// results at the same time calls fetch again.
		set.fetchPending.Store(true)
		if !set.fetches.start(set.unreleased.Load()) {
			return
		}
		l.send.fetch(a)
	}
	set.fetchPending.Store(false)
}

// addPart adds a part of a fetched result.
func (a *attempt) addPart(part []byte) {
	if !a.isStored() || a.set.ended || a.killed {
		return
	}
	if a.stored.value == nil {
		a.stored.value = make([]byte, 0, a.stored.size())
	}
	a.stored.value = append(a.stored.value, part...)
}

// wholeResult is an attempt's last update with all parts of its result.
func (a *attempt) wholeResult(last *wire.TaskUpdate) *wire.TaskUpdate {
	if !a.isStored() {
		return last
	}
	value := last.GetResult()
	if a.stored.value != nil {
		value, a.stored.value = append(a.stored.value, value...), nil
	}
	return &wire.TaskUpdate{Attempt: last.GetAttempt(), State: last.GetState(), Result: value,
		Metrics: a.stored.update.GetMetrics(), Values: a.stored.update.GetValues()}
}

// receiveResult counts a result that the listener is given. It fails if a single
// result, or with Collect all results, exceed the limit. Results that the
// listener has not released do not: executors store further ones.
func (set *runningSet) receiveResult(size int64) error {
	f := &set.fetches
	f.received += size
	results, bytes := 1, size
	if set.spec.Collect {
		results, bytes = set.done+1+len(f.sizes), f.received+f.storedBytes
	}
	if bytes > f.limit {
		return set.resultsTooLarge(results, bytes)
	}
	return nil
}

func (set *runningSet) resultsTooLarge(results int, bytes int64) error {
	return &ResultSizeError{Job: set.spec.Name, Results: results, Bytes: bytes, Limit: set.fetches.limit}
}
