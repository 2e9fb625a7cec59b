package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/compression"
)

// contents returns the contents of the visible files of a directory, by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		found[e.Name()] = string(content)
	}
	return found
}

func writeOld(t *testing.T, target string) {
	t.Helper()
	require.NoError(t, os.Mkdir(target, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(target, "part-00000"), []byte("old"), 0o600))
}

// runJobThatCrashes runs a job in which the change with the number step fails, before or after
// it is made, and all later calls fail. It reports whether the job has reached that step.
func runJobThatCrashes(t *testing.T, target string, step int, after bool, option OutputOption) (crashed bool) {
	t.Helper()
	broken := New(Options{})
	broken.wrap = func(s fileSystem) fileSystem { return &faultySystem{fileSystem: s, callsLeft: step, after: after} }
	err := runJob(broken, target, "first", option)
	system, ok := broken.systems[localRoot].(*faultySystem)
	require.True(t, ok)
	require.True(t, system.dead || err == nil)
	return system.dead
}

// atEveryStep calls test with step 0, 1 and so on. test makes a job crash at that step. When
// test returns false, because the job has ended before that step, atEveryStep stops.
func atEveryStep(t *testing.T, test func(t *testing.T, target string, step int, after bool) (crashed bool)) {
	for _, after := range []bool{false, true} {
		for step, crashed := 0, true; crashed; step++ {
			require.Less(t, step, 200)
			parent := t.TempDir()
			target := filepath.Join(parent, "out")
			writeOld(t, target)
			crashed = test(t, target, step, after)
			entries, err := os.ReadDir(parent)
			require.NoError(t, err)
			require.Len(t, entries, 1, "nothing temporary is left")
		}
	}
}

var old, first, second = map[string]string{"part-00000": "old"},
	map[string]string{"_SUCCESS": "", "part-00000": "first 0", "part-00001": "first 1"},
	map[string]string{"_SUCCESS": "", "part-00000": "second 0", "part-00001": "second 1"}

func TestReplacingSurvivesACrashAtEveryStep(t *testing.T) {
	atEveryStep(t, func(t *testing.T, target string, step int, after bool) bool {
		crashed := runJobThatCrashes(t, target, step, after, ReplaceOutput())
		replaced := false
		if _, err := os.Stat(target); err == nil {
			content := contents(t, target)
			replaced = content["part-00000"] != "old"
			if replaced {
				require.Equal(t, first, content)
			} else {
				require.Equal(t, old, content)
			}
		} else {
			require.ErrorIs(t, err, fs.ErrNotExist)
			kept, err := filepath.Glob(filepath.Join(filepath.Dir(target), ".out.job", "*", "replaced-*"))
			require.NoError(t, err)
			require.Len(t, kept, 1)
			require.Equal(t, old, contents(t, kept[0]), "the old output is kept")
			replaced = true // the next attempt completes the commit
		}
		require.NoError(t, runJob(New(Options{}), target, "second", ReplaceOutput()))
		if content := contents(t, target); replaced {
			require.Equal(t, first, content)
		} else if content["part-00000"] != "first 0" { // the interrupted commit had begun
			require.Equal(t, second, content)
		}
		return crashed
	})
}

func TestAppendingSurvivesACrashAtEveryStep(t *testing.T) {
	added := func(content string) map[string]string {
		return map[string]string{"_SUCCESS": "", "part-00000": "old", "part-00000-job": content + " 0", "part-00001-job": content + " 1"}
	}
	atEveryStep(t, func(t *testing.T, target string, step int, after bool) bool {
		crashed := runJobThatCrashes(t, target, step, after, AppendToOutput())
		before := contents(t, target)
		require.Equal(t, "old", before["part-00000"])
		require.NoError(t, runJob(New(Options{}), target, "second", AppendToOutput()))
		if after := contents(t, target); len(before) > 1 || after["part-00000-job"] == "first 0" {
			require.Equal(t, added("first"), after, "what was begun is completed")
		} else {
			require.Equal(t, added("second"), after)
		}
		return crashed
	})
}

// An attempt that was superseded cannot change the output any more.
func TestSupersededAttemptCannotCommit(t *testing.T) {
	for _, option := range []OutputOption{ReplaceOutput(), AppendToOutput()} {
		target := filepath.Join(t.TempDir(), "out")
		writeOld(t, target)
		files := New(Options{})
		ctx := With(t.Context(), files)
		first, err := files.NewOutput(ctx, target, "job", option)
		require.NoError(t, err)
		_, err = files.NewOutput(ctx, target, "job", option)
		require.NoError(t, err)
		require.ErrorContains(t, first.Commit(ctx, 0), "a later attempt of job")
		require.Equal(t, old, contents(t, target))
	}
}

// failingSystem makes renames to the target fail if the target does not exist.
type failingSystem struct {
	fileSystem
	target       string
	failuresLeft int // how many further renames fail
}

func (s *failingSystem) rename(ctx context.Context, from, to string) error {
	if _, err := os.Stat(to); to == s.target && errors.Is(err, fs.ErrNotExist) && s.failuresLeft > 0 {
		s.failuresLeft--
		return errors.New("the disk is gone")
	}
	return s.fileSystem.rename(ctx, from, to)
}

func TestAbortAfterABegunReplacementKeepsAllData(t *testing.T) {
	target := filepath.Join(t.TempDir(), "out")
	writeOld(t, target)
	files := New(Options{})
	files.wrap = func(s fileSystem) fileSystem { return &failingSystem{fileSystem: s, target: target, failuresLeft: 1} }
	ctx := With(t.Context(), files)
	out, err := files.NewOutput(ctx, target, "job", ReplaceOutput())
	require.NoError(t, err)
	require.ErrorContains(t, out.Commit(ctx, 0), "the disk is gone")
	require.NoDirExists(t, target)
	require.ErrorContains(t, out.Abort(ctx), out.Staging)
	require.NoError(t, out.Commit(ctx, 0), "a commit can be repeated")
	require.Equal(t, map[string]string{"_SUCCESS": ""}, contents(t, target))
	require.NoError(t, out.Abort(ctx))
}

func TestSeveralOutputsOfAJob(t *testing.T) {
	target := filepath.Join(t.TempDir(), "out")
	files := New(Options{})
	for n, option := range []OutputOption{ReplaceOutput(), AppendToOutput(), AppendToOutput()} {
		require.NoError(t, runJob(files, target, fmt.Sprint(n), option, Sequence(n+1), PartSuffix(".txt")))
	}
	want := map[string]string{"_SUCCESS": "", "part-00000.txt": "0 0", "part-00001.txt": "0 1",
		"part-00000-job+2.txt": "1 0", "part-00001-job+2.txt": "1 1", "part-00000-job+3.txt": "2 0", "part-00001-job+3.txt": "2 1"}
	require.Equal(t, want, contents(t, target))
	for n, option := range []OutputOption{ReplaceOutput(), AppendToOutput(), AppendToOutput()} {
		require.NoError(t, runJob(files, target, "again", option, Sequence(n+1)), "a later attempt of the job does nothing")
	}
	require.Equal(t, want, contents(t, target))
	require.NoError(t, runJob(files, target, "last", ReplaceOutput(), Sequence(4)))
	require.NoError(t, runJob(files, target, "again", AppendToOutput(), Sequence(2)))
	require.Equal(t, map[string]string{"_SUCCESS": "", "part-00000": "last 0", "part-00001": "last 1"}, contents(t, target))
	require.ErrorIs(t, runJob(files, target, "new", Sequence(5)), fs.ErrExist)
}

func TestOutputDoesNotReplaceAFile(t *testing.T) {
	target := filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.WriteFile(target, []byte("a file"), 0o600))
	for _, option := range []OutputOption{ReplaceOutput(), AppendToOutput()} {
		require.ErrorIs(t, runJob(New(Options{}), target, "new", option), fs.ErrExist)
	}
}

func TestCompress(t *testing.T) {
	for _, name := range append(compression.Names(), "") {
		suffix, err := CompressionSuffix(name)
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "file"+suffix)
		file, err := os.Create(path)
		require.NoError(t, err)
		w, err := Compress(file, name)
		require.NoError(t, err)
		_, err = io.WriteString(w, "some text")
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.NoError(t, file.Close())
		files := New(Options{})
		splits, err := files.Splits(t.Context(), path, SplitOptions{})
		require.NoError(t, err)
		r, err := splits[0].Open(With(t.Context(), files))
		require.NoError(t, err)
		content, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.Equal(t, "some text", string(content))
	}
	_, err := Compress(io.Discard, "lzo")
	require.ErrorContains(t, err, `unknown compression "lzo"`)
}
