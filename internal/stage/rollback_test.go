package stage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/stage"
)

// TestRollback has a subtest for each rule about map output that changes.
func TestRollback(t *testing.T) {
	for _, rule := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"equal output of a task that ran again changes nothing", func(t *testing.T) {
			s := two(t, 2, 3, shuffle(1))
			s.done(2, 0, "", "")
			s.after(s.ExecutorsLost("a"), "drain r1 #2, run m1 #3 [0]")
			s.done(3, 0, "c", "run r1 #4 [1 2]")
		}},
		{"changed output fails a job that has results", func(t *testing.T) {
			s := two(t, 2, 3, shuffle(1))
			s.done(2, 0, "", "")
			s.after(s.ExecutorsLost("a"), "drain r1 #2, run m1 #3 [0]")
			s.done(3, 0, "c", "abort r1 #2, failed j1", 99)
			var changed *stage.ChangedError
			require.ErrorAs(t, s.err(), &changed)
			require.Equal(t, stage.ChangedError{Stage: m(1), Map: 0, Results: 1}, *changed)
			require.ErrorContains(t, changed, "the map stage of shuffle 1 is not deterministic: its task 0 ran again")
		}},
		{"changed output restarts a result stage without results", func(t *testing.T) {
			s := two(t, 2, 3, shuffle(1))
			s.after(s.ExecutorsLost("a"), "drain r1 #2, run m1 #3 [0]")
			s.done(3, 0, "c", "abort r1 #2, run r1 #4 [0 1 2]", 99)
			s.ignored(2, 0, "", "")
		}},
		{"changed output rolls all readers back", func(t *testing.T) {
			s := newScript(t)
			specs := []stage.ShuffleSpec{shuffle(1), shuffle(2, 1), shuffle(3, 2), shuffle(4)}
			s.submit(1, reads(3, 4), specs, "plan m1, plan m4")
			s.Planned(m(4), 2)
			s.done(1, 0, "z", "")
			s.Planned(m(1), 2)
			s.done(2, 0, "a", "")
			s.done(2, 1, "b", "plan m2")
			s.Planned(m(2), 2)
			s.done(3, 0, "b", "")
			s.done(3, 1, "b", "plan m3")
			s.Planned(m(3), 2)
			s.done(4, 1, "b", "")
			s.submit(2, reads(1), specs, "plan r2")
			s.after(s.ExecutorsLost("a"), "run m1 #5 [0]")
			s.done(5, 0, "c", "rolled back m2, abort m3 #4, rolled back m3, run m2 #6 [0 1], plan r2", 99)
			s.done(6, 0, "c", "", 98)
			s.done(6, 1, "c", "run m3 #7 [0 1]", 97)
			s.done(1, 1, "z", "")
			s.done(7, 0, "c", "", 96)
			s.done(7, 1, "c", "plan r1", 95)
		}},
		{"output that was rolled back does not come back", func(t *testing.T) {
			s := newScript(t)
			specs := []stage.ShuffleSpec{shuffle(2), shuffle(1, 2)}
			s.submit(1, reads(1), specs, "plan m2")
			s.Planned(m(2), 1)
			s.done(1, 0, "a", "plan m1")
			s.Planned(m(1), 2)
			s.done(2, 0, "b", "")
			s.after(s.ExecutorsLost("a"), "drain m1 #2, run m2 #3 [0]")
			s.done(3, 0, "c", "abort m1 #2, rolled back m1, run m1 #4 [0 1]", 99)
			counts, _ := s.Relocated(stage.Relocation{Shuffle: 1, Attempt: 2, From: "b", Executor: "x"})
			require.False(t, counts)
			require.Equal(t, []int{0, 1}, s.missing(1))
		}},
		{"changed output is noticed after its shuffle was released", func(t *testing.T) {
			s := newScript(t)
			specs := []stage.ShuffleSpec{shuffle(1), shuffle(2, 1)}
			s.submit(1, reads(2), specs, "plan m1")
			s.Planned(m(1), 1)
			s.done(1, 0, "a", "plan m2")
			s.Planned(m(2), 2)
			s.done(2, 0, "a", "")
			s.done(2, 1, "b", "plan r1")
			s.Cancel(1, errTask)
			s.Release(1)
			s.ExecutorsLost("b")
			s.submit(2, reads(2), specs, "run m1 #3 [0]")
			s.done(3, 0, "c", "rolled back m2, run m2 #4 [0 1]", 99)
		}},
		{"readers of lost output that may change are aborted", func(t *testing.T) {
			s := two(t, 2, 3, stage.ShuffleSpec{ID: 1})
			s.done(2, 0, "", "")
			s.after(s.ExecutorsLost("a"), "abort r1 #2, run m1 #3 [0]")
			s.ignored(2, 1, "", "")
			s.done(3, 0, "c", "run r1 #4 [1 2]") // its output has not changed
		}},
		{"output that is made from output that may change may change", func(t *testing.T) {
			s := newScript(t)
			s.submit(1, reads(2), []stage.ShuffleSpec{{ID: 1}, shuffle(2, 1)}, "plan m1")
			s.Planned(m(1), 1)
			s.done(1, 0, "a", "plan m2")
			s.Planned(m(2), 1)
			s.done(2, 0, "b", "plan r1")
			s.Planned(r(1), 1)
			s.after(s.ExecutorsLost("b"), "abort r1 #3, run m2 #4 [0]")
		}},
	} {
		t.Run(rule.name, rule.test)
	}
}
