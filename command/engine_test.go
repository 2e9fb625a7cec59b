package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/internal/process"
	"github.com/bobbin-yarn/bobbin/storage"
)

// drive runs a plan on a local master and reads its results.
func drive(t *testing.T, plan *Plan) (*Results, error) {
	t.Helper()
	t.Setenv("LOG_DIRS", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	plan.Links.Local = true
	plan.Results = "file://" + t.TempDir()
	err := bobbin.RunLocal(t.Context(), "local[4]", plan.drive)
	files := storage.New(storage.Options{})
	entries, listing := files.List(t.Context(), plan.Results)
	require.NoError(t, listing)
	require.Len(t, entries, 1)
	results, reading := ReadResults(t.Context(), files, ResultsDirectory(plan.Results, entries[0].Name), plan)
	require.NoError(t, reading)
	return results, err
}

func shell(name, text string, needs ...string) Step {
	return Step{Name: name, Needs: needs, Command: []string{"/bin/sh", "-ec", text}, Tasks: make([]Task, 1), OwnDirectory: true}
}

func statuses(results StepResults) []Status {
	var all []Status
	for _, outcome := range results.Tasks {
		all = append(all, outcome.Status)
	}
	return all
}

func TestStepsRunAfterThoseTheyNeed(t *testing.T) {
	order := filepath.Join(t.TempDir(), "order")
	said := func(name string) string { return "echo " + name + " >> " + order }
	results, err := drive(t, &Plan{Steps: []Step{
		shell("last", said("last"), "left", "right"),
		shell("left", said("left"), "first"),
		shell("right", said("right"), "first"),
		shell("first", said("first")),
	}})
	require.NoError(t, err)
	written, err := os.ReadFile(order)
	require.NoError(t, err)
	lines := strings.Fields(string(written))
	require.Equal(t, "first", lines[0])
	require.Equal(t, "last", lines[3])
	for _, step := range results.Steps {
		require.Equal(t, []Status{StatusSucceeded}, statuses(step))
	}
}

func TestIndependentStepsRunAtTheSameTime(t *testing.T) {
	// Each of the two steps waits for the other step's output, so they must run concurrently.
	pipe := func(name string) string { return filepath.Join(t.TempDir(), name) }
	one, other := pipe("one"), pipe("other")
	wait := func(mine, its string) string {
		return fmt.Sprintf("touch %s; until [ -e %s ]; do sleep 0.01; done", mine, its)
	}
	_, err := drive(t, &Plan{Timeout: time.Minute, Steps: []Step{shell("one", wait(one, other)), shell("other", wait(other, one))}})
	require.NoError(t, err)
}

func TestAFailedStepSkipsDependentSteps(t *testing.T) {
	results, err := drive(t, &Plan{Steps: []Step{
		shell("bad", "echo it broke; exit 4"),
		shell("behind", "true", "bad"),
		shell("further", "true", "behind"),
		shell("beside", "true"),
	}})
	require.EqualError(t, err, "command: step bad: task 0 exited with status 4\nit broke")
	require.Equal(t, []Status{StatusFailed}, statuses(results.Steps[0]))
	require.Equal(t, "1 failed", results.Steps[0].Counts())
	require.Equal(t, 4, results.Steps[0].Tasks[0].Exit)
	require.Equal(t, "it broke\n", results.Steps[0].Tasks[0].Tail)
	require.Equal(t, []Status{StatusSkipped}, statuses(results.Steps[1]))
	require.Equal(t, "bad", results.Steps[1].SkippedBecause)
	require.Equal(t, "behind", results.Steps[2].SkippedBecause)
	require.Equal(t, []Status{StatusSucceeded}, statuses(results.Steps[3]))
}

func TestAllowFailure(t *testing.T) {
	bad := shell("bad", "exit 4")
	bad.AllowFailure = true
	results, err := drive(t, &Plan{Steps: []Step{bad, shell("behind", "true", "bad")}})
	require.NoError(t, err)
	require.Equal(t, []Status{StatusFailed}, statuses(results.Steps[0]))
	require.Equal(t, []Status{StatusSucceeded}, statuses(results.Steps[1]))
}

func TestFailFast(t *testing.T) {
	step := shell("some", "[ $TASK_INDEX -gt 1 ] || exit 1")
	step.Tasks = make([]Task, 4)
	results, err := drive(t, &Plan{Steps: []Step{step}})
	require.EqualError(t, err, "command: step some: task 0 exited with status 1\ncommand: step some: task 1 exited with status 1")
	require.Equal(t, []Status{StatusFailed, StatusFailed, StatusSucceeded, StatusSucceeded}, statuses(results.Steps[0]))

	step = shell("some", "[ $TASK_INDEX -eq 0 ] && exit 1; sleep 600")
	step.Tasks = make([]Task, 4)
	step.FailFast = true
	results, err = drive(t, &Plan{Steps: []Step{step}})
	require.EqualError(t, err, "command: step some: task 0 exited with status 1")
	require.Equal(t, []Status{StatusFailed, StatusUnfinished, StatusUnfinished, StatusUnfinished}, statuses(results.Steps[0]))
}

func TestRetries(t *testing.T) {
	step := shell("flaky", "[ $TASK_ATTEMPT = $TASK_ITEM ] || exit 5")
	step.Tasks = []Task{{Values: []Value{{Item, "0"}}}, {Values: []Value{{Item, "2"}}}, {Values: []Value{{Item, "3"}}}}
	step.Retries = 2
	results, err := drive(t, &Plan{Steps: []Step{step}})
	require.EqualError(t, err, "command: step flaky: task 2 exited with status 5")
	require.Equal(t, []Status{StatusSucceeded, StatusSucceeded, StatusFailed}, statuses(results.Steps[0]))
	tries := []int{results.Steps[0].Tasks[0].Attempt, results.Steps[0].Tasks[1].Attempt, results.Steps[0].Tasks[2].Attempt}
	require.Equal(t, []int{1, 3, 3}, tries)
}

func TestTimeLimits(t *testing.T) {
	slow := "echo begun; sleep 600"
	t.Run("of a task", func(t *testing.T) {
		step := shell("slow", slow)
		step.TaskTimeout = 100 * time.Millisecond
		results, err := drive(t, &Plan{Steps: []Step{step}})
		require.ErrorContains(t, err, "command: step slow: task 0 ran for more than its limit of 100ms")
		require.Equal(t, []Status{StatusTimedOut}, statuses(results.Steps[0]))
	})
	t.Run("of a step", func(t *testing.T) {
		step := shell("slow", slow)
		step.Timeout = 100 * time.Millisecond
		results, err := drive(t, &Plan{Steps: []Step{step, shell("behind", "true", "slow"), shell("beside", "true")}})
		require.EqualError(t, err, "command: step slow ran for more than its limit of 100ms")
		require.Equal(t, []Status{StatusUnfinished}, statuses(results.Steps[0]))
		require.Equal(t, []Status{StatusSkipped}, statuses(results.Steps[1]))
		require.Equal(t, []Status{StatusSucceeded}, statuses(results.Steps[2]))
	})
	t.Run("of the job", func(t *testing.T) {
		may := shell("slow", slow)
		may.AllowFailure = true
		_, err := drive(t, &Plan{Timeout: 100 * time.Millisecond, Steps: []Step{may, shell("behind", "true", "slow")}})
		require.EqualError(t, err, "command: the job ran for more than its limit of 100ms")
	})
}

func TestTheEnvironmentOfATask(t *testing.T) {
	step := shell("env", `echo "$TASK_STEP $TASK_INDEX/$TASK_COUNT $TASK_ATTEMPT $MATRIX_OS $MATRIX_V $OWN" > out`)
	step.Environment = map[string]string{"OWN": "<{os}-{index}>"}
	step.Tasks = []Task{{Values: []Value{{"os", "debian"}, {"V", "3.10"}}}, {Values: []Value{{"os", "al pine"}, {"V", "x"}}}}
	directory := t.TempDir()
	step.Collect = []CollectRule{{Pattern: "out", Directory: directory + "/{os}"}}
	plan := &Plan{Steps: []Step{step}}
	results, err := drive(t, plan)
	require.NoError(t, err)
	_, err = results.Collect(t.Context(), storage.New(storage.Options{}))
	require.NoError(t, err)
	for name, want := range map[string]string{"debian": "env 0/2 0 debian 3.10 <debian-0>\n", "al pine": "env 1/2 0 al pine x <al pine-1>\n"} {
		got, err := os.ReadFile(filepath.Join(directory, name, "out"))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
}

func TestPlainCommandError(t *testing.T) {
	plan := func(args ...string) *Plan {
		return &Plan{Steps: []Step{{Command: args, Tasks: make([]Task, 2), FailFast: true}}}
	}
	_, err := drive(t, plan("true"))
	require.NoError(t, err)
	_, err = drive(t, plan("/bin/sh", "-c", "echo broken {index}; exit 5"))
	require.Regexp(t, `^command: task [01] exited with status 5\nbroken [01]$`, err.Error())
	status, found := ExitStatus(err.Error())
	require.True(t, found)
	require.Equal(t, 5, status)
}

func TestInvalidPlansAreRefused(t *testing.T) {
	for want, plan := range map[string]Plan{
		"no step":                    {},
		"a command and at least one": {Steps: []Step{{Tasks: make([]Task, 1)}}},
		"at least one task":          {Steps: []Step{{Command: []string{"x"}}}},
		`two steps are called "a"`:   {Steps: []Step{shell("a", ""), shell("a", "")}},
		`needs "b", which is no`:     {Steps: []Step{shell("a", "", "b")}},
	} {
		require.ErrorContains(t, bobbin.RunLocal(t.Context(), "local", plan.drive), want)
	}
}

func TestPlanFileRoundTrip(t *testing.T) {
	plan := &Plan{Name: "n", Timeout: time.Second, Steps: []Step{shell("a", "x")}, Links: process.Links{Local: true, List: []process.Link{{Name: "a", Path: "/b"}}}}
	plan.Steps[0].Tasks = Tasks{{Values: []Value{{Item, "x"}}}, {}}
	path := filepath.Join(t.TempDir(), "plan")
	require.NoError(t, plan.Write(path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm(), "it has secrets")
	many := shell("many", "x")
	many.Tasks = make(Tasks, 1e6)
	encoded, err := json.Marshal(&Plan{Steps: []Step{many}})
	require.NoError(t, err)
	require.Less(t, len(encoded), 1000, "it stands on a command line")
	again, err := DecodePlan(encoded)
	require.NoError(t, err)
	require.Len(t, again.Steps[0].Tasks, 1e6)

	read, err := ReadPlan(path, false)
	require.NoError(t, err)
	require.Equal(t, plan, read)
	_, err = ReadPlan(path, true)
	require.NoError(t, err)
	require.NoFileExists(t, path)
	_, err = DecodePlan([]byte("{"))
	require.ErrorContains(t, err, "another version of yarn-submit")
}

func TestOutputLinesNameStepAndTask(t *testing.T) {
	var said strings.Builder
	e := &engine{output: &said, logger: slog.New(slog.DiscardHandler)}
	e.printOutcome("", &Outcome{Status: StatusSucceeded, Tail: "as it is"})
	e.printOutcome("", &Outcome{Status: StatusFailed, Tail: "is in the error"})
	e.printOutcome("build", &Outcome{Index: 3, Status: StatusFailed, Tail: "two\nlines"})
	e.printOutcome("build", &Outcome{Index: 4, Status: StatusSucceeded})
	require.Equal(t, "as it is[build 3] two\n[build 3] lines\n", said.String())
}

func TestInterruptedJobLeavesItsOutcomes(t *testing.T) {
	t.Setenv("LOG_DIRS", t.TempDir())
	base := t.TempDir()
	ready := filepath.Join(t.TempDir(), "ready")
	step := shell("s", "[ $TASK_INDEX = 0 ] || { touch "+ready+"; sleep 600; }")
	step.Tasks = make([]Task, 2)
	plan := &Plan{Links: process.Links{Local: true}, Results: "file://" + base, Steps: []Step{shell("quick", "true"), step, shell("behind", "true", "s")}}
	plan.Steps[1].Needs = []string{"quick"}
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- bobbin.RunLocal(ctx, "local[1]", plan.drive) }()
	require.Eventually(t, func() bool { _, err := os.Stat(ready); return err == nil }, waitTimeout, 10*time.Millisecond)
	require.Eventually(t, func() bool { // task 1 can start before the outcome of task 0 is recorded
		entries, err := os.ReadDir(base)
		require.NoError(t, err)
		results, err := ReadResults(t.Context(), storage.New(storage.Options{}), ResultsDirectory(plan.Results, entries[0].Name()), plan)
		return err == nil && statuses(results.Steps[1])[0] == StatusSucceeded
	}, waitTimeout, 10*time.Millisecond)
	because := fmt.Errorf("killed by a test")
	cancel(because)
	require.ErrorIs(t, <-ended, because)
	entries, err := os.ReadDir(base)
	require.NoError(t, err)
	results, err := ReadResults(t.Context(), storage.New(storage.Options{}), ResultsDirectory(plan.Results, entries[0].Name()), plan)
	require.NoError(t, err)
	require.Equal(t, []Status{StatusSucceeded}, statuses(results.Steps[0]))
	require.Equal(t, []Status{StatusSucceeded, StatusUnfinished}, statuses(results.Steps[1]))
	require.Equal(t, []Status{StatusUnfinished}, statuses(results.Steps[2]))
	require.False(t, slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), partEnding) }))
}

func TestTheLatestAttemptCounts(t *testing.T) {
	plan := &Plan{Steps: []Step{shell("s", "true")}}
	plan.Steps[0].Tasks = make(Tasks, 2)
	files := storage.New(storage.Options{})
	directory := "file://" + t.TempDir()
	attempt := func(outcomes ...Outcome) *Results {
		r, err := newRecorder(t.Context(), files, directory)
		require.NoError(t, err)
		r.start(0)
		for _, outcome := range outcomes {
			r.add(0, outcome)
		}
		require.NoError(t, r.close(t.Context()))
		results, err := ReadResults(t.Context(), files, directory, plan)
		require.NoError(t, err)
		return results
	}
	// The file name contains a time in the far future, as if the clock of the first attempt's node
	// were wrong.
	require.NoError(t, os.MkdirAll(strings.TrimPrefix(directory, "file://")+"/report", 0o700))
	ahead := fmt.Sprintf("%s/report/%020d-000000", strings.TrimPrefix(directory, "file://"), int64(9e18))
	require.NoError(t, os.WriteFile(ahead, []byte(`{"step":0,"event":"task","outcome":{"index":0,"status":"failed"}}`+"\n"), 0o600))
	results := attempt(Outcome{Index: 1, Status: StatusSucceeded, Tail: "not kept"})
	require.Equal(t, []Status{StatusUnfinished, StatusSucceeded}, statuses(results.Steps[0]))
	require.True(t, results.IsIncomplete())
	require.Empty(t, results.Steps[0].Tasks[1].Tail)
	results = attempt(Outcome{Index: 0, Status: StatusFailed, Tail: "kept"})
	require.Equal(t, []Status{StatusFailed, StatusUnfinished}, statuses(results.Steps[0]))
	require.Equal(t, "kept", results.Steps[0].Tasks[0].Tail)

	r, err := newRecorder(t.Context(), files, directory)
	require.NoError(t, err)
	require.NoError(t, files.RemoveAll(t.Context(), directory))
	r.start(0)
	require.ErrorIs(t, r.close(t.Context()), fs.ErrNotExist)
	require.NoDirExists(t, strings.TrimPrefix(directory, "file://"), "what the submitter has removed is not made again")
}
