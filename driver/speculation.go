package driver

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/scheduler/speculation"
)

func speculationOf(c *config.Config) speculation.Rules {
	s := speculation.Rules{
		Enabled:        config.Speculation.In(c),
		Quantile:       config.SpeculationQuantile.In(c),
		Multiplier:     config.SpeculationMultiplier.In(c),
		MinTaskRuntime: config.SpeculationMinRuntime.In(c),
	}
	if threshold := config.SpeculationThreshold.In(c); threshold != nil {
		s.DurationThreshold = *threshold
	}
	return s
}

// stragglers are looked for at intervals.
type stragglers struct {
	interval time.Duration // 0 where nobody looks
	next     time.Time
}

func newStragglers(c *config.Config) stragglers {
	if !config.Speculation.In(c) {
		return stragglers{}
	}
	return stragglers{interval: max(config.SpeculationInterval.In(c), time.Millisecond)}
}

// speculate has tasks that take too long launched once more by the next offer,
// and says when it looks again; the zero time where there is nothing to look at.
func (l *loop) speculate() (next time.Time) {
	s := &l.stragglers
	if s.interval == 0 || len(l.runs) == 0 || l.stopping {
		return time.Time{}
	}
	if l.now.Before(s.next) {
		return s.next
	}
	s.next = l.now.Add(s.interval)
	for _, found := range l.scheduler.CheckSpeculation(l.now) {
		l.logger.Info("task takes long and will be run once more", "job", found.TaskSet, "task", found.Index, "executor", found.Executor,
			"for", found.RunTime.Round(time.Millisecond), "limit", found.Limit.Round(time.Millisecond))
	}
	return s.next
}
