package executorbackend

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// The driver sends very short tasks ahead of free cores. Where one of those
// before them turns out to be long, they go back to the driver, which may have
// a free core elsewhere.

const (
	// minPatience is how long a task that was sent ahead waits in any case while no
	// other is started. It is much more than it should, as on an overloaded machine
	// all tasks take long.
	minPatience = 100 * time.Millisecond
	// patienceFactor is how many times scheduler.launchAhead it waits.
	patienceFactor = 4
)

// impatience gives back what was sent ahead and has waited too long. The
// engine's lock guards it.
type impatience struct {
	after time.Duration
	timer *time.Timer // nil until something was sent ahead
	set   bool        // the timer will fire
	moved time.Time   // when a task was started last
}

func newImpatience(c *config.Config) impatience {
	return impatience{after: max(minPatience, patienceFactor*config.LaunchAhead.In(c))}
}

// sentAhead has the engine look at what waits in time. It is called with the
// lock held.
func (e *engine) sentAhead() {
	i := &e.impatience
	if i.set {
		return
	}
	i.set = true
	if i.timer == nil {
		i.timer = time.AfterFunc(i.after, e.giveBack)
		return
	}
	i.timer.Reset(i.after)
}

// giveBack is what the timer calls.
func (e *engine) giveBack() {
	e.mu.Lock()
	e.impatience.set = false
	if e.ended {
		e.mu.Unlock()
		return
	}
	e.running.Add(1)
	defer e.running.Done()
	late := time.Now().Add(-e.impatience.after)
	updates := e.giveBackThose(func(t *task) bool {
		switch {
		case !t.launch.GetAhead():
			return false
		case t.received.After(late) || e.impatience.moved.After(late):
			e.sentAhead()
			return false
		}
		return true
	})
	e.mu.Unlock()
	e.out.put(updates...)
}

// callBack gives back those of the attempts that wait. It is called with the lock
// held.
func (e *engine) callBack(attempts []uint64) []*wire.TaskUpdate {
	if len(attempts) == 0 {
		return nil
	}
	wanted := make(map[uint64]struct{}, len(attempts))
	for _, attempt := range attempts {
		wanted[attempt] = struct{}{}
	}
	return e.giveBackThose(func(t *task) bool {
		_, found := wanted[t.attempt]
		return found
	})
}

// giveBackThose takes out some of those that wait, and returns their updates. It is
// called with the lock held.
func (e *engine) giveBackThose(wanted func(*task) bool) (updates []*wire.TaskUpdate) {
	e.waiting = slices.DeleteFunc(e.waiting, func(t *task) bool {
		if !wanted(t) {
			return false
		}
		t.cancel(nil)
		delete(e.tasks, t.attempt)
		updates = append(updates, &wire.TaskUpdate{Attempt: t.attempt, State: wire.TaskState_TASK_STATE_RETURNED})
		return true
	})
	e.startWaiting() // what stays may need fewer cores than those that went
	return updates
}
