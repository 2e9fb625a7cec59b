package scheduler

import (
	"cmp"
	"time"
)

// Config is what all task sets have in common.
type Config struct {
	// LocalityWaitProcess, LocalityWaitNode and LocalityWaitRack are how long a
	// task set leaves cores unused in hope of a place in the process, on the
	// node and in the rack that a task prefers. Zero: it takes the best place
	// that is free at once.
	LocalityWaitProcess, LocalityWaitNode, LocalityWaitRack time.Duration
	// MaxTaskFailures is how often one task may fail before its set does; 4
	// where it is less than 1.
	MaxTaskFailures int
	// RackOf names a host's rack, "" where it is not known. It is called when a
	// host is first heard of and must answer at once. Where it is nil or doesn't
	// know, the rack is the one that the first executor on the host comes with.
	RackOf func(host string) string
	// Mode is how executors are shared: FIFO, where task sets are served as they
	// were submitted, or FAIR, among Pools.
	Mode Mode
	// Pools are those that are described, if Mode is FAIR; see CheckPools.
	Pools []Pool
	// Exclusion is when failures exclude executors and nodes.
	Exclusion Exclusion
	// Speculation is when slow tasks are run once more.
	Speculation Speculation
	// BarrierReserveDelay is how long others may take the cores that a barrier set
	// waits for; 30 s where it is 0.
	BarrierReserveDelay time.Duration
	// BarrierTimeout is how long a barrier set waits for executors that can hold
	// it; 10 minutes where it is 0.
	BarrierTimeout time.Duration
}

// defaultMaxTaskFailures is Spark's, too.
const defaultMaxTaskFailures = 4

// Scheduler is the state of all executors and task sets. It is not safe for
// use by several goroutines at once.
type Scheduler struct {
	config Config
	waits  [Localities]time.Duration
	// now is the time of the latest Offer, Advance or CheckSpeculation.
	now time.Time
	// clock is how long after the first such time that is.
	clock time.Duration

	// expecting is whether further executors are on their way.
	expecting bool

	executors map[string]*executor
	// profiles come in the order of their ids.
	profiles []*profile
	sets     map[uint64]*taskSet
	// excluded is what is excluded for the application, barriers how many barrier
	// sets there are.
	excluded applicationExclusion
	barriers int
	// suspects are the sets that may be unable to go on: barrier sets, and those
	// with a failure that may exclude an executor.
	suspects map[uint64]*taskSet
	// delayed is how many sets have a clock that runs.
	delayed  int
	attempts map[AttemptID]*attempt

	// launches serves the offer that is being made.
	launches []Launch

	executorsAdded, setsSubmitted uint64
	attemptsMade                  AttemptID
}

// New makes a scheduler without executors and task sets.
func New(config Config) *Scheduler {
	if config.MaxTaskFailures < 1 {
		config.MaxTaskFailures = defaultMaxTaskFailures
	}
	config.Exclusion = config.Exclusion.withDefaults()
	config.Speculation = config.Speculation.withDefaults()
	config.BarrierReserveDelay = cmp.Or(config.BarrierReserveDelay, 30*time.Second)
	config.BarrierTimeout = cmp.Or(config.BarrierTimeout, 10*time.Minute)
	s := &Scheduler{
		config:    config,
		executors: make(map[string]*executor),
		sets:      make(map[uint64]*taskSet),
		suspects:  make(map[uint64]*taskSet),
		attempts:  make(map[AttemptID]*attempt),
	}
	s.waits[ProcessLocal] = config.LocalityWaitProcess
	s.waits[NodeLocal] = config.LocalityWaitNode
	s.waits[RackLocal] = config.LocalityWaitRack
	return s
}
