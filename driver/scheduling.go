package driver

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/scheduler"
	"github.com/bobbin-yarn/bobbin/scheduler/exclusion"
	"github.com/bobbin-yarn/bobbin/scheduler/pool"
	"github.com/bobbin-yarn/bobbin/scheduler/speculation"
)

func schedulerConfig(o *Options) scheduler.Config {
	c := o.Config
	process, node, rack := config.LocalityWaits(c)
	slow := speculation.Rules{
		Enabled:        config.Speculation.In(c),
		Quantile:       config.SpeculationQuantile.In(c),
		Multiplier:     config.SpeculationMultiplier.In(c),
		MinTaskRuntime: config.SpeculationMinRuntime.In(c),
	}
	if threshold := config.SpeculationThreshold.In(c); threshold != nil {
		slow.DurationThreshold = *threshold
	}
	return scheduler.Config{
		LocalityWaitProcess: process, LocalityWaitNode: node, LocalityWaitRack: rack,
		RackOf: o.RackOf,
		Mode:   schedulerMode(c),
		Pools:  o.Pools,
		Exclusion: exclusion.Rules{
			Enabled:                           config.ExcludeTasks.In(c),
			TaskAttemptsPerExecutor:           config.TaskAttemptsPerExecutor.In(c),
			TaskAttemptsPerNode:               config.TaskAttemptsPerNode.In(c),
			SetFailedTasksPerExecutor:         config.JobFailedTasksPerExecutor.In(c),
			SetFailedExecutorsPerNode:         config.JobFailedExecutorsPerNode.In(c),
			ApplicationFailedTasksPerExecutor: config.ApplicationFailedTasksPerExecutor.In(c),
			ApplicationFailedExecutorsPerNode: config.NodeMaxFailures.In(c),
			Timeout:                           config.ExcludeTimeout.In(c),
			KillExcluded:                      config.KillExcludedExecutors.In(c),
			UnschedulableTimeout:              config.UnschedulableTimeout.In(c),
		},
		Speculation:         slow,
		BarrierReserveDelay: config.BarrierReserveDelay.In(c),
		BarrierTimeout:      config.BarrierTimeout.In(c),
	}
}

func schedulerMode(c *config.Config) pool.Mode {
	if config.SchedulerMode.In(c) == pool.FAIR.String() {
		return pool.FAIR
	}
	return pool.FIFO
}

// poolOf returns the name of a task set's pool; "" if scheduler.mode is FIFO.
func (l *loop) poolOf(spec *TaskSet) string {
	switch {
	case schedulerMode(l.d.options.Config) == pool.FIFO:
		return ""
	case spec.Pool == "":
		return pool.Default
	}
	return spec.Pool
}

// offer has the scheduler assign tasks to free cores, and launches these tasks.
func (l *loop) offer() {
	launches, events := l.scheduler.Offer(l.now)
	l.handleSchedulerEvents(events)
	for i := range launches {
		launch := &launches[i]
		if set := l.sets[launch.TaskSet]; set != nil { // acting on the events may have ended the set
			l.launch(l.executors[launch.Executor], set, launch)
		}
	}
}

func (l *loop) launch(e *executor, set *runningSet, launch *scheduler.Launch) {
	if e.allocationEntry != nil && len(e.attempts) == 0 {
		e.allocationEntry.Busy()
	}
	a := &attempt{id: launch.Attempt, set: set, index: launch.Index, number: launch.Number, executor: e}
	l.attempts[a.id], e.attempts[a.id] = a, a
	set.runningAttempts++
	set.launches++
	if set.blockedReason != "" {
		set.blockedReason = ""
		l.record.waitReason(set, l.now)
	}
	if launch.Speculative {
		set.speculativeCopies++
	}
	set.locality.count(launch.Locality)
	l.history.totals.Locality.count(launch.Locality)
	l.record.launched(a, launch, l.now)
	l.send.taskSet(e, set)
	l.send.launch(a, launch)
	if set.spec.Barrier {
		l.launchedInBarrier(a)
	}
}

// registrationWait is how long an application waits for its executors to register. Although they
// are requested together, the first may register seconds before the last, because some nodes
// must download the program. Until the deadline, a task that prefers a host waits for that host
// (for locality.wait) even if no executor on the host has registered yet.
type registrationWait struct {
	timeout  time.Duration
	deadline time.Time // zero before the first executor registers
}

func newRegistrationWait(c *config.Config) registrationWait {
	return registrationWait{timeout: config.RegisteredWait.In(c)}
}

// registered sets the deadline when the first executor registers.
func (w *registrationWait) registered(now time.Time) {
	if w.deadline.IsZero() {
		w.deadline = now.Add(w.timeout)
	}
}

// pendingDeadline returns the deadline. It returns the zero time if the deadline has passed or
// if enough executors have registered.
func (w *registrationWait) pendingDeadline(now time.Time, executors, wanted int) time.Time {
	if executors >= wanted || !now.Before(w.deadline) {
		return time.Time{}
	}
	return w.deadline
}

func (l *loop) registrationDeadline() time.Time {
	if l.requester.manager == nil {
		return time.Time{}
	}
	return l.registration.pendingDeadline(l.now, len(l.executors)-len(l.decommissions.executors), l.profiles.total())
}

// speculationTimer determines when the driver searches for slow attempts.
type speculationTimer struct {
	interval  time.Duration // 0 if speculation is off
	nextCheck time.Time
}

func newSpeculationTimer(c *config.Config) speculationTimer {
	if !config.Speculation.In(c) {
		return speculationTimer{}
	}
	return speculationTimer{interval: max(config.SpeculationInterval.In(c), time.Millisecond)}
}

// speculate searches for slow attempts when a search is due. The next offer launches copies of
// them. It returns the time of the next call; the zero time means never.
func (l *loop) speculate() (next time.Time) {
	s := &l.speculation
	if s.interval == 0 || len(l.sets) == 0 || l.stopping {
		return time.Time{}
	}
	if l.now.Before(s.nextCheck) {
		return s.nextCheck
	}
	s.nextCheck = l.now.Add(s.interval)
	for _, slow := range l.scheduler.CheckSpeculation(l.now) {
		l.logger.Info("task takes long and will be run once more", "job", slow.TaskSet, "task", slow.Index, "executor", slow.Executor,
			"for", slow.RunTime.Round(time.Millisecond), "limit", slow.Limit.Round(time.Millisecond))
	}
	return s.nextCheck
}

const (
	// blockedInterval is the time without launches after which the driver reports why a task set
	// launches no tasks. It is also the time between two checks.
	blockedInterval = 15 * time.Second
	// maxCheckedSets is the largest number of task sets in one check. There is a limit because
	// the scheduler visits all executors for each of these sets.
	maxCheckedSets = 100
)

// blockedCheck determines when the driver searches for task sets that launch no tasks.
type blockedCheck struct {
	nextCheck time.Time // when the next check is due; zero if no task set runs
}

// isDue reports whether a check is due. running must be true if any task set runs.
func (b *blockedCheck) isDue(now time.Time, running bool) bool {
	if !running {
		b.nextCheck = time.Time{}
		return false
	}
	first := b.nextCheck.IsZero()
	if !first && now.Before(b.nextCheck) {
		return false
	}
	b.nextCheck = now.Add(blockedInterval)
	return !first
}

// checkBlocked determines why task sets launch no tasks. It logs reasons that may last until a
// person acts, and stores them in runningSet.blockedReason. It returns the time of the next
// call; the zero time means never.
func (l *loop) checkBlocked() (next time.Time) {
	if !l.blocked.isDue(l.now, len(l.sets) > 0 && !l.stopping) {
		return l.blocked.nextCheck
	}
	checks := 0
	for _, id := range slices.Sorted(maps.Keys(l.sets)) {
		set := l.sets[id]
		before := set.blockedReason
		set.blockedReason = ""
		if set.launches == set.launchesAtLastCheck && l.now.Sub(set.submitted) >= blockedInterval && checks < maxCheckedSets {
			checks++
			switch wait, reason := l.scheduler.WhyWaiting(id); wait {
			case scheduler.WaitNone, scheduler.WaitAllBusy, scheduler.WaitForLocality: // these states end without action of a person
			default:
				set.blockedReason = reason
				l.logger.Warn("job waits", "job", id, "name", set.spec.Name, "reason", reason)
			}
		}
		if set.blockedReason != before {
			l.record.waitReason(set, l.now)
		}
		set.launchesAtLastCheck = set.launches
	}
	return l.blocked.nextCheck
}

// notes returns the problems to show in the application's status.
func (l *loop) notes() []string {
	var notes []string
	for _, id := range slices.Sorted(maps.Keys(l.sets)) {
		if set := l.sets[id]; set.blockedReason != "" {
			notes = append(notes, fmt.Sprintf("job %d (%s) waits: %s", id, set.spec.Name, set.blockedReason))
		}
	}
	return notes
}
