package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// partitionedJob is a job whose tasks write partitioned parts.
type partitionedJob struct {
	levels int        // depth of the directories
	tasks  [][]string // the directories in which each task writes a file
	option OutputOption
}

// run runs one attempt of the job. Each file contains the attempt of the job and the index of
// the task. The last task has three attempts: two commit, and one is aborted.
func (j partitionedJob) run(files *Files, target, attempt string) error {
	ctx := With(context.Background(), files)
	options := []OutputOption{Partitioned(j.levels)}
	if j.option != nil {
		options = append(options, j.option)
	}
	out, err := files.NewOutput(ctx, target, "job", options...)
	if errors.Is(err, ErrCommitted) {
		return nil
	}
	if err != nil {
		return err
	}
	write := func(task, number int, directories []string, commit bool) error {
		part, err := out.PartitionedPart(ctx, task, number)
		if err != nil {
			return err
		}
		for _, directory := range directories {
			w, err := part.Create(directory)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%s %d", attempt, task); err != nil {
				return errors.Join(err, w.Abort())
			}
			if err := w.Close(); err != nil {
				return err
			}
		}
		if !commit {
			return part.Abort()
		}
		return errors.Join(part.Commit(), part.Abort())
	}
	only := func(name string) []string { return []string{strings.Repeat("a=0/", j.levels-1) + name} }
	for task, directories := range j.tasks {
		if task == len(j.tasks)-1 {
			if err := write(task, 0, only("b=aborted"), false); err != nil {
				return err
			}
		}
		if err := write(task, 1, directories, true); err != nil {
			return err
		}
		if task == len(j.tasks)-1 { // a speculative copy that writes other content
			if err := write(task, 2, only("b=late"), true); err != nil {
				return err
			}
		}
	}
	return out.Commit(ctx, len(j.tasks))
}

// tree returns the contents of the visible files of a directory tree, by path.
func tree(t require.TestingT, root string) map[string]string {
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		content, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, root+"/")] = string(content)
		return err
	})
	require.NoError(t, err)
	return found
}

func writeTree(t require.TestingT, root string, files map[string]string) {
	for name, content := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o600))
	}
}

// want returns the tree that the job creates if it commits the output of attempt. old contains
// the files of the target before the job; nil if the target did not exist.
func (j partitionedJob) want(mode OutputMode, old map[string]string, attempt string) map[string]string {
	tree := maps.Clone(old)
	if old == nil || mode == ReplaceExisting {
		tree = map[string]string{}
	}
	if mode == ReplacePartitions {
		maps.DeleteFunc(tree, func(name, _ string) bool {
			return slices.ContainsFunc(j.tasks, func(directories []string) bool {
				return slices.Contains(directories, filepath.Dir(name))
			})
		})
	}
	suffix := ""
	if mode == AppendOutput {
		suffix = "-job"
	}
	for task, directories := range j.tasks {
		for _, directory := range directories {
			tree[fmt.Sprintf("%s/part-%05d%s", directory, task, suffix)] = fmt.Sprint(attempt, " ", task)
		}
	}
	tree[successName] = ""
	return tree
}

// newCrashingFiles returns a Files that crashes at a step, as in runJobThatCrashes. crashed
// reports whether the step was reached.
func newCrashingFiles(step int, after bool) (files *Files, crashed func() bool) {
	files = New(Options{})
	files.wrap = func(s fileSystem) fileSystem { return &faultySystem{fileSystem: s, callsLeft: step, after: after} }
	return files, func() bool {
		system, ok := files.systems[localRoot].(*faultySystem)
		return ok && system.dead
	}
}

var partitionedModes = map[OutputMode]OutputOption{CreateOutput: nil, ReplaceExisting: ReplaceOutput(), AppendOutput: AppendToOutput(), ReplacePartitions: ReplaceOutputPartitions()}

// oldTree contains the files of the target before a job. ReplacePartitions replaces the files in
// a=1/b=2.
var oldTree = map[string]string{"a=1/b=2/part-00000": "old", "a=1/b=2/part-00007": "old", "a=1/b=3/part-00000": "old", "a=2/b=3/part-00000": "old", "_SUCCESS": ""}

// TestPartitionedOutputIsThatOfOneAttempt tests the other modes.
func TestReplacingPartitionsSurvivesACrashAtEveryStep(t *testing.T) {
	testReplacingPartitions(t, partitionedJob{levels: 2, tasks: [][]string{{"a=1/b=2", "a=3/b=1"}, {"a=1/b=2"}}}, oldTree)
	testReplacingPartitions(t, partitionedJob{levels: 1, tasks: [][]string{{"a=2", "a=3"}, {"a=2"}}}, map[string]string{"a=1/part-00000": "old", "a=2/part-00000": "old", "a=2/part-00007": "old", "_SUCCESS": ""})
}

// testReplacingPartitions runs a job that replaces the first directory of its first task and
// adds the second one.
func testReplacingPartitions(t *testing.T, j partitionedJob, oldTree map[string]string) {
	j.option = ReplaceOutputPartitions()
	replaced, added := j.tasks[0][0], j.tasks[0][1]+"/part-00000"
	first, second := j.want(ReplacePartitions, oldTree, "first"), j.want(ReplacePartitions, oldTree, "second")
	for _, after := range []bool{false, true} {
		for step, crashed := 0, true; crashed; step++ {
			require.Less(t, step, 200)
			parent := t.TempDir()
			target := filepath.Join(parent, "out")
			writeTree(t, target, oldTree)
			files, dead := newCrashingFiles(step, after)
			err := j.run(files, target, "first")
			crashed = dead()
			left := tree(t, target)
			if err == nil {
				require.Equal(t, first, left)
			}
			for name, content := range oldTree {
				if path.Dir(name) != replaced {
					require.Equal(t, content, left[name], "what is not replaced stays")
				}
			}
			begun := left[replaced+"/part-00000"] != "old" || left[added] != ""
			require.NoError(t, j.run(New(Options{}), target, "second"))
			got := tree(t, target)
			if begun || got[added] == "first 0" {
				require.Equal(t, first, got, "what was begun is completed")
			} else {
				require.Equal(t, second, got)
			}
			entries, err := os.ReadDir(parent)
			require.NoError(t, err)
			require.Len(t, entries, 1, "nothing temporary is left")
		}
	}
}

// Whichever attempts of a job crash at whichever steps, after the last attempt the output is
// that of exactly one attempt.
func TestPartitionedOutputIsThatOfOneAttempt(t *testing.T) {
	dir := t.TempDir()
	directory := rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf("a=%d/b=%d", rapid.IntRange(0, 2).Draw(t, "a"), rapid.IntRange(0, 2).Draw(t, "b"))
	})
	rapid.Check(t, func(t *rapid.T) {
		parent, err := os.MkdirTemp(dir, "")
		require.NoError(t, err)
		target := filepath.Join(parent, "out")
		mode := rapid.SampledFrom([]OutputMode{CreateOutput, ReplaceExisting, AppendOutput, ReplacePartitions}).Draw(t, "mode")
		j := partitionedJob{levels: 2, option: partitionedModes[mode]}
		j.tasks = rapid.SliceOfN(rapid.SliceOfNDistinct(directory, 0, 4, rapid.ID[string]), 1, 3).Draw(t, "tasks")
		var old map[string]string
		if mode != CreateOutput && rapid.Bool().Draw(t, "exists") {
			old = map[string]string{"_SUCCESS": ""}
			for _, d := range rapid.SliceOfDistinct(directory, rapid.ID[string]).Draw(t, "old") {
				old[d+"/part-00000"] = "old"
			}
			writeTree(t, target, old)
		}
		var possible []map[string]string
		attempts := rapid.IntRange(0, 2).Draw(t, "crashes")
		for attempt := range attempts {
			files, _ := newCrashingFiles(rapid.IntRange(0, 60).Draw(t, "step"), rapid.Bool().Draw(t, "after"))
			_ = j.run(files, target, fmt.Sprint(attempt))
			possible = append(possible, j.want(mode, old, fmt.Sprint(attempt)))
		}
		require.NoError(t, j.run(New(Options{}), target, fmt.Sprint(attempts)))
		possible = append(possible, j.want(mode, old, fmt.Sprint(attempts)))
		require.Contains(t, possible, tree(t, target))
		entries, err := os.ReadDir(parent)
		require.NoError(t, err)
		require.Len(t, entries, 1, "nothing temporary is left")
	})
}

func TestPartitionedOutputToleratesLostAnswersToRenames(t *testing.T) {
	j := partitionedJob{levels: 2, tasks: [][]string{{"a=1/b=2", "a=3/b=1"}, {"a=1/b=2"}}}
	for mode, option := range partitionedModes {
		j.option = option
		target := filepath.Join(t.TempDir(), "out")
		if mode == ReplaceExisting {
			continue // Commit fails if the response of the old directory's rename is lost; the next attempt completes the commit
		}
		var old map[string]string
		if mode != CreateOutput {
			old = oldTree
			writeTree(t, target, old)
		}
		files := New(Options{})
		files.wrap = func(s fileSystem) fileSystem { return &lossySystem{fileSystem: s, lost: map[string]bool{}} }
		require.NoError(t, j.run(files, target, "only"))
		require.Equal(t, j.want(mode, old, "only"), tree(t, target))
	}
}

// An attempt that a later attempt has superseded cannot change the output any more.
func TestASupersededAttemptReplacesNoPartitions(t *testing.T) {
	target := filepath.Join(t.TempDir(), "out")
	writeTree(t, target, oldTree)
	files := New(Options{})
	ctx := With(t.Context(), files)
	options := []OutputOption{Partitioned(2), ReplaceOutputPartitions()}
	first, err := files.NewOutput(ctx, target, "job", options...)
	require.NoError(t, err)
	part, err := first.PartitionedPart(ctx, 0, 0)
	require.NoError(t, err)
	w, err := part.Create("a=1/b=2")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	second, err := files.NewOutput(ctx, target, "job", options...)
	require.NoError(t, err)
	require.ErrorContains(t, part.Commit(), "a later attempt of job")
	_, err = first.PartitionedPart(ctx, 0, 1)
	require.ErrorContains(t, err, "a later attempt of job")
	require.ErrorContains(t, first.Commit(ctx, 0), "a later attempt of job")
	require.NoError(t, second.Commit(ctx, 0))
	require.Equal(t, oldTree, tree(t, target))
}

func TestInvalidPartitionedParts(t *testing.T) {
	files := New(Options{})
	ctx := With(t.Context(), files)
	target := filepath.Join(t.TempDir(), "out")
	_, err := files.NewOutput(ctx, target, "job", ReplaceOutputPartitions())
	require.ErrorContains(t, err, "only an output that is partitioned")
	out, err := files.NewOutput(ctx, target, "job", Partitioned(2))
	require.NoError(t, err)
	part, err := out.PartitionedPart(ctx, 0, 0)
	require.NoError(t, err)
	for directory, problem := range map[string]string{
		"a=1": "has 1 levels", "a=1/b=2/c=3": "has 3 levels", "a=1/": "empty or hidden", "../a=1": "empty or hidden", "_a=1/b=1": "empty or hidden", "": "empty or hidden",
	} {
		_, err := part.Create(directory)
		require.ErrorContains(t, err, problem, directory)
	}
	w, err := part.Create("a=1/b=2")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	_, err = part.Create("a=1/b=2")
	require.ErrorIs(t, err, fs.ErrExist)
	_, err = out.PartitionedPart(ctx, -1, 0)
	require.ErrorContains(t, err, "no partitioned part -1")
	require.NoError(t, part.Abort())
	require.NoError(t, out.Abort(ctx))
}
