package allocation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// model is a simple, slow specification of Pool, with integers only.
type model struct {
	options    Options
	ratio      [2]int // numerator and denominator of Options.Ratio
	slots      int    // how many tasks an executor runs at once
	executors  map[string]*modelExecutor
	tasks      int // number of waiting and running tasks
	waiting    int
	everWorked bool
	// since is when the present backlog began. rises are the later times at which the target
	// rose.
	since time.Time
	rises []time.Time
}

type modelExecutor struct {
	handle    *Executor
	busy      bool
	holding   bool
	idleSince time.Time
}

// useful returns how many executors the work can use: tasks ÷ slots × ratio, rounded up,
// within the limits.
func (m *model) useful() int {
	parts := m.slots * m.ratio[1]
	needed := (m.tasks*m.ratio[0] + parts - 1) / parts
	return min(max(needed, m.options.Min), m.options.Max)
}

func (m *model) work() Work {
	return Work{Executors: float64(m.tasks) / float64(m.slots), Backlog: m.waiting > 0}
}

// idleTooLong reports whether an executor has been idle for long enough to be removed.
func (m *model) idleTooLong(e *modelExecutor, now time.Time) bool {
	timeout := m.options.IdleTimeout
	if e.holding {
		timeout = m.options.HoldingIdleTimeout
	}
	return !e.busy && timeout != Never && now.Sub(e.idleSince) >= timeout
}

// update updates the pool and the model, and fails the test if they differ.
func (m *model) update(t *rapid.T, p *Pool, now time.Time) {
	before, live := p.Target(), len(m.executors)
	out := p.Update(m.work(), now)
	m.everWorked = m.everWorked || m.tasks > 0
	if m.waiting == 0 {
		m.since, m.rises = time.Time{}, nil
	} else if m.since.IsZero() {
		m.since = now
	}

	require.GreaterOrEqual(t, p.Target(), m.options.Min)
	require.LessOrEqual(t, p.Target(), m.options.Max)
	if !m.everWorked {
		require.Equal(t, m.options.Initial, p.Target())
		require.Empty(t, out)
		return
	}
	require.LessOrEqual(t, p.Target(), m.useful(), "more than the work can use")
	if p.Target() < before {
		require.Equal(t, m.useful(), p.Target(), "it falls to what is of use, no further")
	}
	if p.Target() > before {
		require.NotZero(t, m.waiting)
		require.GreaterOrEqual(t, now.Sub(m.since), m.options.BacklogTimeout)
		if rises := len(m.rises); rises > 0 {
			require.GreaterOrEqual(t, now.Sub(m.rises[rises-1]), m.options.SustainedBacklogTimeout)
		}
		m.rises = append(m.rises, now)
		most := max(before, live) + 1<<(len(m.rises)-1)
		require.LessOrEqual(t, p.Target(), most, "at most doubled from rise to rise")
	}

	for _, e := range out {
		executor := m.executors[e.ID]
		require.NotNil(t, executor, "removed twice")
		require.True(t, m.idleTooLong(executor, now), "executor %s is to be removed", e.ID)
		delete(m.executors, e.ID)
	}
	require.Len(t, p.executors, len(m.executors))
	if len(out) > 0 {
		require.GreaterOrEqual(t, len(m.executors), m.useful(), "removed though of use")
		require.GreaterOrEqual(t, len(m.executors), p.Target(), "others would come in their place")
	}
	if len(m.executors) > m.useful() {
		for id, executor := range m.executors {
			require.False(t, m.idleTooLong(executor, now), "executor %s should have been removed", id)
		}
	}
	if next := p.Next(); !next.IsZero() {
		require.True(t, next.After(now) || m.options.SustainedBacklogTimeout == 0, "nothing is left to be done now")
	}
}

func timeout(t *rapid.T, name string) time.Duration {
	return time.Duration(rapid.IntRange(0, 5000).Draw(t, name)) * time.Millisecond
}

func TestPoolKeepsToTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{executors: map[string]*modelExecutor{}, slots: rapid.IntRange(1, 4).Draw(t, "slots")}
		m.ratio = rapid.SampledFrom([][2]int{{1, 1}, {1, 2}, {1, 10}, {3, 4}}).Draw(t, "ratio")
		least := rapid.IntRange(0, 5).Draw(t, "min")
		most := least + rapid.IntRange(0, 30).Draw(t, "more")
		m.options = Options{
			Min: least, Max: max(most, 1), Initial: rapid.IntRange(least, max(most, 1)).Draw(t, "initial"),
			IdleTimeout: timeout(t, "idle"), HoldingIdleTimeout: timeout(t, "holding"),
			BacklogTimeout: timeout(t, "backlog"), SustainedBacklogTimeout: timeout(t, "sustained") + time.Millisecond,
			Ratio: float64(m.ratio[0]) / float64(m.ratio[1]),
		}
		if rapid.Bool().Draw(t, "hold for ever") {
			m.options.HoldingIdleTimeout = Never
		}
		if rapid.IntRange(0, 3).Draw(t, "unbounded") == 0 {
			m.options.Max = Unbounded
		}
		p := New(m.options)
		now := epoch
		lastID := 0 // the ids of executors are 1, 2, ...
		some := func(t *rapid.T) *modelExecutor {
			ids := make([]string, 0, len(m.executors))
			for id := 1; id <= lastID; id++ {
				if m.executors[fmt.Sprint(id)] != nil {
					ids = append(ids, fmt.Sprint(id))
				}
			}
			if len(ids) == 0 {
				t.Skip("there is no executor")
			}
			return m.executors[rapid.SampledFrom(ids).Draw(t, "id")]
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { m.update(t, p, now) },
			"work": func(t *rapid.T) {
				m.tasks = rapid.IntRange(0, 200).Draw(t, "tasks")
				m.waiting = rapid.IntRange(0, m.tasks).Draw(t, "waiting")
			},
			"no work": func(t *rapid.T) { m.tasks, m.waiting = 0, 0 },
			"come": func(t *rapid.T) {
				lastID++
				id := fmt.Sprint(lastID)
				m.executors[id] = &modelExecutor{handle: p.Add(id, now), idleSince: now}
			},
			"go": func(t *rapid.T) {
				e := some(t)
				p.Remove(e.handle)
				delete(m.executors, e.handle.ID)
			},
			"busy": func(t *rapid.T) { e := some(t); e.handle.Busy(); e.busy = true },
			"idle": func(t *rapid.T) {
				if e := some(t); e.busy {
					e.handle.Idle(now)
					e.busy, e.idleSince = false, now
				}
			},
			"hold": func(t *rapid.T) {
				e := some(t)
				e.holding = rapid.Bool().Draw(t, "holding")
				e.handle.Hold(e.holding)
			},
			"wait": func(t *rapid.T) {
				wait := time.Duration(rapid.IntRange(0, 3000).Draw(t, "milliseconds")) * time.Millisecond
				// Without calls, nothing may change before the time that Next returns.
				if next := p.Next(); next.IsZero() || next.After(now.Add(wait)) {
					target, live := p.Target(), len(m.executors)
					now = now.Add(wait)
					m.update(t, p, now)
					require.Equal(t, target, p.Target())
					require.Len(t, m.executors, live)
					return
				}
				now = now.Add(wait)
			},
			"settle": func(t *rapid.T) {
				// Calling Update only at the times that Next returns must lead to the final
				// state.
				for range 200 {
					next := p.Next()
					if next.IsZero() {
						break
					}
					now = next
					m.update(t, p, now)
				}
				require.True(t, p.Next().IsZero(), "it does not come to rest")
				if !m.everWorked {
					return
				}
				if m.waiting > 0 {
					require.Equal(t, m.useful(), p.Target())
				}
				if m.tasks == 0 {
					require.Equal(t, m.options.Min, p.Target())
				}
			},
		})
	})
}
