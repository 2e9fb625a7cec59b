package stage_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/internal/stage"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// text formats actions in a short form, in which "m1" is the map stage of shuffle 1 and "r1"
// the result stage of job 1.
func text(actions []stage.Action) string {
	var texts []string
	for _, action := range actions {
		switch a := action.(type) {
		case stage.Plan:
			texts = append(texts, "plan "+short(a.Stage))
		case stage.Run:
			texts = append(texts, fmt.Sprintf("run %s #%d %v", short(a.Stage), a.Attempt, a.Tasks))
		case stage.Drain:
			texts = append(texts, fmt.Sprintf("drain %s #%d", short(a.Stage), a.Attempt))
		case stage.Abort:
			texts = append(texts, fmt.Sprintf("abort %s #%d", short(a.Stage), a.Attempt))
		case stage.RolledBack:
			texts = append(texts, "rolled back "+short(a.Stage))
		case stage.JobDone:
			texts = append(texts, fmt.Sprintf("done j%d", a.Job))
		case stage.JobFailed:
			texts = append(texts, fmt.Sprintf("failed j%d", a.Job))
		}
	}
	return strings.Join(texts, ", ")
}

func short(id stage.StageID) string {
	if id.Job != 0 {
		return fmt.Sprint("r", id.Job)
	}
	return fmt.Sprint("m", id.Shuffle)
}

func m(shuffle stage.ShuffleID) stage.StageID { return stage.StageID{Shuffle: shuffle} }
func r(job stage.JobID) stage.StageID         { return stage.StageID{Job: job} }

func shuffle(id stage.ShuffleID, reads ...stage.ShuffleID) stage.ShuffleSpec {
	return stage.ShuffleSpec{ID: id, Reads: reads, Determinate: true}
}

func reads(ids ...stage.ShuffleID) []stage.ShuffleID { return ids }

// script calls methods of a graph and checks the actions that they return.
type script struct {
	*testing.T
	*stage.Graph
	actions []stage.Action // the actions that the latest call returned
}

func newScript(t *testing.T) *script { return &script{T: t, Graph: stage.New(stage.Config{})} }

// after checks the actions that a call returned.
func (s *script) after(actions []stage.Action, want string) {
	s.Helper()
	s.actions = actions
	require.Equal(s, want, text(actions))
}

func (s *script) submit(job stage.JobID, reads []stage.ShuffleID, specs []stage.ShuffleSpec, want string) {
	s.Helper()
	actions, err := s.Submit(job, reads, specs)
	require.NoError(s, err)
	s.after(actions, want)
}

// done reports the success of a task on an executor. The executor's host is "h" followed by the
// executor's id. The default checksum of the output is the task's index.
func (s *script) done(attempt uint64, task int, executor, want string, checksum ...uint64) {
	s.Helper()
	counts, actions := s.TaskDone(attempt, task, stage.Output{Executor: executor, Host: "h" + executor, Checksum: append(checksum, uint64(task))[0]})
	s.after(actions, want)
	require.True(s, counts, "the result must count")
}

// ignored reports the success of a task, and checks that its result does not count.
func (s *script) ignored(attempt uint64, task int, executor, want string) {
	s.Helper()
	counts, actions := s.TaskDone(attempt, task, stage.Output{Executor: executor, Host: "h" + executor, Checksum: uint64(task)})
	s.after(actions, want)
	require.False(s, counts, "the result must not count")
}

// unreadable reports that a task could not fetch the current output of a map task.
func (s *script) unreadable(attempt uint64, task int, shuffle stage.ShuffleID, mapTask int, want string) {
	s.Helper()
	s.after(s.FetchFailed(attempt, task, s.failure(shuffle, mapTask)), want)
}

// relocated reports that an output of shuffle 1 that attempt 1 has written was copied to
// another executor.
func (s *script) relocated(mapTask int, from, to, want string) {
	s.Helper()
	_, actions := s.Relocated(stage.Relocation{Shuffle: 1, Map: mapTask, Attempt: 1, From: from, Executor: to, Host: "h" + to})
	s.after(actions, want)
}

func (s *script) failure(shuffle stage.ShuffleID, mapTask int) stage.FetchFailure {
	outputs, _, _ := s.Outputs(shuffle)
	return stage.FetchFailure{Shuffle: shuffle, Map: mapTask, Generation: outputs[mapTask].Generation, ExecutorGone: true}
}

// missing returns the map tasks of a shuffle that have no output.
func (s *script) missing(shuffle stage.ShuffleID) (tasks []int) {
	outputs, _, _ := s.Outputs(shuffle)
	for task, output := range outputs {
		if output.Executor == "" {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// err returns the error of the job that the latest call has failed.
func (s *script) err() error {
	s.Helper()
	i := slices.IndexFunc(s.actions, func(a stage.Action) bool { _, failed := a.(stage.JobFailed); return failed })
	require.GreaterOrEqual(s, i, 0)
	return s.actions[i].(stage.JobFailed).Err
}

// two returns a script with a job of two stages. The outputs of its map stage are on executors
// a, b, c and so on. Its result stage runs as attempt 2.
func two(t *testing.T, maps, results int, spec stage.ShuffleSpec) *script {
	s := newScript(t)
	s.submit(1, reads(spec.ID), []stage.ShuffleSpec{spec}, "plan "+short(m(spec.ID)))
	s.Planned(m(spec.ID), maps)
	for task := range maps {
		s.TaskDone(1, task, stage.Output{Executor: executorOf(task), Host: "h" + executorOf(task), Checksum: uint64(task)})
	}
	actions := s.Planned(r(1), results)
	require.IsType(t, stage.Run{}, actions[0])
	return s
}

func executorOf(task int) string { return string(rune('a' + task)) }

var errTask = errors.New("task 3 failed 4 times")

func TestRunsStagesInOrder(t *testing.T) {
	s := newScript(t)
	s.submit(7, reads(3), []stage.ShuffleSpec{shuffle(3, 1, 2), shuffle(1), shuffle(2)}, "plan m1, plan m2")
	s.after(s.Planned(m(1), 2), "run m1 #1 [0 1]")
	require.Equal(t, stage.Priority{Job: 7, Stage: 1}, s.actions[0].(stage.Run).Priority)
	s.after(s.Planned(m(2), 1), "run m2 #2 [0]")
	s.done(1, 1, "a", "")
	s.done(1, 0, "b", "")
	s.after(s.SetEnded(1, nil), "")
	s.done(2, 0, "c", "plan m3")
	s.after(s.Planned(m(3), 1), "run m3 #3 [0]")
	s.done(3, 0, "c", "plan r7")
	s.after(s.Planned(r(7), 2), "run r7 #4 [0 1]")
	require.Equal(t, stage.Priority{Job: 7, Stage: 4}, s.actions[0].(stage.Run).Priority)
	s.done(4, 0, "", "")
	s.done(4, 1, "", "done j7")
	s.after(s.SetEnded(4, nil), "")

	outputs, complete, generation := s.Outputs(1)
	require.True(t, complete)
	require.EqualValues(t, 2, generation)
	require.Equal(t, []stage.Output{
		{Executor: "b", Host: "hb", Checksum: 0, Attempt: 1, Generation: 2},
		{Executor: "a", Host: "ha", Checksum: 1, Attempt: 1, Generation: 1},
	}, outputs)
}

func TestSubmitRefuses(t *testing.T) {
	s := newScript(t)
	s.submit(1, reads(2), []stage.ShuffleSpec{shuffle(2, 1, 1), shuffle(1)}, "plan m1")
	for _, test := range []struct {
		name  string
		job   stage.JobID
		reads []stage.ShuffleID
		specs []stage.ShuffleSpec
		want  string
	}{
		{"a job twice", 1, nil, nil, "job 1 is submitted already"},
		{"job 0", 0, nil, nil, "or is 0"},
		{"an unknown shuffle", 2, reads(9), nil, "job 2: shuffle 9 is not described"},
		{"an unknown parent", 2, reads(3), []stage.ShuffleSpec{shuffle(3, 9)}, "shuffle 9 is not described"},
		{"shuffle 0", 2, reads(0), []stage.ShuffleSpec{shuffle(0)}, "shuffle 0 is not described"},
		{"a cycle", 2, reads(3), []stage.ShuffleSpec{shuffle(3, 4), shuffle(4, 3)}, "shuffle 3 is made from itself"},
		{"another description", 2, reads(2), []stage.ShuffleSpec{shuffle(2)}, "shuffle 2 reads [], and [1] when it was first described"},
	} {
		t.Run(test.name, func(t *testing.T) {
			actions, err := s.Submit(test.job, test.reads, test.specs)
			require.ErrorContains(t, err, test.want)
			require.Empty(t, actions)
		})
	}
	s.submit(2, reads(2), nil, "") // a ShuffleSpec is not needed for a known shuffle
}
