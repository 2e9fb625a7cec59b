// Package storagetest contains tests of the behaviour that package storage documents. Unit tests
// run them on the local disk, and tests with a cluster run them on HDFS.
package storagetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/storage"
)

// Suite runs all tests of the package. base is the URI of a directory that does not
// exist yet; Suite removes it at the end.
func Suite(t *testing.T, files *storage.Files, base string) {
	t.Helper()
	t.Cleanup(func() {
		if err := files.RemoveAll(context.Background(), base); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	for _, test := range []struct {
		name string
		run  func(*testing.T, *fixture)
	}{
		{"WriteAndRead", testWriteAndRead},
		{"ReadAtConcurrently", testReadAtConcurrently},
		{"EmptyFile", testEmptyFile},
		{"CreateExclusively", testCreateExclusively},
		{"AbortRemoves", testAbortRemoves},
		{"FlushedIsVisible", testFlushedIsVisible},
		{"AbandonKeepsWhatWasFlushed", testAbandonKeepsWhatWasFlushed},
		{"Missing", testMissing},
		{"Directories", testDirectories},
		{"RenameNeverOverwrites", testRenameNeverOverwrites},
		{"Remove", testRemove},
		{"SetTimes", testSetTimes},
		{"Permissions", testPermissions},
		{"StrangeNames", testStrangeNames},
		{"EndedContext", testEndedContext},
		{"Splits", testSplits},
		{"SplitsOfTrees", testSplitsOfTrees},
		{"Output", testOutput},
		{"OutputExists", testOutputExists},
		{"OutputSecondAttempt", testOutputSecondAttempt},
		{"OutputConcurrentAttempts", testOutputConcurrentAttempts},
		{"OutputAbort", testOutputAbort},
		{"OutputAbortDuringTasks", testOutputAbortDuringTasks},
		{"OutputReplace", testOutputReplace},
		{"OutputAppend", testOutputAppend},
		{"OutputPartitions", testOutputPartitions},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := base + "/" + test.name
			require.NoError(t, files.MkdirAll(t.Context(), dir, 0o755))
			test.run(t, &fixture{files: files, dir: dir, ctx: storage.With(t.Context(), files)})
		})
	}
}

// fixture contains what each test of the suite needs. dir is the URI of a directory that only
// this test uses.
type fixture struct {
	files *storage.Files
	dir   string
	ctx   context.Context
}

func (f *fixture) path(name string) string { return f.dir + "/" + name }

// write creates a file in the test's directory and returns its URI.
func (f *fixture) write(t *testing.T, name string, content []byte, options ...storage.CreateOption) string {
	t.Helper()
	w, err := f.files.Create(f.ctx, f.path(name), options...)
	require.NoError(t, err)
	_, err = w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return f.path(name)
}

// read returns a file's content.
func (f *fixture) read(t *testing.T, path string) string {
	t.Helper()
	file, err := f.files.Open(f.ctx, path)
	require.NoError(t, err)
	content, err := io.ReadAll(file)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	return string(content)
}

// names returns the names of a directory's entries.
func (f *fixture) names(t *testing.T, path string) []string {
	t.Helper()
	infos, err := f.files.List(f.ctx, path)
	require.NoError(t, err)
	names := []string{}
	for _, info := range infos {
		names = append(names, info.Name)
	}
	return names
}

// lines returns all lines of the splits.
func (f *fixture) lines(t *testing.T, splits []storage.Split) []string {
	t.Helper()
	lines := []string{}
	for _, s := range splits {
		for line, err := range s.Lines(f.ctx) {
			require.NoError(t, err)
			lines = append(lines, string(line))
		}
	}
	return lines
}

// numbers returns a text of n lines. The tests choose n so that the text is longer than an HDFS
// packet and longer than a Writer's buffer.
func numbers(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "line %d of %d\n", i, n)
	}
	return b.Bytes()
}

func testWriteAndRead(t *testing.T, f *fixture) {
	content := numbers(50_000)
	path := f.write(t, "deep/below/text", content)
	require.Equal(t, string(content), f.read(t, path))

	file, err := f.files.Open(f.ctx, path)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	info := file.Stat()
	require.Equal(t, path, info.Path)
	require.Equal(t, "text", info.Name)
	require.Equal(t, int64(len(content)), info.Size)
	require.False(t, info.Dir)
	require.WithinDuration(t, time.Now(), info.ModTime, time.Hour)

	position, err := file.Seek(-10, io.SeekEnd)
	require.NoError(t, err)
	require.Equal(t, int64(len(content)-10), position)
	end, err := io.ReadAll(file)
	require.NoError(t, err)
	require.Equal(t, content[len(content)-10:], end)

	position, err = file.Seek(1000, io.SeekStart)
	require.NoError(t, err)
	require.Equal(t, int64(1000), position)
	middle := make([]byte, 100)
	_, err = file.ReadAt(middle, 200_000)
	require.NoError(t, err)
	require.Equal(t, content[200_000:200_100], middle)
	_, err = io.ReadFull(file, middle)
	require.NoError(t, err, "ReadAt does not move Read")
	require.Equal(t, content[1000:1100], middle)
	n, err := file.ReadAt(middle, int64(len(content)-7))
	require.Equal(t, 7, n)
	require.ErrorIs(t, err, io.EOF)
}

func testReadAtConcurrently(t *testing.T, f *fixture) {
	content := numbers(20_000)
	file, err := f.files.Open(f.ctx, f.write(t, "text", content))
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	results := make(chan error)
	const readers = 4
	for i := range readers {
		go func() {
			p := make([]byte, 5000)
			offset := i * 30_000
			_, err := file.ReadAt(p, int64(offset))
			if err == nil && !bytes.Equal(p, content[offset:offset+len(p)]) {
				err = fmt.Errorf("reader %d got other bytes", i)
			}
			results <- err
		}()
	}
	for range readers {
		require.NoError(t, <-results)
	}
}

func testEmptyFile(t *testing.T, f *fixture) {
	path := f.write(t, "empty", nil)
	require.Empty(t, f.read(t, path))
	splits, err := f.files.Splits(f.ctx, path, storage.SplitOptions{})
	require.NoError(t, err)
	require.Empty(t, splits)
}

func testCreateExclusively(t *testing.T, f *fixture) {
	path := f.write(t, "text", []byte("first"))
	_, err := f.files.Create(f.ctx, path)
	require.ErrorIs(t, err, fs.ErrExist)
	require.ErrorContains(t, err, path)
	require.Equal(t, "first", f.read(t, path))
	f.write(t, "text", []byte("second"), storage.Overwrite())
	require.Equal(t, "second", f.read(t, path))
}

func testAbortRemoves(t *testing.T, f *fixture) {
	for name, size := range map[string]int{"small": 10, "large": 1 << 20, "nothing": 0} {
		w, err := f.files.Create(f.ctx, f.path(name))
		require.NoError(t, err)
		_, err = w.Write(make([]byte, size))
		require.NoError(t, err)
		require.NoError(t, w.Abort())
		require.NoError(t, w.Abort())
		require.Error(t, w.Close(), "an aborted file cannot be completed")
	}
	require.Empty(t, f.names(t, f.dir))

	path := f.write(t, "kept", []byte("kept"))
	w, err := f.files.Create(f.ctx, path, storage.Overwrite())
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, w.Abort(), "an abort after the end does nothing")
	require.Empty(t, f.read(t, path))
}

func testFlushedIsVisible(t *testing.T, f *fixture) {
	const size = 1 << 20
	w, err := f.files.Create(f.ctx, f.path("growing"), storage.BlockSize(size))
	require.NoError(t, err)
	require.NoError(t, w.Flush(), "of an empty file")
	var want bytes.Buffer
	for _, n := range []int{1, 700, size - 701, 1, 2*size - 1, 100} { // the third and the fifth write end at the end of a block
		part := bytes.Repeat([]byte{byte('a' + n%26)}, n)
		want.Write(part)
		_, err := w.Write(part)
		require.NoError(t, err)
		require.NoError(t, w.Flush())
		require.Equal(t, want.String(), f.read(t, f.path("growing")), "after %d bytes", want.Len())
	}
	require.NoError(t, w.Close())
	require.Equal(t, want.String(), f.read(t, f.path("growing")))
}

func testAbandonKeepsWhatWasFlushed(t *testing.T, f *fixture) {
	w, err := f.files.Create(f.ctx, f.path("abandoned"))
	require.NoError(t, err)
	_, err = w.WriteString("kept")
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	require.NoError(t, w.Abandon())
	require.NoError(t, w.Abort(), "does nothing")
	require.Error(t, w.Close())
	require.Equal(t, "kept", f.read(t, f.path("abandoned")))
}

func testMissing(t *testing.T, f *fixture) {
	path := f.path("missing")
	_, openErr := f.files.Open(f.ctx, path)
	_, statErr := f.files.Stat(f.ctx, path)
	_, listErr := f.files.List(f.ctx, path)
	_, splitErr := f.files.Splits(f.ctx, path, storage.SplitOptions{})
	for operation, err := range map[string]error{
		"open": openErr, "stat": statErr, "list": listErr, "splits": splitErr,
		"remove": f.files.Remove(f.ctx, path),
		"rename": f.files.Rename(f.ctx, path, f.path("other")),
		"times":  f.files.SetTimes(f.ctx, path, time.Time{}, time.Now()),
	} {
		require.ErrorIs(t, err, fs.ErrNotExist, operation)
		require.ErrorContains(t, err, path, operation)
	}
	require.NoError(t, f.files.RemoveAll(f.ctx, path))
	exists, err := f.files.Exists(f.ctx, path)
	require.NoError(t, err)
	require.False(t, exists)
}

func testDirectories(t *testing.T, f *fixture) {
	require.NoError(t, f.files.MkdirAll(f.ctx, f.path("a/b"), 0o755))
	require.NoError(t, f.files.MkdirAll(f.ctx, f.path("a/b"), 0o755))
	f.write(t, "a/z", nil)
	f.write(t, "a/c", []byte("four"))
	infos, err := f.files.List(f.ctx, f.path("a"))
	require.NoError(t, err)
	require.Len(t, infos, 3)
	require.Equal(t, []string{"b", "c", "z"}, f.names(t, f.path("a")))
	require.Equal(t, f.path("a/b"), infos[0].Path)
	require.True(t, infos[0].Dir)
	require.True(t, infos[0].Mode.IsDir())
	require.False(t, infos[1].Dir)
	require.Equal(t, int64(4), infos[1].Size)

	_, err = f.files.Open(f.ctx, f.path("a"))
	require.ErrorContains(t, err, "is a directory")
	_, err = f.files.List(f.ctx, f.path("a/c"))
	require.ErrorContains(t, err, "not a directory")
	require.Error(t, f.files.MkdirAll(f.ctx, f.path("a/c"), 0o755), "a file is in the way")
	_, err = f.files.Create(f.ctx, f.path("a/c/below"))
	require.Error(t, err, "a file is in the way")

	_, err = f.files.Create(f.ctx, f.path("missing/file"), storage.ExistingParent())
	require.ErrorIs(t, err, fs.ErrNotExist)
	exists, err := f.files.Exists(f.ctx, f.path("missing"))
	require.NoError(t, err)
	require.False(t, exists)
}

func testRenameNeverOverwrites(t *testing.T, f *fixture) {
	file := f.write(t, "file", []byte("file"))
	other := f.write(t, "other", []byte("other"))
	require.NoError(t, f.files.MkdirAll(f.ctx, f.path("dir"), 0o755))
	require.NoError(t, f.files.MkdirAll(f.ctx, f.path("empty"), 0o755))
	for _, rename := range [][2]string{{file, other}, {file, f.path("empty")}, {f.path("dir"), f.path("empty")}, {f.path("dir"), file}} {
		err := f.files.Rename(f.ctx, rename[0], rename[1])
		require.ErrorIs(t, err, fs.ErrExist, rename)
		require.ErrorContains(t, err, rename[1])
	}
	require.ErrorIs(t, f.files.Rename(f.ctx, file, f.path("no/where")), fs.ErrNotExist)
	require.NoError(t, f.files.Rename(f.ctx, file, f.path("dir/moved")))
	require.NoError(t, f.files.Rename(f.ctx, f.path("dir"), f.path("directory")))
	require.Equal(t, "file", f.read(t, f.path("directory/moved")))
	require.Equal(t, []string{"directory", "empty", "other"}, f.names(t, f.dir))
}

func testRemove(t *testing.T, f *fixture) {
	f.write(t, "dir/file", nil)
	require.Error(t, f.files.Remove(f.ctx, f.path("dir")), "the directory is not empty")
	require.NoError(t, f.files.RemoveAll(f.ctx, f.path("dir")))
	require.NoError(t, f.files.MkdirAll(f.ctx, f.path("dir"), 0o755))
	require.NoError(t, f.files.Remove(f.ctx, f.path("dir")))
	require.Empty(t, f.names(t, f.dir))
}

func testSetTimes(t *testing.T, f *fixture) {
	path := f.write(t, "file", nil)
	modified := time.Date(2020, 2, 3, 4, 5, 6, 789e6, time.UTC)
	require.NoError(t, f.files.SetTimes(f.ctx, path, time.Time{}, modified))
	info, err := f.files.Stat(f.ctx, path)
	require.NoError(t, err)
	require.True(t, info.ModTime.Equal(modified), "%v", info.ModTime)
	require.NoError(t, f.files.SetTimes(f.ctx, path, modified.Add(time.Hour), time.Time{}))
	info, err = f.files.Stat(f.ctx, path)
	require.NoError(t, err)
	require.True(t, info.ModTime.Equal(modified), "%v", info.ModTime)
	require.True(t, info.AccessTime.Equal(modified.Add(time.Hour)), "%v", info.AccessTime)

	require.NoError(t, f.files.SetTimes(f.ctx, f.dir, time.Time{}, modified))
	info, err = f.files.Stat(f.ctx, f.dir)
	require.NoError(t, err)
	require.True(t, info.ModTime.Equal(modified), "directories have times, too: %v", info.ModTime)

	path = f.path("open")
	w, err := f.files.Create(f.ctx, path)
	require.NoError(t, err)
	_, err = w.Write([]byte("before"))
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	require.NoError(t, f.files.SetTimes(f.ctx, path, time.Time{}, modified))
	info, err = f.files.Stat(f.ctx, path)
	require.NoError(t, err)
	require.True(t, info.ModTime.Equal(modified), "a file has times while it is written: %v", info.ModTime)
	_, err = w.Write([]byte(", after"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Equal(t, "before, after", f.read(t, path))
}

func testPermissions(t *testing.T, f *fixture) {
	require.NoError(t, f.files.MkdirAll(f.ctx, f.path("private"), 0o700))
	f.write(t, "private/secret", nil, storage.Perm(0o600))
	for name, want := range map[string]fs.FileMode{"private": fs.ModeDir | 0o700, "private/secret": 0o600} {
		info, err := f.files.Stat(f.ctx, f.path(name))
		require.NoError(t, err)
		require.Equal(t, want, info.Mode, name)
	}
}

func testStrangeNames(t *testing.T, f *fixture) {
	for _, name := range []string{"a b", "100%", "a%20b", "ü", "a?b#c", "x=1", "..."} {
		path := f.write(t, name, []byte(name))
		require.Equal(t, name, f.read(t, path))
		qualified, err := f.files.Qualify(path)
		require.NoError(t, err)
		require.Equal(t, path, qualified)
		infos, err := f.files.List(f.ctx, f.dir)
		require.NoError(t, err)
		require.Len(t, infos, 1)
		require.Equal(t, path, infos[0].Path)
		require.NoError(t, f.files.Remove(f.ctx, path))
	}
}

func testEndedContext(t *testing.T, f *fixture) {
	path := f.write(t, "text", numbers(50_000))
	ctx, cancel := context.WithCancel(f.ctx)
	file, err := f.files.Open(ctx, path)
	require.NoError(t, err)
	_, err = io.ReadFull(file, make([]byte, 10))
	require.NoError(t, err)
	w, err := f.files.Create(ctx, f.path("half"))
	require.NoError(t, err)
	_, err = w.Write(numbers(20_000))
	require.NoError(t, err)
	cancel()
	_, err = io.Copy(io.Discard, file)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, path)
	require.NoError(t, file.Close())
	require.ErrorIs(t, w.Close(), context.Canceled)
	_, err = f.files.Stat(ctx, path)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"text"}, f.names(t, f.dir), "what could not be completed is removed")
}

func testSplits(t *testing.T, f *fixture) {
	content := numbers(100_000)
	path := f.write(t, "text", content, storage.BlockSize(1<<20))
	want := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	for _, size := range []int64{0, 1 << 20, 700_000, 3 << 20} {
		splits, err := f.files.Splits(f.ctx, path, storage.SplitOptions{Size: size})
		require.NoError(t, err)
		var next int64
		for _, s := range splits {
			require.Equal(t, path, s.Path)
			require.Equal(t, next, s.Offset)
			require.Equal(t, strings.HasPrefix(path, "hdfs://"), len(s.Hosts) > 0, "blocks have hosts, local files have none")
			require.Equal(t, s.Hosts, s.PreferredHosts())
			next += s.Length
		}
		require.Equal(t, int64(len(content)), next)
		require.Equal(t, want, f.lines(t, splits))
	}
}

func testSplitsOfTrees(t *testing.T, f *fixture) {
	f.write(t, "in/b", []byte("b\n"))
	f.write(t, "in/a/2", []byte("a2\n"))
	f.write(t, "in/a/1", []byte("a1\n"))
	f.write(t, "in/empty", nil)
	f.write(t, "in/_SUCCESS", []byte("hidden\n"))
	f.write(t, "in/.hidden/file", []byte("hidden\n"))
	for i := range 30 {
		f.write(t, fmt.Sprintf("in/deep/%02d/deeper/file", i), fmt.Appendf(nil, "deep %02d\n", i))
	}
	splits, err := f.files.Splits(f.ctx, f.path("in"), storage.SplitOptions{})
	require.NoError(t, err)
	want := []string{"a1", "a2", "b"}
	for i := range 30 {
		want = append(want, fmt.Sprintf("deep %02d", i))
	}
	require.Equal(t, want, f.lines(t, splits))
	require.Equal(t, f.path("in/a/1"), splits[0].Path)
	splits, err = f.files.Splits(f.ctx, f.path("in/_SUCCESS"), storage.SplitOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"hidden"}, f.lines(t, splits), "a hidden file that is named is read")
}
