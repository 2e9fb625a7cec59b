package dataset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/stage"
	"github.com/bobbin-yarn/bobbin/role"
	"github.com/bobbin-yarn/bobbin/shuffle"
	"github.com/bobbin-yarn/bobbin/storage"
)

// engine runs the jobs of a session. Package stage decides which stages to run. The engine
// submits their task sets to the driver, and records which executors store the map outputs
// and cached partitions that tasks wrote.
//
// One goroutine, the loop, owns most of the state. It runs while there are jobs or
// hand-overs; see handover. Other goroutines post functions to the loop, which runs them
// one after the other.
type engine struct {
	app     *role.Application
	session *bobbin.Session

	mailboxMu sync.Mutex
	mailbox   []func()
	wake      chan struct{} // has an element if something was posted

	loopMu    sync.Mutex // held while the loop is started and stopped
	loopUsers int        // jobs and hand-overs that need the loop
	quit      chan struct{}
	loop      sync.WaitGroup

	handoverWaiters sync.WaitGroup // counts goroutines that wait for hand-overs

	mu        sync.Mutex // guards the fields up to summaries, which the goroutines of jobs use too
	sources   map[ref][][]storage.Split
	bounds    map[uint64][][]byte
	offsets   map[ref][]int64
	joins     map[ref]joinChoice
	saved     map[string]int // number of outputs saved so far, by path
	levels    map[ref]Level
	summaries []StageSummary

	// The fields below belong to the loop.
	graph      *stage.Graph
	jobs       map[stage.JobID]*job
	stages     map[stage.StageID]*stageState
	attempts   map[uint64]*stageAttempt
	executors  map[string]*executor // by the id that the driver gives them
	cached     map[cachedBlock]map[string]bool
	cacheSizes map[string]cacheSizes  // by the id of the executor
	handovers  map[*handover]struct{} // hand-overs whose task sets are submitted and have not ended
	losses     losses

	replication *replication
}

// executor is the engine's state of an executor that has registered.
type executor struct {
	driver.ExecutorInfo
	registrations      int                        // number of registrations so far
	lost               bool                       // the driver has reported its loss since its last registration
	decommissioned     bool                       // no more tasks are submitted to it
	unreachableReports map[unreachableReport]bool // reports, received since the executor's registration, that the executor does not answer
}

// graphID returns the id of the executor in package stage. It changes with each
// registration: if a lost executor registers again, package stage must not treat it as the
// lost one.
func (e *executor) graphID() string { return fmt.Sprintf("%s#%d", e.ID, e.registrations) }

// usable reports whether the executor can run tasks and store data.
func (e *executor) usable() bool { return !e.lost && !e.decommissioned }

// engines are the engines of the sessions that are open.
var engines = engineList{bySession: map[*bobbin.Session]*engine{}}

type engineList struct {
	sync.Mutex
	bySession map[*bobbin.Session]*engine
}

// get returns the engine of a session, or nil if the session has none.
func (l *engineList) get(session *bobbin.Session) *engine {
	l.Lock()
	defer l.Unlock()
	return l.bySession[session]
}

// engineOf returns the engine of a session. If the session has none, engineOf creates one,
// which is removed when the session ends.
func engineOf(session *bobbin.Session) (*engine, error) {
	if session == nil {
		return nil, errors.New("a data set within a plan function has no elements yet: call its actions in the driver function, on the result of With")
	}
	if session.Context().Err() != nil {
		return nil, context.Cause(session.Context())
	}
	engines.Lock()
	defer engines.Unlock()
	if e := engines.bySession[session]; e != nil {
		return e, nil
	}
	e := &engine{
		app:        role.FromContext(session.Context()),
		session:    session,
		wake:       make(chan struct{}, 1),
		sources:    map[ref][][]storage.Split{},
		bounds:     map[uint64][][]byte{},
		offsets:    map[ref][]int64{},
		joins:      map[ref]joinChoice{},
		saved:      map[string]int{},
		levels:     map[ref]Level{},
		graph:      stage.New(stage.Config{}),
		jobs:       map[stage.JobID]*job{},
		stages:     map[stage.StageID]*stageState{},
		attempts:   map[uint64]*stageAttempt{},
		executors:  map[string]*executor{},
		cached:     map[cachedBlock]map[string]bool{},
		cacheSizes: map[string]cacheSizes{},
		handovers:  map[*handover]struct{}{},
	}
	e.replication = &replication{engine: e, wanted: map[cachedBlock]int{}}
	engines.bySession[session] = e
	stopListening := e.app.Driver.Listen(e)
	context.AfterFunc(session.Context(), func() {
		stopListening()
		e.handoverWaiters.Wait()
		engines.Lock()
		defer engines.Unlock()
		delete(engines.bySession, session)
	})
	return e, nil
}

// post queues a function for the loop.
func (e *engine) post(f func()) {
	e.mailboxMu.Lock()
	e.mailbox = append(e.mailbox, f)
	e.mailboxMu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// startLoop starts the loop if it does not run. The caller must call stopLoop.
func (e *engine) startLoop() {
	e.loopMu.Lock()
	defer e.loopMu.Unlock()
	if e.loopUsers++; e.loopUsers == 1 {
		e.quit = make(chan struct{})
		e.loop.Go(e.serve)
	}
}

// stopLoop undoes one startLoop. After the last one, it stops the loop and waits for its
// end.
func (e *engine) stopLoop() {
	e.loopMu.Lock()
	defer e.loopMu.Unlock()
	if e.loopUsers--; e.loopUsers == 0 {
		close(e.quit)
		e.loop.Wait()
	}
}

// serve runs posted functions until quit is closed.
func (e *engine) serve() {
	for {
		e.mailboxMu.Lock()
		posted := e.mailbox
		e.mailbox = nil
		e.mailboxMu.Unlock()
		for _, f := range posted {
			f()
		}
		select {
		case <-e.wake:
		case <-e.quit:
			return
		}
	}
}

// ExecutorAdded implements driver.ExecutorListener.
func (e *engine) ExecutorAdded(info driver.ExecutorInfo) {
	e.post(func() {
		x := e.executors[info.ID]
		if x == nil {
			x = &executor{}
			e.executors[info.ID] = x
		}
		*x = executor{ExecutorInfo: info, registrations: x.registrations + 1}
		e.replication.start()
	})
}

// cores returns the number of cores of all usable executors together, or 1 if there are no
// such executors.
func (e *engine) cores() int {
	registered := 0
	for _, x := range e.executors {
		if x.usable() {
			registered += x.Cores
		}
	}
	return max(registered, 1)
}

// stageState is the engine's state of a stage. Package stage has further state of the
// stage.
type stageState struct {
	id             stage.StageID
	number         uint64 // id of the stage in events
	final          *node
	exchange       *exchange    // the shuffle that the stage writes; nil for a result stage
	job            *job         // the first job that needs the stage
	tasks          []assignment // what each task computes; nil until the stage is planned
	division       string       // why the stage has these tasks, for its summary
	partlyComputed []*node      // data sets of which some tasks compute only a piece of a partition
	outputs        []shuffle.Output
	countersAdded  []bool        // by task: whether its counters were added
	sizes          *shuffleSizes // sizes of the outputs; nil if they must be computed again
}

// act executes actions that package stage returned.
func (e *engine) act(actions []stage.Action) {
	for _, action := range actions {
		switch action := action.(type) {
		case stage.Plan:
			s := e.stages[action.Stage]
			// A stage whose outputs are all lost is planned again. Its tasks stay the same: other
			// pieces of a partition would give other elements after GroupInParts, and counters
			// must not be added twice.
			if s.tasks == nil {
				s.tasks = e.divide(s)
				s.countersAdded = make([]bool, len(s.tasks))
			}
			if s.exchange != nil {
				s.outputs = make([]shuffle.Output, len(s.tasks))
			} else {
				s.job.outputs = make([]taskOutput, len(s.tasks))
			}
			e.act(e.graph.Planned(action.Stage, len(s.tasks)))
		case stage.Run:
			e.start(action)
		case stage.Drain:
			e.cancelAttempt(action.Attempt, errInputLost)
		case stage.Abort:
			e.cancelAttempt(action.Attempt, errors.New(action.Reason))
		case stage.JobDone:
			e.endJob(action.Job, nil)
		case stage.JobFailed:
			e.endJob(action.Job, action.Err)
		}
	}
}

// errInputLost is the cause with which the engine cancels task sets whose tasks read output
// that is lost.
var errInputLost = errors.New("output that the stage reads is lost")

func (e *engine) endJob(id stage.JobID, err error) {
	j := e.jobs[id]
	for _, a := range e.attempts {
		if a.state.exchange == nil && a.state.job == j {
			a.summarize() // the caller of the action may read summaries before the task set ends
		}
	}
	delete(e.jobs, id)
	delete(e.stages, stage.StageID{Job: id})
	e.recordJobEnd(j, err)
	j.err = err
	close(j.done)
}

func (e *engine) cancelAttempt(number uint64, cause error) {
	if a := e.attempts[number]; a != nil {
		a.submission.Cancel(cause)
	}
}

// cache makes later tasks store the partitions of a data set.
func (e *engine) cache(r ref, level Level) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.levels[r] = level
}

// isCached reports whether Cache is in effect for a data set.
func (e *engine) isCached(r ref) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, cached := e.levels[r]
	return cached
}

// uncache ends the effect of cache, and makes executors remove the stored partitions.
func (e *engine) uncache(r ref) {
	e.mu.Lock()
	delete(e.levels, r)
	e.mu.Unlock()
	e.session.Release(cacheKey(r))
	e.recordUncached(r)
	e.post(func() {
		maps.DeleteFunc(e.cached, func(b cachedBlock, _ map[string]bool) bool { return b.Node == r })
	})
}

// forget removes the state of a plan to which the driver function no longer refers, and
// makes executors remove its cached partitions and map outputs.
func (e *engine) forget(p *Plan) {
	e.mu.Lock()
	for _, n := range p.nodes {
		delete(e.sources, n.ref())
		delete(e.offsets, n.ref())
		delete(e.joins, n.ref())
		if _, cached := e.levels[n.ref()]; cached {
			delete(e.levels, n.ref())
			e.session.Release(cacheKey(n.ref()))
			e.recordUncached(n.ref())
		}
		for _, x := range n.shuffles {
			delete(e.bounds, x.id())
		}
	}
	e.mu.Unlock()
	for _, n := range p.nodes {
		for _, x := range n.shuffles {
			id := stage.StageID{Shuffle: stage.ShuffleID(x.id())}
			if s := e.stages[id]; s != nil {
				e.act(e.graph.Release(id.Shuffle))
				delete(e.stages, id)
				e.session.Release(shuffle.HoldKey(x.id()))
				if slices.ContainsFunc(s.outputs, func(o shuffle.Output) bool { return o.Node != "" }) {
					e.app.Driver.Discard(shuffle.HoldKey(x.id())) // executors do not hold the key for outputs in a node's shuffle service
				}
			}
		}
	}
	for b := range e.cached {
		if b.Node.Plan == p.id {
			delete(e.cached, b)
		}
	}
}
