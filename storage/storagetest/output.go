package storagetest

import (
	"fmt"
	"io/fs"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/storage"
)

const job = "application_1700000000000_0001"

// writePart writes and commits a part in one attempt of its task.
func (f *fixture) writePart(out storage.Output, index, attempt int, content string) error {
	part, err := out.Part(f.ctx, index, attempt)
	if err != nil {
		return err
	}
	if _, err := part.WriteString(content); err != nil {
		return err
	}
	return part.Commit()
}

func testOutput(t *testing.T, f *fixture) {
	out, err := f.files.NewOutput(f.ctx, f.path("new/out"), job)
	require.NoError(t, err)
	require.Equal(t, f.path("new/out"), out.Path)
	for i := range 3 {
		require.NoError(t, f.writePart(out, i, 0, fmt.Sprintf("part %d", i)))
	}
	unfinished, err := out.Part(f.ctx, 1, 1)
	require.NoError(t, err)
	exists, err := f.files.Exists(f.ctx, out.Path)
	require.NoError(t, err)
	require.False(t, exists, "nothing is there before the commit")

	require.ErrorContains(t, out.Commit(f.ctx, 4), "part-00003 is missing")
	require.ErrorContains(t, out.Commit(f.ctx, 2), "more than the 2")
	require.NoError(t, out.Commit(f.ctx, 3))
	require.Equal(t, []string{".committed-by-" + job, "_SUCCESS", "part-00000", "part-00001", "part-00002"}, f.names(t, out.Path))
	require.Equal(t, "part 1", f.read(t, out.Path+"/part-00001"))
	require.Empty(t, f.read(t, out.Path+"/_SUCCESS"))
	require.Equal(t, []string{"out"}, f.names(t, f.path("new")), "nothing temporary is left")

	require.NoError(t, out.Commit(f.ctx, 3), "a commit can be repeated")
	require.NoError(t, out.Abort(f.ctx), "an abort after the commit changes nothing")
	require.Error(t, unfinished.Commit(), "a part that comes too late is refused")
	require.Equal(t, "part 1", f.read(t, out.Path+"/part-00001"))
	require.Equal(t, []string{"out"}, f.names(t, f.path("new")))
}

func testOutputExists(t *testing.T, f *fixture) {
	require.NoError(t, f.files.MkdirAll(f.ctx, f.path("dir"), 0o755))
	for _, path := range []string{f.path("dir"), f.write(t, "file", nil)} {
		_, err := f.files.NewOutput(f.ctx, path, job)
		require.ErrorIs(t, err, fs.ErrExist)
		require.ErrorContains(t, err, path)
		require.ErrorContains(t, err, "name another directory")
	}
	// Two jobs write to the same target: the first to commit succeeds.
	first, err := f.files.NewOutput(f.ctx, f.path("out"), "first")
	require.NoError(t, err)
	second, err := f.files.NewOutput(f.ctx, f.path("out"), "second")
	require.NoError(t, err)
	require.NoError(t, f.writePart(first, 0, 0, "first"))
	require.NoError(t, f.writePart(second, 0, 0, "second"))
	require.NoError(t, second.Commit(f.ctx, 1))
	require.ErrorIs(t, first.Commit(f.ctx, 1), fs.ErrExist)
	require.NoError(t, first.Abort(f.ctx))
	require.Equal(t, "second", f.read(t, f.path("out/part-00000")))
	require.Equal(t, []string{"dir", "file", "out"}, f.names(t, f.dir))
}

func testOutputSecondAttempt(t *testing.T, f *fixture) {
	first, err := f.files.NewOutput(f.ctx, f.path("out"), job)
	require.NoError(t, err)
	require.NoError(t, f.writePart(first, 0, 0, "first"))
	running, err := first.Part(f.ctx, 1, 0)
	require.NoError(t, err)

	second, err := f.files.NewOutput(f.ctx, f.path("out"), job)
	require.NoError(t, err)
	_, err = running.WriteString("late")
	if err == nil {
		err = running.Commit()
	}
	require.Error(t, err, "a task of the first attempt can no longer write")
	_, err = first.Part(f.ctx, 1, 1)
	require.ErrorContains(t, err, "a later attempt of job "+job)
	require.ErrorContains(t, first.Commit(f.ctx, 1), "a later attempt of job "+job)
	require.NoError(t, first.Abort(f.ctx))

	require.NoError(t, f.writePart(second, 0, 0, "second"))
	require.NoError(t, second.Commit(f.ctx, 1))
	require.Equal(t, "second", f.read(t, f.path("out/part-00000")))
	_, err = f.files.NewOutput(f.ctx, f.path("out"), job)
	require.ErrorIs(t, err, storage.ErrCommitted, "a third attempt has nothing to do")
	_, err = f.files.NewOutput(f.ctx, f.path("out"), "other")
	require.ErrorIs(t, err, fs.ErrExist)
	require.Equal(t, []string{"out"}, f.names(t, f.dir))
}

func testOutputConcurrentAttempts(t *testing.T, f *fixture) {
	out, err := f.files.NewOutput(f.ctx, f.path("out"), job)
	require.NoError(t, err)
	const parts, attempts = 4, 3
	errs := make(chan error, parts*attempts)
	var writing sync.WaitGroup
	for index := range parts {
		for attempt := range attempts {
			writing.Go(func() { errs <- f.writePart(out, index, attempt, fmt.Sprintf("%d by %d", index, attempt)) })
		}
	}
	writing.Wait()
	for range parts * attempts {
		require.NoError(t, <-errs)
	}
	require.NoError(t, out.Commit(f.ctx, parts))
	for index := range parts {
		require.Regexp(t, fmt.Sprintf("^%d by [0-2]$", index), f.read(t, fmt.Sprintf("%s/part-%05d", out.Path, index)))
	}
	require.Equal(t, []string{"out"}, f.names(t, f.dir))
}

func testOutputAbort(t *testing.T, f *fixture) {
	out, err := f.files.NewOutput(f.ctx, f.path("out"), job)
	require.NoError(t, err)
	require.NoError(t, f.writePart(out, 0, 0, "done"))
	aborted, err := out.Part(f.ctx, 1, 0)
	require.NoError(t, err)
	require.NoError(t, aborted.Abort())
	require.Error(t, aborted.Commit(), "an aborted part cannot be committed")
	require.NoError(t, out.Abort(f.ctx))
	require.Empty(t, f.names(t, f.dir))
}

// Tasks of a cancelled job may still create parts while the job removes its files.
func testOutputAbortDuringTasks(t *testing.T, f *fixture) {
	out, err := f.files.NewOutput(f.ctx, f.path("out"), job)
	require.NoError(t, err)
	const tasks, parts = 4, 100
	started := make(chan struct{}, tasks)
	var writing sync.WaitGroup
	for task := range tasks {
		writing.Go(func() {
			for n := range parts {
				err := f.writePart(out, task*parts+n, 0, "late")
				if n == 0 {
					started <- struct{}{}
				}
				if err != nil {
					return
				}
			}
		})
	}
	for range tasks {
		<-started
	}
	require.NoError(t, out.Abort(f.ctx))
	writing.Wait()
	require.Empty(t, f.names(t, f.dir))
}

func testOutputReplace(t *testing.T, f *fixture) {
	f.write(t, "out/part-00000", []byte("old"))
	f.write(t, "out/below/part-00000", []byte("old"))
	for n, content := range []string{"first", "second"} {
		out, err := f.files.NewOutput(f.ctx, f.path("out"), job, storage.ReplaceOutput(), storage.Sequence(n+1), storage.PartSuffix(".txt"))
		require.NoError(t, err)
		require.NoError(t, f.writePart(out, 0, 0, content))
		require.NotContains(t, f.names(t, f.path("out")), ".committed-by-"+out.JobID+"+2", "the old directory stays until the commit")
		require.NoError(t, out.Commit(f.ctx, 1))
		require.NoError(t, out.Commit(f.ctx, 1), "a commit can be repeated")
		require.NoError(t, out.Abort(f.ctx))
		require.Equal(t, content, f.read(t, f.path("out/part-00000.txt")))
		require.Equal(t, []string{"out"}, f.names(t, f.dir))
	}
	require.Equal(t, []string{".committed-by-" + job + "+2", "_SUCCESS", "part-00000.txt"}, f.names(t, f.path("out")))
	for n := range 2 {
		_, err := f.files.NewOutput(f.ctx, f.path("out"), job, storage.ReplaceOutput(), storage.Sequence(n+1))
		require.ErrorIs(t, err, storage.ErrCommitted)
	}
}

func testOutputAppend(t *testing.T, f *fixture) {
	f.write(t, "out/part-00000", []byte("old"))
	for n, content := range []string{"first", "second"} {
		out, err := f.files.NewOutput(f.ctx, f.path("out"), job, storage.AppendToOutput(), storage.Sequence(n+1))
		require.NoError(t, err)
		require.NoError(t, f.writePart(out, 0, 0, content))
		require.NoError(t, out.Commit(f.ctx, 1))
		require.NoError(t, out.Commit(f.ctx, 1), "a commit can be repeated")
		require.Equal(t, []string{"out"}, f.names(t, f.dir))
	}
	require.Equal(t, []string{".committed-by-" + job, ".committed-by-" + job + "+2", "_SUCCESS",
		"part-00000", "part-00000-" + job, "part-00000-" + job + "+2"}, f.names(t, f.path("out")))
	require.Equal(t, "old", f.read(t, f.path("out/part-00000")))
	require.Equal(t, "second", f.read(t, f.path("out/part-00000-"+job+"+2")))
}

// writePartitions writes and commits a partitioned part with a file in each directory.
func (f *fixture) writePartitions(out storage.Output, index int, content string, directories ...string) error {
	part, err := out.PartitionedPart(f.ctx, index, 0)
	if err != nil {
		return err
	}
	for _, directory := range directories {
		w, err := part.Create(directory)
		if err != nil {
			return err
		}
		if _, err := w.WriteString(content); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	return part.Commit()
}

func testOutputPartitions(t *testing.T, f *fixture) {
	var n int
	save := func(content string, option storage.OutputOption, directories ...string) {
		n++
		out, err := f.files.NewOutput(f.ctx, f.path("out"), job, option, storage.Partitioned(2), storage.Sequence(n))
		require.NoError(t, err)
		require.NoError(t, f.writePartitions(out, 0, content, directories...))
		require.NoError(t, f.writePartitions(out, 0, "late", "a=9/b=9"), "another attempt of the task was first")
		require.NoError(t, out.Commit(f.ctx, 1))
		require.NoError(t, out.Commit(f.ctx, 1), "a commit can be repeated")
		require.NoError(t, out.Abort(f.ctx))
		require.Equal(t, []string{"out"}, f.names(t, f.dir))
	}
	save("first", func(*storage.Output) {}, "a=1/b=1", "a=1/b=2", "a=2/b=1")
	save("second", storage.ReplaceOutputPartitions(), "a=1/b=2", "a=3/b=1 %3A")
	save("third", storage.AppendToOutput(), "a=1/b=1", "a=4/b=1")
	require.Equal(t, []string{".committed-by-" + job, ".committed-by-" + job + "+2", ".committed-by-" + job + "+3", "_SUCCESS", "a=1", "a=2", "a=3", "a=4"},
		f.names(t, f.path("out")))
	require.Equal(t, []string{"part-00000", "part-00000-" + job + "+3"}, f.names(t, f.path("out/a=1/b=1")))
	for file, content := range map[string]string{"a=1/b=1/part-00000": "first", "a=2/b=1/part-00000": "first", "a=1/b=2/part-00000": "second",
		"a=3/b=1 %3A/part-00000": "second", "a=1/b=1/part-00000-" + job + "+3": "third", "a=4/b=1/part-00000-" + job + "+3": "third"} {
		require.Equal(t, content, f.read(t, f.path("out/"+file)), file)
	}
	save("fourth", storage.ReplaceOutput(), "a=1/b=1")
	require.Equal(t, []string{".committed-by-" + job + "+4", "_SUCCESS", "a=1"}, f.names(t, f.path("out")))
	splits, err := f.files.Splits(f.ctx, f.path("out"), storage.SplitOptions{Enter: func(directory string) bool { return directory != f.path("out/a=1") }})
	require.NoError(t, err)
	require.Empty(t, splits)
}
