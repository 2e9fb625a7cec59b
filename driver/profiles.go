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

// resourceProfile is a resource profile with the numbers of its task sets and executors.
type resourceProfile struct {
	profile.Profile
	inUse       bool             // whether executors may be requested: always for the default profile, for others until they are released
	sets        int              // number of task sets that run on its executors
	unusedSince time.Time        // end time of the last of these task sets
	executors   int              // number of registered executors
	instances   int              // number of requested executors if dynamic allocation is off
	pool        *allocation.Pool // nil if dynamic allocation is off
	tasksToRun  allocation.Work  // input of dynamic allocation, computed in each turn of the event loop
}

// total returns the number of executors of the profile to request.
func (p *resourceProfile) total() int {
	switch {
	case !p.inUse:
		return 0
	case p.pool != nil:
		return p.pool.Target()
	}
	return p.instances
}

// beginSet records that a task set starts to run on the profile's executors.
func (p *resourceProfile) beginSet() {
	p.inUse = true
	p.sets++
}

func (p *resourceProfile) endSet(now time.Time) {
	p.sets--
	p.unusedSince = now
}

// slots returns how many tasks an executor of the profile can run at once if each task uses cpus
// cores and the given resources. It ignores resources whose amount is not in the profile, but is
// determined by a discovery script on the executor.
func (p *resourceProfile) slots(c *config.Config, cpus int, resources map[string]float64) int {
	slots := p.Cores / cpus
	if len(resources) == 0 {
		return slots
	}
	available, defaults := config.TaskResourceNames(c, p.Resources), config.TaskResourceNames(c, config.ExecutorResources(c))
	scripts := config.ResourceScripts(c)
	for name, amount := range resources {
		if amount <= 0 || scripts[name] != "" && defaults[name] == 0 {
			continue
		}
		if amount < 1 {
			slots = min(slots, int(available[name])*int(1/amount))
		} else {
			slots = min(slots, int(float64(available[name])/amount))
		}
	}
	return slots
}

// profiles are the resource profiles that task sets use or that have executors.
type profiles struct {
	config      *config.Config
	list        []*resourceProfile // ordered by id; the first is the default profile
	lastID      int
	idleTimeout time.Duration // how long a profile must be unused before it is released
}

func newProfiles(c *config.Config) profiles {
	p := profiles{config: c, lastID: profile.DefaultID, idleTimeout: config.IdleTimeout.In(c)}
	p.add(profile.Default(c)).inUse = true
	return p
}

func (p *profiles) add(added profile.Profile) *resourceProfile {
	r := &resourceProfile{Profile: added, instances: config.ExecutorInstances.In(p.config)}
	if config.DynamicAllocation.In(p.config) {
		r.pool = allocation.New(allocation.FromConfig(p.config))
	}
	p.list = append(p.list, r)
	return r
}

// byID returns the profile with the given id; nil if there is none.
func (p *profiles) byID(id int) *resourceProfile {
	if at := slices.IndexFunc(p.list, func(r *resourceProfile) bool { return r.ID == id }); at >= 0 {
		return p.list[at]
	}
	return nil
}

// findOrAdd returns the profile that equals wanted except for its ID. If there is none, it adds
// wanted with a new ID, and added is true.
func (p *profiles) findOrAdd(wanted profile.Profile) (r *resourceProfile, added bool) {
	for _, r := range p.list {
		if r.Same(wanted) {
			return r, false
		}
	}
	p.lastID++
	wanted.ID = p.lastID
	return p.add(wanted), true
}

func (p *profiles) remove(removed *resourceProfile) {
	p.list = slices.DeleteFunc(p.list, func(r *resourceProfile) bool { return r == removed })
}

// total returns the number of executors to request, for all profiles together.
func (p *profiles) total() int {
	total := 0
	for _, r := range p.list {
		total += r.total()
	}
	return total
}

// unusedProfiles returns the profiles that no task set has used for the idle timeout and whose
// executors hold no data. next is the earliest time at which a further profile will have been
// unused for that time; the zero time means that there is no such profile.
func (p *profiles) unusedProfiles(now time.Time, holdsData func(*resourceProfile) bool) (unused []*resourceProfile, next time.Time) {
	for _, r := range p.list[1:] {
		if r.sets > 0 || holdsData(r) {
			continue
		}
		if due := r.unusedSince.Add(p.idleTimeout); now.Before(due) {
			next = earliest(next, due)
		} else {
			unused = append(unused, r)
		}
	}
	return unused, next
}

// releaseProfiles decommissions the executors of unused profiles, and removes a profile that has
// no executors left. It returns the time of the next call; the zero time means never.
func (l *loop) releaseProfiles() (next time.Time) {
	unused, next := l.profiles.unusedProfiles(l.now, l.holdsData)
	for _, p := range unused {
		if p.inUse {
			p.inUse, l.requester.mayHaveChanged = false, true
			l.logger.Info("no job uses a resource profile any more", "profile", p.ID, "executors", p.executors)
			var surplus []*executor
			for _, e := range l.executors {
				if e.profile == p {
					surplus = append(surplus, e)
				}
			}
			l.decommissionSurplus(surplus, func(*executor) string { return "no job uses its resource profile any more" })
		}
		if p.executors == 0 {
			l.scheduler.ForgetProfile(p.ID)
			l.profiles.remove(p)
		}
	}
	return next
}

// holdsData reports whether any executor of a profile holds data (Task.Hold).
func (l *loop) holdsData(p *resourceProfile) bool {
	for _, e := range l.executors {
		if e.profile == p && len(e.held.keys) > 0 {
			return true
		}
	}
	return false
}

// profileOf returns the resource profile whose executors run a task set. If all executors run in
// this process, it is the default profile for every task set.
func (l *loop) profileOf(spec *TaskSet) *resourceProfile {
	if spec.Profile == nil || l.isLocal() {
		return l.profiles.list[0]
	}
	p, added := l.profiles.findOrAdd(*spec.Profile)
	if added {
		l.logger.Info("executors of a further resource profile", "profile", p.ID, "memory", p.Memory, "overhead", p.Overhead,
			"cores", p.Cores, "resources", p.Resources, "nodeLabel", p.NodeLabel, "opportunistic", p.Opportunistic)
	}
	return p
}

// adaptAllocation implements dynamic allocation: it adapts the number of requested executors to
// the tasks to run, and decommissions idle executors. It returns the time of the next call; the
// zero time means never. Its cost is proportional to the number of task sets.
func (l *loop) adaptAllocation() (next time.Time) {
	if l.stopping || l.profiles.list[0].pool == nil {
		return time.Time{}
	}
	for _, p := range l.profiles.list {
		p.tasksToRun = allocation.Work{Backlog: l.scheduler.DemandOf(p.ID).WaitingTasks > 0}
	}
	for _, set := range l.sets {
		set.profile.tasksToRun.Executors += float64(len(set.spec.Tasks)-set.doneTasks) / float64(set.slots)
	}
	var idle []*executor
	for _, p := range l.profiles.list {
		if !p.inUse {
			continue
		}
		before := p.pool.Target()
		for _, member := range p.pool.Update(p.tasksToRun, l.now) {
			idle = append(idle, l.executors[member.ID])
		}
		if target := p.pool.Target(); target != before {
			l.requester.mayHaveChanged = true
			l.logger.Info("number of executors wanted", "profile", p.ID, "before", before, "now", target)
		}
		next = earliest(next, p.pool.Next())
	}
	l.decommissionSurplus(idle, func(e *executor) string {
		return fmt.Sprintf("it was idle for %v", l.now.Sub(e.idleSince).Round(time.Millisecond))
	})
	return next
}

// decommissionSurplus decommissions executors that are not needed any more. It first reduces the
// number of requested executors, so that the cluster manager does not replace them.
func (l *loop) decommissionSurplus(executors []*executor, reason func(*executor) string) {
	if len(executors) == 0 {
		return
	}
	l.requestExecutors()
	slices.SortFunc(executors, func(a, b *executor) int { return strings.Compare(a.id, b.id) })
	for _, e := range executors {
		l.decommissionWithoutClusterManager(e, reason(e))
	}
}

// taskResources returns a profile's amounts of resources other than memory and cores, such as
// GPUs, by the resource names that tasks request. exists is false if no profile has the id.
func (d *Driver) taskResources(id int) (resources map[string]int64, exists bool) {
	if id == profile.DefaultID {
		return config.TaskResourceNames(d.options.Config, profile.Default(d.options.Config).Resources), true
	}
	p, _ := ask(d, func(l *loop) *resourceProfile { return l.profiles.byID(id) })
	if p == nil {
		return nil, false
	}
	return config.TaskResourceNames(d.options.Config, p.Resources), true
}

// formatAmounts returns amounts of resources as text, such as "2 gpu", or "none".
func formatAmounts[N int64 | float64](amounts map[string]N) string {
	if len(amounts) == 0 {
		return "none"
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		words = append(words, fmt.Sprintf("%v %s", amounts[name], name))
	}
	return strings.Join(words, " and ")
}
