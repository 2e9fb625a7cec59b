package stage_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/stage"
)

// TestRules has a subtest for each rule.
func TestRules(t *testing.T) {
	for _, rule := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"a stage without tasks is complete", func(t *testing.T) {
			s := newScript(t)
			s.submit(1, reads(1), []stage.ShuffleSpec{shuffle(1)}, "plan m1")
			s.after(s.Planned(m(1), 0), "plan r1")
			s.after(s.Planned(r(1), 0), "done j1")
			require.Zero(t, s.Known())
		}},
		{"a later job skips stages whose outputs are there", func(t *testing.T) {
			s := newScript(t)
			specs := []stage.ShuffleSpec{shuffle(1), shuffle(2, 1)}
			s.submit(1, reads(2), specs, "plan m1")
			s.Planned(m(1), 1)
			s.done(1, 0, "a", "plan m2")
			s.Planned(m(2), 1)
			s.done(2, 0, "b", "plan r1")
			s.Planned(r(1), 1)
			s.done(3, 0, "", "done j1")
			s.after(s.ExecutorsLost("a"), "")
			s.submit(2, reads(2), specs, "plan r2") // although outputs of m1 are missing
			s.submit(3, reads(1), specs, "run m1 #4 [0]")
		}},
		{"jobs share a running stage", func(t *testing.T) {
			s := newScript(t)
			specs := []stage.ShuffleSpec{shuffle(1)}
			s.submit(1, reads(1), specs, "plan m1")
			s.submit(2, reads(1), specs, "")
			s.after(s.Planned(m(1), 1), "run m1 #1 [0]")
			require.EqualValues(t, 1, s.actions[0].(stage.Run).Priority.Job)
			s.after(s.Cancel(1, errTask), "failed j1")
			s.done(1, 0, "a", "plan r2")
		}},
		{"the priority is that of the first job that needs the stage", func(t *testing.T) {
			s := newScript(t)
			specs := []stage.ShuffleSpec{shuffle(1)}
			s.submit(5, reads(1), specs, "plan m1")
			s.submit(3, reads(1), specs, "")
			s.after(s.Planned(m(1), 1), "run m1 #1 [0]")
			require.Equal(t, stage.Priority{Job: 5, Stage: 1}, s.actions[0].(stage.Run).Priority)
			s.Cancel(5, errTask)
			s.after(s.ExecutorsLost("a"), "")
			s.after(s.SetEnded(1, nil), "run m1 #2 [0]")
			require.Equal(t, stage.Priority{Job: 3, Stage: 1}, s.actions[0].(stage.Run).Priority)
		}},
		{"only missing tasks run again", func(t *testing.T) {
			s := two(t, 4, 3, shuffle(1))
			s.done(2, 1, "", "")
			s.after(s.ExecutorsLost("c"), "drain r1 #2, run m1 #3 [2]")
			s.done(3, 2, "d", "run r1 #4 [0 2]")
		}},
		{"outputs of a running stage that are lost are made again at once", func(t *testing.T) {
			s := newScript(t)
			s.submit(1, reads(1), []stage.ShuffleSpec{shuffle(1)}, "plan m1")
			s.Planned(m(1), 4)
			s.done(1, 0, "a", "")
			s.done(1, 3, "b", "")
			s.after(s.ExecutorsLost("a"), "run m1 #2 [0]")
			s.after(s.ExecutorsLost("b"), "run m1 #3 [3]")
			s.after(s.ExecutorsLost("c"), "")
			s.done(1, 1, "d", "")
			s.done(2, 0, "d", "")
			s.done(3, 3, "d", "")
			s.done(1, 2, "d", "plan r1")
		}},
		{"a result that does not count is made again when its attempt has ended", func(t *testing.T) {
			s := newScript(t)
			s.submit(1, reads(1), []stage.ShuffleSpec{shuffle(1)}, "plan m1")
			s.Planned(m(1), 2)
			s.after(s.ExecutorsLost("a"), "")
			s.ignored(1, 0, "a", "")
			s.done(1, 1, "b", "run m1 #2 [0]")
			s.after(s.SetEnded(1, nil), "")
		}},
		{"all attempts of a stage drain if outputs that it reads are lost", func(t *testing.T) {
			s := newScript(t)
			s.submit(1, reads(2), []stage.ShuffleSpec{shuffle(1), shuffle(2, 1)}, "plan m1")
			s.Planned(m(1), 1)
			s.done(1, 0, "a", "plan m2")
			s.Planned(m(2), 3)
			s.done(2, 0, "b", "")
			s.after(s.ExecutorsLost("b"), "run m2 #3 [0]")
			s.after(s.ExecutorsLost("a"), "drain m2 #2, drain m2 #3, run m1 #4 [0]")
			s.done(4, 0, "c", "run m2 #5 [0 1 2]")
		}},
		{"a set that ends without an error runs its missing tasks again", func(t *testing.T) {
			s := two(t, 1, 3, shuffle(1))
			s.done(2, 1, "", "")
			s.after(s.SetEnded(2, nil), "run r1 #3 [0 2]")
		}},
		{"running tasks of a drained attempt count", func(t *testing.T) {
			s := two(t, 2, 3, shuffle(1))
			s.after(s.ExecutorsLost("a"), "drain r1 #2, run m1 #3 [0]")
			s.done(2, 0, "", "")
			s.done(3, 0, "b", "run r1 #4 [1 2]")
			s.done(2, 1, "", "")    // a late report: the output is still missing
			s.ignored(4, 1, "", "") // the second success of the task
			s.ignored(2, 1, "", "") // a repeated report
			s.after(s.SetEnded(2, errTask), "")
			s.ignored(2, 2, "", "") // after the end of the task set
			s.done(4, 2, "", "done j1")
		}},
		{"a late result that is the last one aborts the attempt that makes it too", func(t *testing.T) {
			s := two(t, 2, 1, shuffle(1))
			s.after(s.ExecutorsLost("a"), "drain r1 #2, run m1 #3 [0]")
			s.done(3, 0, "b", "run r1 #4 [0]")
			s.done(2, 0, "", "done j1, abort r1 #4")
		}},
		{"a stage that is complete without its parents' lost outputs stops their attempts", func(t *testing.T) {
			s := two(t, 2, 1, shuffle(1))
			s.after(s.ExecutorsLost("a"), "drain r1 #2, run m1 #3 [0]")
			s.done(2, 0, "", "done j1, abort m1 #3")
		}},
		{"lost outputs are made again from the first stage that lost some", func(t *testing.T) {
			s := newScript(t)
			s.submit(1, reads(2), []stage.ShuffleSpec{shuffle(1), shuffle(2, 1)}, "plan m1")
			s.Planned(m(1), 2)
			s.done(1, 0, "a", "")
			s.done(1, 1, "b", "plan m2")
			s.Planned(m(2), 2)
			s.done(2, 0, "a", "")
			s.done(2, 1, "b", "plan r1")
			s.Planned(r(1), 1)
			s.after(s.ExecutorsLost("a"), "drain r1 #3, run m1 #4 [0]")
			s.done(4, 0, "c", "run m2 #5 [0]")
			s.done(5, 0, "c", "run r1 #6 [0]")
		}},
		{"a plan is asked for again if outputs are lost before the answer", func(t *testing.T) {
			s := newScript(t)
			s.submit(1, reads(1), []stage.ShuffleSpec{shuffle(1)}, "plan m1")
			s.Planned(m(1), 1)
			s.done(1, 0, "a", "plan r1")
			s.after(s.ExecutorsLost("a"), "run m1 #2 [0]")
			s.after(s.Planned(r(1), 5), "")
			s.done(2, 0, "b", "plan r1")
			s.after(s.Planned(r(1), 2), "run r1 #3 [0 1]")
			s.after(s.Planned(r(1), 3), "")
		}},
		{"many fetch failures of one executor are one resubmission", func(t *testing.T) {
			s := newScript(t)
			s.submit(1, reads(1), []stage.ShuffleSpec{shuffle(1)}, "plan m1")
			s.Planned(m(1), 6)
			for task := range 6 {
				s.TaskDone(1, task, stage.Output{Executor: executorOf(task % 2), Checksum: uint64(task)})
			}
			s.Planned(r(1), 6)
			var failures []stage.FetchFailure
			for task := range 6 {
				failures = append(failures, s.failure(1, task&^1))
			}
			s.after(s.FetchFailed(2, 0, failures[0]), "drain r1 #2, run m1 #3 [0 2 4]")
			for task := 1; task < 4; task++ {
				s.after(s.FetchFailed(2, task, failures[task]), "")
			}
			for task := 0; task < 6; task += 2 {
				s.TaskDone(3, task, stage.Output{Executor: "c", Checksum: uint64(task)})
			}
			s.after(s.FetchFailed(2, 4, failures[4]), "") // the outputs were replaced in the meantime
			s.after(s.FetchFailed(2, 5, failures[5]), "")
			require.Empty(t, s.missing(1))
		}},
		{"a damaged output is made again alone", func(t *testing.T) {
			s := newScript(t)
			s.submit(1, reads(1), []stage.ShuffleSpec{shuffle(1)}, "plan m1")
			s.Planned(m(1), 3)
			for task := range 3 {
				s.TaskDone(1, task, stage.Output{Executor: "a", Checksum: uint64(task)})
			}
			s.Planned(r(1), 1)
			failure := s.failure(1, 1)
			failure.ExecutorGone = false
			s.after(s.FetchFailed(2, 0, failure), "run m1 #3 [1]")
			s.done(3, 1, "a", "run r1 #4 [0]")
		}},
		{"a fetch failure drops what the executor has in all shuffles that the stage reads", func(t *testing.T) {
			s := newScript(t)
			s.submit(1, reads(1, 2), []stage.ShuffleSpec{shuffle(1), shuffle(2), shuffle(3)}, "plan m1, plan m2")
			s.submit(2, reads(3), []stage.ShuffleSpec{shuffle(3)}, "plan m3")
			for id := range stage.ShuffleID(3) {
				s.Planned(m(id+1), 2)
				s.TaskDone(uint64(id+1), 0, stage.Output{Executor: "a"})
				s.TaskDone(uint64(id+1), 1, stage.Output{Executor: "b"})
			}
			s.after(s.Planned(r(1), 2), "run r1 #4 [0 1]")
			s.unreadable(4, 0, 2, 0, "drain r1 #4, run m1 #5 [0], run m2 #6 [0]")
			require.Empty(t, s.missing(3))
			s.done(5, 0, "b", "")
			s.done(6, 0, "b", "run r1 #7 [0 1]")
		}},
		{"a fetch failure of an output that was relocated is ignored", func(t *testing.T) {
			s := two(t, 2, 2, shuffle(1))
			failure := s.failure(1, 0)
			s.relocated(0, "a", "b", "")
			s.after(s.FetchFailed(2, 0, failure), "")
			s.done(2, 1, "", "run r1 #3 [0]")
		}},
		{"a fetch failure of something that the stage does not read ends the task only", func(t *testing.T) {
			s := two(t, 1, 2, shuffle(1))
			s.after(s.FetchFailed(2, 0, stage.FetchFailure{Shuffle: 9}), "")
			s.after(s.FetchFailed(2, 0, s.failure(1, 0)), "") // the task has ended already
			s.after(s.FetchFailed(2, 1, stage.FetchFailure{Shuffle: 1, Map: 1}), "run r1 #3 [0 1]")
		}},
		{"fetch failures in too many attempts in a row fail the job", func(t *testing.T) {
			s := two(t, 1, 1, shuffle(1))
			for failures := range uint64(3) {
				s.unreadable(2+2*failures, 0, 1, 0, fmt.Sprintf("run m1 #%d [0]", 3+2*failures))
				s.done(3+2*failures, 0, "a", fmt.Sprintf("run r1 #%d [0]", 4+2*failures))
			}
			s.unreadable(8, 0, 1, 0, "failed j1")
			var fetch *stage.FetchError
			require.ErrorAs(t, s.err(), &fetch)
			require.Equal(t, stage.FetchError{Stage: r(1), Attempts: 4, Shuffle: 1}, *fetch)
			require.ErrorContains(t, fetch, "the result stage of job 1 could not read the outputs of its parents in 4 attempts in a row")
			require.Zero(t, s.Known())
		}},
		{"fetch failures in one attempt are one failure", func(t *testing.T) {
			s := two(t, 1, 5, shuffle(1))
			for task := range 4 {
				s.after(s.FetchFailed(2, task, stage.FetchFailure{Shuffle: 1}), "")
			}
			s.unreadable(2, 4, 1, 0, "run m1 #3 [0]")
		}},
		{"fetch failures because of the executors of one host count once", func(t *testing.T) {
			s := two(t, 1, 1, shuffle(1))
			gone := func(attempt uint64, next string) {
				t.Helper()
				s.unreadable(attempt, 0, 1, 0, fmt.Sprintf("run m1 #%d [0]", attempt+1))
				_, actions := s.TaskDone(attempt+1, 0, stage.Output{Executor: next, Host: "h"})
				s.after(actions, fmt.Sprintf("run r1 #%d [0]", attempt+2))
			}
			gone(2, "b")
			for i := range uint64(9) { // from the second failure on, all executors are on host h
				gone(4+2*i, fmt.Sprint("b", i))
			}
			gone(22, "b")
			gone(24, "b") // executor b has failed before, so this is the third failure that counts
			s.unreadable(26, 0, 1, 0, "failed j1")
		}},
		{"fetch failures of outputs that were relocated do not count", func(t *testing.T) {
			s := two(t, 1, 1, shuffle(1))
			for i := range uint64(9) {
				outputs, _, _ := s.Outputs(1)
				from, failure := outputs[0].Executor, s.failure(1, 0)
				s.relocated(0, from, fmt.Sprint("x", i), "")
				s.after(s.FetchFailed(2+i, 0, failure), fmt.Sprintf("run r1 #%d [0]", 3+i))
			}
		}},
		{"a result in between makes fetch failures no longer in a row", func(t *testing.T) {
			s := two(t, 1, 2, shuffle(1))
			for failures := range uint64(3) {
				s.FetchFailed(2+2*failures, 0, s.failure(1, 0))
				s.done(3+2*failures, 0, "a", fmt.Sprintf("run r1 #%d [0 1]", 4+2*failures))
			}
			s.done(8, 1, "", "")
			s.unreadable(8, 0, 1, 0, "run m1 #9 [0]")
			s.done(9, 0, "a", "run r1 #10 [0]")
		}},
		{"executor losses without fetch failures fail no job", func(t *testing.T) {
			s := two(t, 1, 1, shuffle(1))
			for loss := range uint64(9) {
				executor := fmt.Sprint("x", loss)
				s.Relocated(stage.Relocation{Shuffle: 1, Attempt: 1 + 2*loss, From: "a", Executor: executor})
				s.after(s.ExecutorsLost(executor), fmt.Sprintf("drain r1 #%d, run m1 #%d [0]", 2+2*loss, 3+2*loss))
				s.after(s.FetchFailed(2+2*loss, 0, stage.FetchFailure{Shuffle: 1}), "")
				s.done(3+2*loss, 0, "a", fmt.Sprintf("run r1 #%d [0]", 4+2*loss))
			}
		}},
		{"fetch failures for a cancelled job do not count for the next one", func(t *testing.T) {
			s := newScript(t)
			specs := []stage.ShuffleSpec{shuffle(1), shuffle(2, 1)}
			s.submit(1, reads(2), specs, "plan m1")
			s.Planned(m(1), 1)
			s.done(1, 0, "a", "plan m2")
			s.Planned(m(2), 2)
			s.done(2, 1, "z", "")
			attempt := uint64(2)
			fail := func() {
				t.Helper()
				s.FetchFailed(attempt, 0, s.failure(1, 0))
				s.done(attempt+1, 0, "a", fmt.Sprintf("run m2 #%d [0]", attempt+2))
				attempt += 2
			}
			fail()
			fail()
			fail()
			s.after(s.Cancel(1, errTask), "failed j1, abort m2 #8")
			s.submit(2, reads(2), specs, "run m2 #9 [0]")
			attempt = 9
			fail()
		}},
		{"the failure of a set fails the jobs that need the stage", func(t *testing.T) {
			s := newScript(t)
			specs := []stage.ShuffleSpec{shuffle(1), shuffle(2), shuffle(3, 1)}
			s.submit(1, reads(3), specs, "plan m1")
			s.submit(2, reads(2), specs, "plan m2")
			s.submit(3, reads(1, 2), specs, "")
			s.Planned(m(1), 2)
			s.Planned(m(2), 2)
			s.after(s.SetEnded(1, errTask), "failed j1, failed j3")
			require.ErrorIs(t, s.err(), errTask)
			s.after(s.SetEnded(2, errTask), "failed j2")
			require.Zero(t, s.Known())
		}},
		{"the failure of a set does not fail jobs that skip the stage", func(t *testing.T) {
			s := newScript(t)
			specs := []stage.ShuffleSpec{shuffle(1), shuffle(2, 1)}
			s.submit(1, reads(2), specs, "plan m1")
			s.Planned(m(1), 1)
			s.done(1, 0, "a", "plan m2")
			s.Planned(m(2), 1)
			s.done(2, 0, "b", "plan r1")
			s.after(s.ExecutorsLost("a"), "")
			s.submit(2, reads(1), specs, "run m1 #3 [0]")
			s.after(s.SetEnded(3, errTask), "failed j2")
			s.after(s.Planned(r(1), 1), "run r1 #4 [0]")
		}},
		{"the failure of a drained set fails no job", func(t *testing.T) {
			s := two(t, 2, 2, shuffle(1))
			s.after(s.ExecutorsLost("a"), "drain r1 #2, run m1 #3 [0]")
			s.after(s.SetEnded(2, errTask), "")
			s.done(3, 0, "b", "run r1 #4 [0 1]")
		}},
		{"the first output of a map task wins", func(t *testing.T) {
			s := newScript(t)
			s.submit(1, reads(2), []stage.ShuffleSpec{shuffle(1), shuffle(2, 1)}, "plan m1")
			s.Planned(m(1), 2)
			s.done(1, 0, "a", "")
			s.done(1, 1, "b", "plan m2")
			s.Planned(m(2), 2)
			s.after(s.ExecutorsLost("a"), "drain m2 #2, run m1 #3 [0]")
			s.done(3, 0, "b", "run m2 #4 [0 1]")
			s.done(4, 0, "c", "")
			s.ignored(2, 0, "b", "")
			outputs, _, _ := s.Outputs(2)
			require.Equal(t, "c", outputs[0].Executor)
		}},
		{"an output on a lost executor does not count", func(t *testing.T) {
			s := newScript(t)
			s.submit(1, reads(1), []stage.ShuffleSpec{shuffle(1)}, "plan m1")
			s.Planned(m(1), 2)
			s.after(s.ExecutorsLost("a"), "")
			s.ignored(1, 0, "a", "")
			s.done(1, 1, "b", "run m1 #2 [0]")
			s.relocated(1, "b", "a", "")
		}},
		{"what several executors had is made again by one attempt", func(t *testing.T) {
			s := newScript(t)
			s.submit(1, reads(1), []stage.ShuffleSpec{shuffle(1)}, "plan m1")
			s.Planned(m(1), 4)
			for task := range 4 {
				s.TaskDone(1, task, stage.Output{Executor: executorOf(task), Host: "h"})
			}
			s.after(s.ExecutorsLost("a", "c"), "run m1 #2 [0 2]")
			s.after(s.ExecutorsLost("b"), "run m1 #3 [1]")
			require.Equal(t, []int{0, 1, 2}, s.missing(1))
		}},
		{"a relocated output survives its executor", func(t *testing.T) {
			s := two(t, 2, 1, shuffle(1))
			s.relocated(0, "a", "x", "")
			s.after(s.ExecutorsLost("a"), "")
			s.relocated(0, "a", "y", "") // ignored, because the output is on x already
			outputs, complete, _ := s.Outputs(1)
			require.True(t, complete)
			require.Equal(t, stage.Output{Executor: "x", Host: "hx", Attempt: 1, Generation: 4}, outputs[0])
		}},
		{"an output whose relocation is reported after the loss is back", func(t *testing.T) {
			s := two(t, 2, 1, shuffle(1))
			s.after(s.ExecutorsLost("a"), "drain r1 #2, run m1 #3 [0]")
			s.relocated(0, "a", "x", "run r1 #4 [0], abort m1 #3")
			s.after(s.ExecutorsLost("x"), "drain r1 #4, run m1 #5 [0]")
			s.done(5, 0, "b", "run r1 #6 [0]")
			s.relocated(0, "a", "y", "") // ignored, because the output was replaced
			outputs, _, _ := s.Outputs(1)
			require.Equal(t, "b", outputs[0].Executor)
		}},
		{"a relocation of an output that was replaced on the same executor is ignored", func(t *testing.T) {
			s := two(t, 1, 1, shuffle(1))
			s.unreadable(2, 0, 1, 0, "run m1 #3 [0]")
			s.done(3, 0, "a", "run r1 #4 [0]")
			s.relocated(0, "a", "x", "")
			outputs, _, _ := s.Outputs(1)
			require.Equal(t, "a", outputs[0].Executor)
		}},
		{"a cancelled job ends with its reason, and what only it needs is aborted", func(t *testing.T) {
			s := two(t, 1, 2, shuffle(1))
			s.after(s.Cancel(1, errTask), "failed j1, abort r1 #2")
			require.Equal(t, errTask, s.err())
			s.after(s.Cancel(1, errTask), "")
			s.ignored(2, 0, "", "")
			s.after(s.SetEnded(2, errTask), "")
		}},
		{"a plan that waits for its answer is asked for again for the next job", func(t *testing.T) {
			s := newScript(t)
			s.submit(1, reads(1), []stage.ShuffleSpec{shuffle(1)}, "plan m1")
			s.after(s.Cancel(1, errTask), "failed j1")
			s.after(s.Planned(m(1), 1), "")
			s.submit(2, reads(1), []stage.ShuffleSpec{shuffle(1)}, "plan m1")
		}},
		{"released outputs are made again for the jobs that need them", func(t *testing.T) {
			s := two(t, 2, 2, shuffle(1))
			s.after(s.Release(1), "drain r1 #2, run m1 #3 [0 1]")
			s.relocated(0, "a", "x", "")
			counts, _ := s.Relocated(stage.Relocation{Shuffle: 1, From: "a", Executor: "x"})
			require.False(t, counts)
			require.Equal(t, []int{0, 1}, s.missing(1))
			s.after(s.Release(1), "abort m1 #3, run m1 #4 [0 1]")
			s.ignored(3, 0, "a", "")
			s.after(s.Release(9), "")
		}},
		{"released shuffles are forgotten with what reads them", func(t *testing.T) {
			s := newScript(t)
			s.submit(1, reads(2), []stage.ShuffleSpec{shuffle(1), shuffle(2, 1)}, "plan m1")
			s.Planned(m(1), 1)
			s.done(1, 0, "a", "plan m2")
			s.Planned(m(2), 1)
			s.done(2, 0, "a", "plan r1")
			s.Planned(r(1), 1)
			s.done(3, 0, "", "done j1")
			s.after(s.Release(1), "")
			require.Equal(t, 3, s.Known(), "both stages, of which one has read the other, and an executor")
			s.after(s.Release(2), "")
			require.Zero(t, s.Known())
		}},
	} {
		t.Run(rule.name, rule.test)
	}
}
