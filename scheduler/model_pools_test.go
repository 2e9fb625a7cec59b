package scheduler

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/scheduler/pool"
)

// modelPools are the pools of a profile, in the order in which they were added.
type modelPools struct {
	fair bool
	all  []*modelPool // the root first
}

type modelPool struct {
	pool.Pool
	parent *modelPool
}

func (m *model) poolsOf(profile int) *modelPools {
	pools := m.pools[profile]
	if pools == nil {
		root := &modelPool{Pool: pool.Pool{Mode: m.config.Mode, Pools: m.config.Pools}}
		pools = &modelPools{fair: m.config.Mode == pool.FAIR, all: []*modelPool{root}}
		pools.grow(root)
		m.pools[profile] = pools
	}
	return pools
}

func (p *modelPools) grow(parent *modelPool) {
	for _, pool := range parent.Pools {
		child := &modelPool{Pool: pool, parent: parent}
		p.all = append(p.all, child)
		p.grow(child)
	}
}

func (p *modelPools) named(name string) *modelPool {
	if !p.fair {
		return p.all[0]
	}
	if name == "" {
		name = "default"
	}
	for _, known := range p.all[1:] {
		if known.Name == name {
			return known
		}
	}
	p.all = append(p.all, &modelPool{Pool: pool.Pool{Name: name}, parent: p.all[0]})
	return p.all[len(p.all)-1]
}

// child is a pool or a set in a pool.
type child struct {
	pool *modelPool
	set  *modelSet
}

// round is an offer of the scheduler. The model checks the offer's launches and repeats them.
type round struct {
	*model
	profile  int
	pools    *modelPools
	launches []Launch
	declined map[child]bool
	took     map[*modelSet]bool
}

// offer checks the launches of an offer of the scheduler, and repeats them in the model.
func (m *model) offer(launches []Launch) {
	for _, profile := range profiles {
		r := &round{m, profile, m.poolsOf(profile), launches, map[child]bool{}, map[*modelSet]bool{}}
		sets := slices.Clone(m.sets)
		for r.launchFrom(r.pools.all[0]) {
		}
		for _, set := range sets {
			if r.took[set] && !r.declined[child{set: set}] {
				m.setDelayed(set, false)
			}
		}
		launches = r.launches
	}
	require.Empty(m.t, launches, "launches of sets that are over or go later")
}

// setDelayed starts or stops the delay clock of a set.
func (m *model) setDelayed(set *modelSet, delayed bool) {
	if delayed != set.delayed {
		set.waited, set.since, set.delayed = set.elapsed(m.now), m.now, delayed
	}
}

// running returns how many cores a child uses.
func (r *round) running(c child) int {
	cores := 0
	for _, a := range r.attempts {
		inside := a.set == c.set
		for pool := a.set.pool; pool != nil && c.pool != nil; pool = pool.parent {
			inside = inside || pool == c.pool
		}
		if inside && a.set.Profile == r.profile {
			cores += a.cpus()
		}
	}
	return cores
}

// before reports whether a gets a core before b, a later child of the same FAIR pool.
func (r *round) before(a, b child) bool {
	share := func(c child) (needy bool, share float64) {
		pool := pool.Pool{Weight: 1}
		if c.pool != nil {
			pool = c.pool.Pool
		}
		running := r.running(c)
		if running < pool.MinShare {
			return true, float64(running) / float64(pool.MinShare)
		}
		return false, float64(running) / float64(max(pool.Weight, 1))
	}
	needyA, shareA := share(a)
	needyB, shareB := share(b)
	if needyA != needyB {
		return needyA
	}
	return shareA <= shareB
}

func (r *round) mostFree() int {
	most := 0
	for _, e := range r.executors {
		if e.Profile == r.profile && !e.decommissioning {
			most = max(most, e.free)
		}
	}
	return most
}

// launchFrom makes one launch of a task of a pool in the model, and reports whether a task could
// be launched.
func (r *round) launchFrom(from *modelPool) bool {
	for r.mostFree() > 0 {
		var next *child
		consider := func(c child) {
			if !r.declined[c] && (next == nil || from.Mode == pool.FAIR && !r.before(*next, c)) {
				next = &c
			}
		}
		for _, inside := range r.pools.all {
			if inside.parent == from {
				consider(child{pool: inside})
			}
		}
		for _, set := range r.sets {
			if set.Profile == r.profile && set.pool == from {
				consider(child{set: set})
			}
		}
		switch {
		case next == nil:
			return false
		case next.pool != nil && r.launchFrom(next.pool):
			return true
		case next.set != nil && r.mostFree() < next.set.CPUs:
			if r.took[next.set] {
				r.setDelayed(next.set, false)
			}
		case next.set != nil && r.launchOf(next.set):
			return true
		}
		r.declined[*next] = true
	}
	return false
}

// launchOf makes one launch of a task of a set in the model, and reports whether a task could be
// launched.
func (r *round) launchOf(set *modelSet) bool {
	left := false
	for i := range set.tasks {
		task := &set.tasks[i]
		for _, e := range r.executors {
			if !task.waiting || e.decommissioning || e.Profile != set.Profile || e.free < set.CPUs {
				continue
			}
			left = true
			if r.mayRun(set, task, e) && e.hasFor(set) {
				require.NotEmpty(r.t, r.launches, "task %d of set %d waits although %s has %d cores free at level %s",
					i, set.ID, e.ID, e.free, r.level(task, e))
				require.Equal(r.t, set.ID, r.launches[0].TaskSet, "task %d (%+v) of set %d goes first on %s at level %s", i, task, set.ID, e.ID, r.level(task, e))
				r.launch(set, r.launches[0])
				r.launches = r.launches[1:]
				r.took[set] = true
				return true
			}
		}
	}
	if left || r.took[set] {
		r.setDelayed(set, left)
	}
	return false
}

// isLargeFor reports whether the executor could run a task of a set if it were idle.
func (e *modelExecutor) isLargeFor(set *modelSet) bool {
	return e.Cores >= set.CPUs && float64(len(e.Resources["gpu"])) >= set.Resources["gpu"]
}

// hasFor reports whether an executor has free GPUs for a task of a set.
func (e *modelExecutor) hasFor(set *modelSet) bool {
	amount, enough := set.Resources["gpu"], 0
	for _, gpu := range e.Resources["gpu"] {
		if e.used[gpu]+min(amount, 1) <= 1 {
			enough++
		}
	}
	return amount == 0 || enough >= max(int(amount), 1)
}

// takeGPUs checks and reserves the GPUs of a launch.
func (m *model) takeGPUs(set *modelSet, e *modelExecutor, l Launch) []string {
	amount := set.Resources["gpu"]
	if amount == 0 {
		require.Nil(m.t, l.Resources)
		return nil
	}
	gpus := l.Resources["gpu"]
	require.Len(m.t, gpus, max(int(amount), 1), "%+v", l)
	for _, gpu := range gpus {
		require.Contains(m.t, e.Resources["gpu"], gpu)
		e.used[gpu] += min(amount, 1)
		require.LessOrEqual(m.t, e.used[gpu], 1.0, "%+v: GPU %s is over-committed", l, gpu)
	}
	return gpus
}
