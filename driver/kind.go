package driver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/allocation"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// kind is the executors of one resource profile.
type kind struct {
	profile   profile.Profile
	used      bool             // executors of it are wanted: the settings' always, others from their first job until released
	jobs      int              // that run
	unused    time.Time        // when the last of them ended
	executors int              // that are registered
	instances int              // how many are wanted, without dynamic allocation
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

// slots is how many tasks an executor runs at once that take so many cores, and so
// much of its further resources, each. What a command finds out about its
// resources is not known before it runs.
func (k *kind) slots(c *config.Config, cpus int, resources map[string]float64) int {
	slots := k.profile.Cores / cpus
	if len(resources) == 0 {
		return slots
	}
	has, usual := config.TaskResourceNames(c, k.profile.Resources), config.TaskResourceNames(c, config.ExecutorResources(c))
	scripts := config.ResourceScripts(c)
	for name, amount := range resources {
		if amount <= 0 || scripts[name] != "" && usual[name] == 0 {
			continue
		}
		if amount < 1 {
			slots = min(slots, int(has[name])*int(1/amount))
		} else {
			slots = min(slots, int(float64(has[name])/amount))
		}
	}
	return slots
}

// kindOf finds the executors that a job asks for. Where all executors are of
// this process, they are of one kind, which is for every job.
func (l *loop) kindOf(wanted *profile.Profile) *kind {
	if wanted == nil || l.isLocal() {
		return l.kinds[0]
	}
	for _, k := range l.kinds {
		if k.profile.Same(*wanted) {
			return k
		}
	}
	p := *wanted
	l.lastKind++
	p.ID = l.lastKind
	k := newKind(l.d.options.Config, p)
	l.kinds = append(l.kinds, k)
	l.logger.Info("executors of a further resource profile", "profile", p.ID, "memory", p.Memory, "overhead", p.Overhead,
		"cores", p.Cores, "resources", p.Resources, "nodeLabel", p.NodeLabel, "opportunistic", p.Opportunistic)
	return k
}

// kind is the one of an id, nil where there is none.
func (l *loop) kind(id int) *kind {
	if at := slices.IndexFunc(l.kinds, func(k *kind) bool { return k.profile.ID == id }); at >= 0 {
		return l.kinds[at]
	}
	return nil
}

// begin counts a job that wants executors of the kind.
func (k *kind) begin() {
	k.used = true
	k.jobs++
}

// end is its reverse.
func (k *kind) end(now time.Time) {
	k.jobs--
	k.unused = now
}

// releaseKinds ends the executors of profiles that no job has used for
// dynamicAllocation.executorIdleTimeout, unless one of them holds something, and
// forgets such profiles when the last executor has left. It says when the next is due; the zero time for never.
func (l *loop) releaseKinds() (next time.Time) {
	l.kinds = slices.DeleteFunc(l.kinds, func(k *kind) bool {
		if k.profile.ID == profile.DefaultID || k.jobs > 0 {
			return false
		}
		if l.holding(k) {
			return false
		}
		if due := k.unused.Add(config.IdleTimeout.In(l.d.options.Config)); l.now.Before(due) {
			next = earliest(next, due)
			return false
		}
		if k.used {
			k.used, l.demand.changed = false, true
			l.logger.Info("no job uses a resource profile any more", "profile", k.profile.ID, "executors", k.executors)
			l.departKind(k)
		}
		if k.executors > 0 {
			return false
		}
		l.scheduler.ForgetProfile(k.profile.ID)
		return true
	})
	return next
}

// holding is whether an executor of a kind has something that later jobs may
// want.
func (l *loop) holding(k *kind) bool {
	for _, e := range l.executors {
		if e.kind == k && len(e.holds) > 0 {
			return true
		}
	}
	return false
}

// departKind ends the executors of a kind.
func (l *loop) departKind(k *kind) {
	var ids []string
	for _, e := range l.executors {
		if e.kind == k && e.departure == nil {
			ids = append(ids, e.id)
			l.depart(e, Notice{Reason: "no job uses its resource profile any more"}, false)
		}
	}
	if len(ids) > 0 && l.demand.manager != nil {
		l.ask() // the lower numbers come first, so that nobody comes in their place
		slices.Sort(ids)
		l.demand.manager.KillExecutors(ids)
	}
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
		if !k.used {
			continue
		}
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

// amountsText puts amounts of resources into words.
func amountsText[N int64 | float64](amounts map[string]N) string {
	if len(amounts) == 0 {
		return "none"
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		words = append(words, fmt.Sprintf("%v %s", amounts[name], name))
	}
	return strings.Join(words, " and ")
}

// resourcesOf is what executors of a profile have of further resources, by the
// names by which tasks ask for them. It reports whether the profile is known.
func (d *Driver) resourcesOf(id int) (resources map[string]int64, known bool) {
	if id == profile.DefaultID {
		return config.TaskResourceNames(d.options.Config, profile.Default(d.options.Config).Resources), true
	}
	answer := make(chan *kind, 1)
	if !d.do(func(l *loop) {
		answer <- l.kind(id)
	}) {
		return nil, false
	}
	select {
	case k := <-answer:
		if k == nil {
			return nil, false
		}
		return config.TaskResourceNames(d.options.Config, k.profile.Resources), true
	case <-d.ended:
		return nil, false
	}
}
