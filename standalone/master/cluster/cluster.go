package cluster

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// Options of a Cluster; their defaults are in package config.
type Options struct {
	// SpreadOut spreads executors over workers instead of packing them.
	SpreadOut bool
	// DefaultCores is the cores.max of applications that do not set cores.max; 0 means no limit.
	DefaultCores int
	// MaxExecutorRetries is how many executors of an application may fail in a row
	// before its removal; -1 for any number.
	MaxExecutorRetries int
	// RetainedApplications and RetainedDrivers are how many ended applications and drivers are
	// kept.
	RetainedApplications, RetainedDrivers int
	WorkerTimeout                         time.Duration
	ReconnectTimeout                      time.Duration
	RecoveryTimeout                       time.Duration
	// DeadWorkerRetention is how long dead workers are shown.
	DeadWorkerRetention time.Duration
	// Random shuffles workers before drivers are launched; nil for a random seed.
	Random *rand.Rand
}

// Phase is the state of a master.
type Phase string

const (
	// PhaseStandby: another master leads. A Cluster is never in this phase.
	PhaseStandby Phase = "STANDBY"
	// PhaseRecovering: a new leader waits for the stored workers and applications to attach,
	// and launches nothing.
	PhaseRecovering Phase = "RECOVERING"
	PhaseAlive      Phase = "ALIVE"
)

// Cluster is a leading master's state. It is not safe for concurrent use.
type Cluster struct {
	options  Options
	phase    Phase
	deadline time.Time // when PhaseRecovering ends at the latest

	workers   map[string]*worker  // includes dead ones while they are shown
	byAddress map[address]*worker // live ones

	applications  map[string]*application // that have not ended
	queue         []*application          // the same, in the order of scheduling
	registrations map[string]string       // application ids, by registration (ApplicationHello)
	ended         history[*application]

	drivers        map[string]*driver // that have not ended
	submissions    map[string]string  // driver ids, by submission (SubmitDriverRequest)
	waitingDrivers []*driver
	endedDrivers   history[*driver]

	nextNumber int  // the number in the next id of an application or a driver
	nextIndex  int  // the index of the next worker
	dirty      bool // Schedule may be able to launch more
	effects    Actions
}

// New returns an empty Cluster.
func New(options Options) *Cluster {
	if options.Random == nil {
		options.Random = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	return &Cluster{
		options:       options,
		phase:         PhaseAlive,
		workers:       map[string]*worker{},
		byAddress:     map[address]*worker{},
		applications:  map[string]*application{},
		registrations: map[string]string{},
		ended:         history[*application]{limit: options.RetainedApplications},
		drivers:       map[string]*driver{},
		submissions:   map[string]string{},
		endedDrivers:  history[*driver]{limit: options.RetainedDrivers},
	}
}

func (c *Cluster) Phase() Phase { return c.phase }

// newID makes an id in Spark's form: app-20060102150405-0000.
func (c *Cluster) newID(kind string, now time.Time) string {
	for {
		id := fmt.Sprintf("%s-%s-%04d", kind, now.UTC().Format("20060102150405"), c.nextNumber)
		c.nextNumber++
		if c.applications[id] == nil && c.drivers[id] == nil {
			return id // unique even if the store was lost
		}
	}
}

// workersInOrder returns all shown workers, also dead ones, by registration.
func (c *Cluster) workersInOrder() []*worker {
	all := make([]*worker, 0, len(c.workers))
	for _, w := range c.workers {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b *worker) int { return cmp.Compare(a.index, b.index) })
	return all
}

// history keeps the last ended applications or drivers, the oldest first.
type history[T any] struct {
	limit   int
	entries []T
}

// add adds an entry and returns those beyond the limit.
func (h *history[T]) add(entry T) (removed []T) {
	h.entries = append(h.entries, entry)
	if over := len(h.entries) - h.limit; over > 0 {
		removed = slices.Clone(h.entries[:over])
		h.entries = slices.Delete(h.entries, 0, over)
	}
	return removed
}

// Files returns the SHA-256 (32 raw bytes) of the files that workers may still fetch.
func (c *Cluster) Files() map[string]bool {
	hashes := map[string]bool{}
	add := func(program *protocol.File, files []*protocol.File) {
		if program != nil {
			hashes[string(program.GetSha256())] = true
		}
		for _, file := range files {
			hashes[string(file.GetSha256())] = true
		}
	}
	for _, a := range c.applications {
		add(a.description.GetCommand().GetProgram(), a.description.GetCommand().GetFiles())
	}
	for _, d := range c.drivers {
		add(d.description.GetProgram(), d.description.GetFiles())
	}
	return hashes
}
