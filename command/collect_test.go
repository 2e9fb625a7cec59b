package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/process"
	"github.com/bobbin-yarn/bobbin/storage"
)

// tree returns the contents of the files below a directory, by path.
func tree(t *testing.T, directory string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(directory, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(directory, path)
		found[name] = string(content)
		return err
	}))
	return found
}

func collecting(step Step, directory string, patterns ...string) Step {
	for _, pattern := range patterns {
		step.Collect = append(step.Collect, CollectRule{Pattern: pattern, Directory: directory})
	}
	step.SeparateTargetsByTask()
	return step
}

func TestFilesAreCollectedByTask(t *testing.T) {
	out := t.TempDir()
	shipped := filepath.Join(t.TempDir(), "data.txt")
	require.NoError(t, os.WriteFile(shipped, []byte("shipped"), 0o600))
	step := collecting(shell("make", `mkdir -p sub/deep; cat data.txt > copy.txt; echo "$TASK_ITEM" > sub/deep/a.xml
		ln -s a.xml sub/deep/link.xml; ln -s /etc/passwd out.txt; printf x > run.txt; chmod 750 run.txt`), out, "*.txt", "sub/**/*.xml", "no-such*")
	step.Tasks = []Task{{Values: []Value{{Item, "first"}}}, {Values: []Value{{Item, "second"}}}}
	plan := &Plan{Steps: []Step{step}, Links: process.Links{List: []process.Link{{Name: "data.txt", Path: shipped}}}}
	results, err := drive(t, plan)
	require.NoError(t, err)
	files := storage.New(storage.Options{})
	got, err := results.Collect(t.Context(), files)
	require.NoError(t, err)
	require.Equal(t, 8, got.Files)
	require.Equal(t, map[string]string{
		"make/0/copy.txt": "shipped", "make/0/run.txt": "x", "make/0/sub/deep/a.xml": "first\n", "make/0/sub/deep/link.xml": "first\n",
		"make/1/copy.txt": "shipped", "make/1/run.txt": "x", "make/1/sub/deep/a.xml": "second\n", "make/1/sub/deep/link.xml": "second\n",
	}, tree(t, out), "neither what was shipped nor what lies elsewhere")
	info, err := os.Stat(filepath.Join(out, "make/0/run.txt"))
	require.NoError(t, err)
	require.EqualValues(t, 0o750, info.Mode().Perm())
	steps, patterns := results.Unmatched()
	require.Equal(t, []string{"make"}, steps)
	require.Equal(t, []string{"no-such*"}, patterns)

	_, err = results.Collect(t.Context(), files)
	require.NoError(t, err, "over those of an earlier run")
}

func TestFailedTasksReturnTheirFiles(t *testing.T) {
	out := t.TempDir()
	step := collecting(shell("test", "echo try $TASK_ATTEMPT > report; exit 1"), out, "report")
	step.Retries = 1
	results, err := drive(t, &Plan{Steps: []Step{step}})
	require.Error(t, err)
	_, err = results.Collect(t.Context(), storage.New(storage.Options{}))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"test/0/report": "try 1\n"}, tree(t, out), "those of its last try")
}

func TestCollectLimits(t *testing.T) {
	step := collecting(shell("s", "echo 12345 > a; echo 12345 > b; echo 12345 > c"), t.TempDir(), "*")
	for want, limits := range map[string]Limits{
		"it leaves more than 2 files to collect: collect an archive of them, or raise collect.maxFiles": {Files: 2},
		"it leaves 18 bytes to collect, more than the 10 of collect.maxSize":                            {Bytes: 10},
	} {
		results, err := drive(t, &Plan{Steps: []Step{step}, Limits: limits})
		require.ErrorContains(t, err, want)
		require.Equal(t, []Status{StatusFailed}, statuses(results.Steps[0]))
		require.Empty(t, results.Steps[0].Tasks[0].Files)
	}
	_, err := drive(t, &Plan{Steps: []Step{step}, Limits: Limits{Files: 3, Bytes: 18}})
	require.NoError(t, err)
}

func TestCollectStaysInItsDirectory(t *testing.T) {
	plan := &Plan{Steps: []Step{collecting(shell("s", "true"), "/nowhere", "*")}}
	for _, file := range []File{{Name: "../x"}, {Name: "/x"}, {Name: "a", Collect: 1}, {Name: "a", Collect: -1}} {
		results := UnfinishedResults(plan)
		results.Steps[0].Tasks[0].Files = []File{file}
		_, err := results.Collect(t.Context(), storage.New(storage.Options{}))
		require.ErrorContains(t, err, "which the plan does not collect")
	}
	results := UnfinishedResults(plan)
	results.Steps[0].Tasks[0].Files = []File{{Name: "a", Source: "1"}, {Name: "a", Source: "2"}}
	_, err := results.Collect(t.Context(), storage.New(storage.Options{}))
	require.ErrorContains(t, err, "/nowhere/s/0/a: two tasks have a file of this name")

	directory, elsewhere := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(directory, "link")))
	source := filepath.Join(t.TempDir(), "source")
	require.NoError(t, os.WriteFile(source, []byte("x"), 0o600))
	err = fetch(t.Context(), storage.New(storage.Options{}), "file://"+source, directory, File{Name: "link/x", Size: 1})
	require.Error(t, err)
	require.Empty(t, tree(t, elsewhere))
}

func TestParseCollect(t *testing.T) {
	got, err := ParseCollectRule("a=b/*.xml=out", "/here")
	require.NoError(t, err)
	require.Equal(t, CollectRule{Pattern: "a=b/*.xml", Directory: "/here/out"}, got)
	for text, want := range map[string]string{
		"x": `"x": want PATTERN=DIRECTORY`, "=out": "the pattern is empty", "a=": "the directory for a is empty", "[=x": "incomplete",
		"../a=b": "leads out", "/a=b": "absolute path",
	} {
		_, err := ParseCollectRule(text, "/here")
		require.ErrorContains(t, err, want)
	}
}

func TestCollisionsAreFoundBeforeTheRun(t *testing.T) {
	step := func(name, directory, pattern string, items ...string) Step {
		s := Step{Name: name, Command: []string{"x"}, Collect: []CollectRule{{Pattern: pattern, Directory: directory}}}
		for _, item := range items {
			s.Tasks = append(s.Tasks, Task{Values: []Value{{Item, item}}})
		}
		return s
	}
	for name, test := range map[string]struct {
		steps []Step
		want  string
	}{
		"each its own":       {[]Step{step("a", "/o/{item}", "*", "p", "q")}, ""},
		"one file each":      {[]Step{step("a", "/o", "{item}.xml", "p", "q")}, ""},
		"the same file":      {[]Step{step("a", "/o", "r.xml", "p", "q")}, "files of task 0 (p) of step a and of task 1 (q) of step a would come into /o "},
		"the same place":     {[]Step{step("a", "/o/{step}", "*.xml", "p", "q")}, "would come into /o/a "},
		"of two steps":       {[]Step{step("a", "/o", "*", "p"), step("b", "/o", "*", "p")}, "of step a and of task 0 (p) of step b"},
		"once made names":    {[]Step{step("a", "/o/{item}", "*", "p/q", "p_q")}, "would come into /o/p_q "},
		"names that lead up": {[]Step{step("a", "/o/{item}", "*", "..", ".", "")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := (&Plan{Steps: test.steps}).FindCollision()
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
		})
	}
	s := step("a", "/o/{item}", "*", "..")
	require.Equal(t, "/o/_..", s.Target(s.Collect[0], 0))
}
