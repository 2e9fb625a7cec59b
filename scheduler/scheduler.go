package scheduler

import (
	"cmp"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/scheduler/exclusion"
	"github.com/bobbin-yarn/bobbin/scheduler/pool"
	"github.com/bobbin-yarn/bobbin/scheduler/speculation"
)

// Config configures a scheduler.
type Config struct {
	// LocalityWaitProcess, LocalityWaitNode and LocalityWaitRack are how long a task set leaves
	// free cores unused while it waits for a core on a preferred executor, on a preferred host
	// or in the rack of a preferred host. 0 means that it does not wait.
	LocalityWaitProcess, LocalityWaitNode, LocalityWaitRack time.Duration
	// RackOf returns the rack of a host, or "" if the rack is not known. It is called when an
	// executor or a task set first refers to the host, and must not block. If it is nil or
	// returns "", the rack is Executor.Rack of the first executor on the host.
	RackOf func(host string) string
	// Mode is how task sets share executors: by priority (FIFO) or by pools (FAIR).
	Mode        pool.Mode
	Pools       []pool.Pool       // configured pools if Mode is FAIR; see [pool.Check]
	Exclusion   exclusion.Rules   // rules by which failures exclude executors and nodes
	Speculation speculation.Rules // rules by which copies of slow tasks are launched
	// BarrierReserveDelay is how long a barrier set waits for enough free cores before free
	// cores are reserved for it; 0 means 30 s.
	BarrierReserveDelay time.Duration
	// BarrierTimeout is how long a barrier set waits for executors that can run all
	// of its tasks at once before it is aborted; 0 means 10 minutes.
	BarrierTimeout time.Duration
}

// Scheduler is the state of executors and task sets. It is not safe for concurrent use.
type Scheduler struct {
	config    Config
	clock     clock
	delays    localityDelays
	attempts  attempts
	executors map[string]*executor
	profiles  []*profile // ordered by id
	sets      map[uint64]*taskSet
	exclusion exclusion.ApplicationExclusions // executors and nodes that are excluded for the application
	barriers  int                             // number of barrier sets
	// possiblyBlocked are the sets that checkBlocked checks while nothing is excluded for the
	// application: sets that are blocked, barrier sets, and sets with failures, because failures
	// may exclude executors for the set.
	possiblyBlocked map[uint64]*taskSet

	executorsAdded, setsSubmitted uint64
}

// New returns a scheduler without executors or task sets.
func New(config Config) *Scheduler {
	config.Exclusion = config.Exclusion.WithDefaults()
	config.Speculation = config.Speculation.WithDefaults()
	config.BarrierReserveDelay = cmp.Or(config.BarrierReserveDelay, 30*time.Second)
	config.BarrierTimeout = cmp.Or(config.BarrierTimeout, 10*time.Minute)
	s := &Scheduler{
		config:          config,
		executors:       make(map[string]*executor),
		sets:            make(map[uint64]*taskSet),
		possiblyBlocked: make(map[uint64]*taskSet),
	}
	s.attempts = attempts{clock: &s.clock, byID: make(map[AttemptID]*attempt)}
	s.delays.clock = &s.clock
	s.delays.waitByLevel[ProcessLocal] = config.LocalityWaitProcess
	s.delays.waitByLevel[NodeLocal] = config.LocalityWaitNode
	s.delays.waitByLevel[RackLocal] = config.LocalityWaitRack
	return s
}

// clock is the scheduler's time: the latest value that its owner has passed as the parameter
// "now".
type clock struct {
	now     time.Time
	elapsed time.Duration // from the first value of "now" until the latest
}

// advance sets the time. An earlier time has no effect.
func (c *clock) advance(now time.Time) {
	if !now.After(c.now) {
		return
	}
	if !c.now.IsZero() {
		c.elapsed += now.Sub(c.now)
	}
	c.now = now
}

// Offer launches tasks on the free cores at the time now, and queues tasks at executors that
// have a window. It returns the attempts to launch, and a [Recall] event for each executor that
// must return its queued attempts. Act on the events before the launches. Call Offer after
// anything that adds executors, free cores or tasks, and at [Scheduler.NextDeadline]. A call is
// cheap if there is nothing to launch. If now is before the time of an earlier call, the earlier
// call's time is used.
func (s *Scheduler) Offer(now time.Time) ([]Launch, []Event) {
	s.clock.advance(now)
	var recalls []Event
	for _, p := range s.profiles {
		p.offer(s.barriers == 0)
		recalls = p.recallQueued(recalls)
	}
	launches := s.attempts.launches
	s.attempts.launches = nil
	return launches, recalls
}

// Advance ends the exclusions that have expired at the time now, and aborts task sets that have
// been blocked for too long. Call it before reporting ends of attempts, and at
// [Scheduler.NextDeadline]; then call Offer. It returns [ExclusionEnded], [TaskSetUnschedulable]
// and [TaskSetAborted] events. A TaskSetAborted is followed by a [KillAttempt] for each attempt
// of the set.
func (s *Scheduler) Advance(now time.Time) []Event {
	s.clock.advance(now)
	var events []Event
	if s.config.Exclusion.Enabled {
		events = s.endExclusions(events)
	}
	return s.checkBlocked(events)
}

// NextDeadline returns the earliest time at which the state changes without an event: a level of
// locality opens to a set that leaves cores unused, an exclusion ends, or a blocked set is
// aborted. Call Advance and Offer at that time. It returns false if there is no such time.
func (s *Scheduler) NextDeadline() (time.Time, bool) {
	next := earlier(s.exclusion.NextExpiry(), s.nextAbort())
	if wait := s.nextLevel(); wait > 0 {
		next = earlier(next, s.clock.now.Add(wait))
	}
	return next, !next.IsZero()
}

// earlier returns the earlier of two times. It ignores a zero time.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// profile is a resource profile with its executors and task sets. Sets of different profiles
// never compete for cores, so each profile is scheduled separately.
type profile struct {
	id int
	cluster
	sets   map[uint64]*taskSet
	demand Demand
	pools  *pool.Tree[*taskSet]

	// config, delays and attempts are those of the scheduler. All profiles share them.
	config   *Config
	delays   *localityDelays
	attempts *attempts

	// queuedSet is the task set whose attempt was queued last. It is nil if no attempt was
	// queued since the latest recall of all queued attempts.
	queuedSet *taskSet
	// offeredSets are the sets that have been offered cores in the current offer. coresReserved
	// is true if the remaining free cores are reserved for a barrier set.
	offeredSets   []*taskSet
	coresReserved bool
	reservedFor   *taskSet // barrier set for which the latest offer reserved cores
}

func (s *Scheduler) findProfile(id int) (int, bool) {
	return slices.BinarySearchFunc(s.profiles, id, func(p *profile, id int) int { return cmp.Compare(p.id, id) })
}

// profile returns the profile with the given id. It creates the profile if necessary.
func (s *Scheduler) profile(id int) *profile {
	i, known := s.findProfile(id)
	if !known {
		s.profiles = slices.Insert(s.profiles, i, &profile{
			id: id, cluster: newCluster(s.rackOf), sets: make(map[uint64]*taskSet), pools: pool.New[*taskSet](s.config.Mode, s.config.Pools),
			config: &s.config, delays: &s.delays, attempts: &s.attempts,
		})
	}
	return s.profiles[i]
}

// ForgetProfile removes the state of a resource profile. It does nothing if the profile still
// has executors, task sets or attempts.
func (s *Scheduler) ForgetProfile(id int) {
	s.profiles = slices.DeleteFunc(s.profiles, func(p *profile) bool {
		return p.id == id && len(p.sets) == 0 && len(p.hosts) == 0 && p.demand == Demand{}
	})
}
