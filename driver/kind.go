package driver

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/allocation"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// kind is the executors of one resource profile.
type kind struct {
	profile   profile.Profile
	used      bool             // executors of it are wanted: the settings' always, others from their first job on
	instances int              // how many, without dynamic allocation
	pool      *allocation.Pool // nil without dynamic allocation
	work      allocation.Work  // of this turn
}

func newKind(c *config.Config, p profile.Profile) *kind {
	k := &kind{profile: p, used: p.ID == profile.DefaultID, instances: config.ExecutorCount.In(c)}
	if config.DynamicAllocation.In(c) {
		k.pool = allocation.New(allocation.FromConfig(c))
	}
	return k
}

// total is how many executors there shall be.
func (k *kind) total() int {
	switch {
	case !k.used:
		return 0
	case k.pool != nil:
		return k.pool.Target()
	}
	return k.instances
}

// slots is how many tasks that take so many cores each an executor runs at once.
func (k *kind) slots(cpus int) int { return k.profile.Cores / cpus }

// kindOf finds the executors that a job asks for. Where all executors are of
// this process, they are of one kind, which is for every job.
func (l *loop) kindOf(wanted *profile.Profile) *kind {
	if wanted == nil || l.isLocal() {
		return l.kinds[profile.DefaultID]
	}
	for _, k := range l.kinds {
		if k.profile.Same(*wanted) {
			return k
		}
	}
	p := *wanted
	p.ID = len(l.kinds)
	k := newKind(l.d.options.Config, p)
	l.kinds = append(l.kinds, k)
	l.logger.Info("executors of a further resource profile", "profile", p.ID, "memory", p.Memory, "overhead", p.Overhead,
		"cores", p.Cores, "resources", p.Resources, "nodeLabel", p.NodeLabel, "opportunistic", p.Opportunistic)
	return k
}

// isLocal reports whether executors are of this process only, and nobody can be
// asked for others.
func (l *loop) isLocal() bool { return l.d.options.Identity == nil && l.demand.manager == nil }

// wanted is how many executors there shall be, of all kinds.
func (l *loop) wanted() int {
	total := 0
	for _, k := range l.kinds {
		total += k.total()
	}
	return total
}

// reallocate brings the numbers of executors that are wanted to where the work
// wants them, and ends executors that have been idle for long enough. It says
// when time alone will be a reason to do so again; the zero time where it will
// not. It costs as much as there are jobs.
func (l *loop) reallocate() (next time.Time) {
	if l.stopping || l.kinds[0].pool == nil {
		return time.Time{}
	}
	for _, k := range l.kinds {
		k.work = allocation.Work{Backlog: l.scheduler.DemandOf(k.profile.ID).WaitingTasks > 0}
	}
	for _, r := range l.runs {
		r.kind.work.Executors += float64(len(r.job.Tasks)-r.done) / float64(r.slots)
	}
	var idle []string
	for _, k := range l.kinds {
		before := k.pool.Target()
		for _, member := range k.pool.Update(k.work, l.now) {
			e := l.executors[member.ID]
			idle = append(idle, e.id)
			l.depart(e, Notice{Reason: fmt.Sprintf("it was idle for %v", l.now.Sub(e.idleSince).Round(time.Millisecond))}, false)
		}
		if target := k.pool.Target(); target != before {
			l.demand.changed = true
			l.logger.Info("number of executors wanted", "profile", k.profile.ID, "before", before, "now", target)
		}
		next = earliest(next, k.pool.Next())
	}
	if len(idle) > 0 && l.demand.manager != nil {
		// The lower numbers come first, so that nobody comes in their place.
		l.ask()
		l.demand.manager.KillExecutors(idle)
	}
	return next
}
