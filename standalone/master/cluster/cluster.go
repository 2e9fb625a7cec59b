package cluster

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// Options configure a Cluster. Package config has the defaults.
type Options struct {
	// SpreadOut spreads an application's executors over many workers instead of packing them
	// onto few.
	SpreadOut bool
	// DefaultCores is the cores.max of applications that do not set cores.max; 0 means no limit.
	DefaultCores int
	// MaxExecutorRetries is the number of consecutive executor failures after which an
	// application is removed; -1 means no limit.
	MaxExecutorRetries int
	// RetainedApplications and RetainedDrivers are how many ended applications and drivers are
	// retained for status reports.
	RetainedApplications, RetainedDrivers int
	WorkerTimeout                         time.Duration
	ReconnectTimeout                      time.Duration
	RecoveryTimeout                       time.Duration
	// DeadWorkerRetention is how long a dead worker remains in the status.
	DeadWorkerRetention time.Duration
	// Random shuffles the workers before drivers are launched; nil means a random seed.
	Random *rand.Rand
}

// Phase is the phase of a master's leadership.
type Phase string

const (
	// PhaseStandby: another master leads. Only the status of a standby has this phase; a
	// Cluster never has it.
	PhaseStandby Phase = "STANDBY"
	// PhaseRecovering: this new leader waits until the stored workers and applications have
	// attached, and launches nothing.
	PhaseRecovering Phase = "RECOVERING"
	PhaseAlive      Phase = "ALIVE"
)

// Cluster is the state of a leading master. It is not safe for concurrent use.
type Cluster struct {
	options  Options
	phase    Phase
	deadline time.Time // when PhaseRecovering ends at the latest

	workers   map[string]*worker  // by id; includes dead workers that the status still shows
	byAddress map[address]*worker // live workers

	applications  map[string]*application // applications that have not ended, by id
	queue         []*application          // the same applications, in the order of scheduling
	registrations map[string]string       // application ids, by the registration in ApplicationHello
	ended         history[*application]

	drivers        map[string]*driver // drivers that have not ended, by id
	submissions    map[string]string  // driver ids, by the submission in SubmitDriverRequest
	waitingDrivers []*driver
	endedDrivers   history[*driver]

	nextNumber int  // the number in the next id of an application or a driver
	nextIndex  int  // worker.index of the next worker
	dirty      bool // whether Schedule may be able to launch more
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

// newID returns a new id in Spark's form, such as app-20060102150405-0000.
func (c *Cluster) newID(kind string, now time.Time) string {
	for {
		id := fmt.Sprintf("%s-%s-%04d", kind, now.UTC().Format("20060102150405"), c.nextNumber)
		c.nextNumber++
		if c.applications[id] == nil && c.drivers[id] == nil {
			return id // the check matters if the store was lost, because nextNumber then begins at 0 again
		}
	}
}

// workersInOrder returns the workers, including dead ones, in the order of their registration.
func (c *Cluster) workersInOrder() []*worker {
	all := make([]*worker, 0, len(c.workers))
	for _, w := range c.workers {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b *worker) int { return cmp.Compare(a.index, b.index) })
	return all
}

// history has the most recently ended applications or drivers, oldest first.
type history[T any] struct {
	limit   int
	entries []T
}

// add adds an entry, and returns the entries that it removed because the limit was exceeded.
func (h *history[T]) add(entry T) (removed []T) {
	h.entries = append(h.entries, entry)
	if over := len(h.entries) - h.limit; over > 0 {
		removed = slices.Clone(h.entries[:over])
		h.entries = slices.Delete(h.entries, 0, over)
	}
	return removed
}

// Files returns the SHA-256 sums (32 raw bytes each) of the files that workers may still
// fetch.
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
