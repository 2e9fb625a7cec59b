package driver

import (
	"fmt"
	"math"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler"
)

// fetchWindow is how many bytes of a job's large results are fetched ahead of who
// takes them. A larger result is fetched alone.
const fetchWindow = 64 << 20

// ResultSizeError ends a job of whose results the driver would have to have more
// at once than driver.maxResultSize.
type ResultSizeError struct {
	Job     string
	Results int   // how many were too much: 1 where a single one was
	Bytes   int64 // that they take, encoded
	Limit   int64 // driver.maxResultSize
}

// Error is one line.
func (e *ResultSizeError) Error() string {
	return fmt.Sprintf("the results of %q are too large: %d of them take %d bytes (%s) encoded, and the driver may have %d (%s) of a job's at once: "+
		"return less, write results to files, take them one after the other with Stream, or raise %s",
		e.Job, e.Results, e.Bytes, config.Size(e.Bytes), e.Limit, config.Size(e.Limit), config.DriverMaxResult.Name())
}

// intake is what a run takes of results: as much as there is room for. What is
// too large for a task's last update waits at its executor. The event loop owns it.
type intake struct {
	limit  int64
	window int64
	queue  []scheduler.AttemptID // whose results are not asked for yet
	coming int64                 // bytes that were asked for and have not come whole
	sizes  map[int]int64         // of results that wait at executors or are coming, by task
	away   int64                 // the sum of sizes
	taken  int64                 // bytes of all results that were handed on
}

func newIntake(c *config.Config, job *TaskSet) intake {
	in := intake{limit: int64(config.DriverMaxResult.In(c)), sizes: map[int]int64{}}
	if in.limit == 0 {
		in.limit = math.MaxInt64
	}
	in.window = min(fetchWindow, in.limit)
	if job.Barrier {
		// None of its results is handed on before the last one is here.
		in.window = math.MaxInt64
	}
	return in
}

// ran notes that an attempt has run, and its result waits at its executor.
func (l *loop) ran(a *attempt, update *wire.TaskUpdate) {
	if a.away != nil {
		return // said twice
	}
	r := a.run
	a.away = &awayResult{update: update}
	r.progressed(a, &wire.TaskProgress{Values: update.GetValues(), Metrics: update.GetMetrics()})
	a.executor.ran++
	r.running--
	l.scheduler.ResultPending(a.id, tookOf(update.GetMetrics()))
	if r.ended || a.killed {
		return // it is told to drop its result
	}
	in, size := &r.intake, int64(update.GetStoredBytes())
	if _, twin := in.sizes[a.index]; !twin {
		in.sizes[a.index] = size
		in.away += size
	}
	switch {
	case r.job.Collect && in.taken+in.away > in.limit:
		l.endRun(r, &ResultSizeError{Job: r.job.Name, Results: r.done + len(in.sizes), Bytes: in.taken + in.away, Limit: in.limit})
	case size > in.limit:
		l.endRun(r, &ResultSizeError{Job: r.job.Name, Results: 1, Bytes: size, Limit: in.limit})
	default:
		in.queue = append(in.queue, a.id)
		l.fetch(r)
	}
}

// fetch asks for the results that there is room for.
func (l *loop) fetch(r *runningSet) {
	in := &r.intake
	for len(in.queue) > 0 && !r.ended {
		a := l.attempts[in.queue[0]]
		if a == nil || a.killed || a.isGone() {
			in.queue = in.queue[1:]
			continue
		}
		// Said before it is looked what there is: who takes results calls again.
		r.fetchWaits.Store(true)
		size := a.away.size()
		if have := in.coming + r.unreleased.Load(); have > 0 && have+size > in.window {
			return
		}
		in.queue = in.queue[1:]
		in.coming += size
		a.away.coming = true
		message := l.outgoing(a.executor)
		message.Fetches = append(message.Fetches, uint64(a.id))
	}
	in.queue = nil
	r.fetchWaits.Store(false)
}

// size is how many bytes the result has.
func (r *awayResult) size() int64 { return int64(r.update.GetStoredBytes()) }

// took notes a part of a result.
func (a *attempt) took(part []byte) {
	away := a.away
	if away == nil || a.run.ended || a.killed {
		return
	}
	if away.value == nil {
		away.value = make([]byte, 0, away.size())
	}
	away.value = append(away.value, part...)
}

// whole is an attempt's last update with all of its result.
func (a *attempt) whole(last *wire.TaskUpdate) *wire.TaskUpdate {
	away := a.away
	if away == nil {
		return last
	}
	value := last.GetResult()
	if away.value != nil {
		value, away.value = append(away.value, value...), nil
	}
	return &wire.TaskUpdate{Attempt: last.GetAttempt(), State: last.GetState(), Result: value,
		Metrics: away.update.GetMetrics(), Values: away.update.GetValues()}
}

// stopped notes that an attempt has ended, in whatever way, for the counts of
// those that run and of results that wait.
func (l *loop) stopped(a *attempt) {
	r := a.run
	delete(r.reporting, a.id)
	if a.away == nil {
		r.running--
		return
	}
	a.executor.ran--
	in := &r.intake
	if size, known := in.sizes[a.index]; known {
		delete(in.sizes, a.index)
		in.away -= size
	}
	if a.away.coming {
		a.away.coming = false
		in.coming -= a.away.size()
	}
}

// admit counts a result that is to be handed on, and says why the job ends where
// that is too much. What a stream does not take in time is too much for nobody:
// offer has further results wait at their executors.
func (r *runningSet) admit(size int64) error {
	in := &r.intake
	in.taken += size
	results, bytes := 1, size
	if r.job.Collect {
		results, bytes = r.done+1+len(in.sizes), in.taken+in.away
	}
	if bytes > in.limit {
		return &ResultSizeError{Job: r.job.Name, Results: results, Bytes: bytes, Limit: in.limit}
	}
	return nil
}
