package storage_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/storage"
	"github.com/bobbin-yarn/bobbin/storage/storagetest"
)

func newFiles(t *testing.T, options storage.Options) *storage.Files {
	files := storage.New(options)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	return files
}

func TestLocalDisk(t *testing.T) {
	storagetest.Suite(t, newFiles(t, storage.Options{}), "file://"+t.TempDir()+"/base")
}

func TestQualify(t *testing.T) {
	wd, err := os.Getwd()
	require.NoError(t, err)
	hdfs := conf.FromMap(map[string]string{"fs.defaultFS": "hdfs://cluster1"})
	local := conf.FromMap(map[string]string{"fs.defaultFS": "file:///"})
	s3 := conf.FromMap(map[string]string{"fs.defaultFS": "s3a://bucket"})
	for _, test := range []struct {
		name   string
		hadoop *conf.Config
		path   string
		want   string
		err    string
	}{
		{name: "local", path: "/tmp/a", want: "file:///tmp/a"},
		{name: "relative", path: "a/../b", want: "file://" + wd + "/b"},
		{name: "colon", path: "a:b", want: "file://" + wd + "/a:b"},
		{name: "file scheme", path: "file:///tmp//a/", want: "file:///tmp/a"},
		{name: "short file scheme", path: "file:/tmp/a", want: "file:///tmp/a"},
		{name: "capitals", path: "FILE:///tmp/a", want: "file:///tmp/a"},
		{name: "localhost", path: "file://localhost/tmp/a", want: "file:///tmp/a"},
		{name: "two slashes", path: "file://tmp/a", err: "write file:///tmp/a"},
		{name: "empty", path: "", err: "the path is empty"},
		{name: "NUL", path: "a\x00b", err: "NUL"},
		{name: "no configuration", path: "hdfs://host/a", err: "set HADOOP_CONF_DIR"},
		{name: "unknown scheme", path: "s3a://bucket/a", err: `unknown scheme "s3a://"; known are file:// and hdfs://`},
		{name: "default HDFS", hadoop: hdfs, path: "/a", want: "hdfs://cluster1/a"},
		{name: "below home", hadoop: hdfs, path: "a", want: "hdfs://cluster1/user/ann/a"},
		{name: "no authority", hadoop: hdfs, path: "hdfs:///a", want: "hdfs://cluster1/a"},
		{name: "short scheme", hadoop: hdfs, path: "hdfs:/a", want: "hdfs://cluster1/a"},
		{name: "other HDFS", hadoop: hdfs, path: "hdfs://other:9000/a/./b", want: "hdfs://other:9000/a/b"},
		{name: "only a host", hadoop: hdfs, path: "hdfs://other:9000", want: "hdfs://other:9000/"},
		{name: "not above the root", hadoop: hdfs, path: "hdfs://other/../../a", want: "hdfs://other/a"},
		{name: "percent", hadoop: hdfs, path: "/a%20b c", want: "hdfs://cluster1/a%20b c"},
		{name: "local beside HDFS", hadoop: hdfs, path: "file:///a", want: "file:///a"},
		{name: "default local", hadoop: local, path: "/a", want: "file:///a"},
		{name: "no default HDFS", hadoop: local, path: "hdfs:///a", err: "write hdfs://host:port/a"},
		{name: "unknown default", hadoop: s3, path: "/a", err: "fs.defaultFS is s3a://bucket"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := newFiles(t, storage.Options{Hadoop: test.hadoop, User: "ann"})
			got, err := files.Qualify(test.path)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				require.ErrorContains(t, err, strings.Trim(strconv.Quote(test.path), `"`))
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func TestFromContextWithoutFiles(t *testing.T) {
	_, err := storage.From(t.Context()).Open(t.Context(), "/etc/hostname")
	require.ErrorContains(t, err, "carries no storage.Files")
	for _, err := range (storage.Split{Path: "/etc/hostname", Length: 1}).Lines(t.Context()) {
		require.ErrorContains(t, err, "carries no storage.Files")
	}
	require.ErrorContains(t, storage.Output{}.Commit(t.Context(), 0), "carries no storage.Files")
}

func TestClosedFiles(t *testing.T) {
	files := storage.New(storage.Options{})
	require.NoError(t, files.Close())
	_, err := files.Stat(t.Context(), "/tmp")
	require.ErrorIs(t, err, fs.ErrClosed)
}

func TestSplitAndOutputSurviveCBOR(t *testing.T) {
	split := storage.Split{Path: "hdfs://c/a", Offset: 1, Length: 2, Hosts: []string{"h1", "h2"}, Compression: "gzip"}
	output := storage.Output{Path: "hdfs://c/out", JobID: "job", Staging: "hdfs://c/.out.job/x"}
	encoded, err := cbor.Marshal(split)
	require.NoError(t, err)
	var gotSplit storage.Split
	require.NoError(t, cbor.Unmarshal(encoded, &gotSplit))
	require.Equal(t, split, gotSplit)
	encoded, err = cbor.Marshal(output)
	require.NoError(t, err)
	var gotOutput storage.Output
	require.NoError(t, cbor.Unmarshal(encoded, &gotOutput))
	require.Equal(t, output, gotOutput)
}

func TestRootIsNotRemoved(t *testing.T) {
	files := newFiles(t, storage.Options{})
	require.ErrorContains(t, files.RemoveAll(t.Context(), "/"), "root")
	_, err := files.NewOutput(t.Context(), "file:///", "job")
	require.ErrorContains(t, err, "root")
}

func TestInvalidArgumentsAreRefused(t *testing.T) {
	files := newFiles(t, storage.Options{})
	ctx := storage.With(t.Context(), files)
	path := filepath.Join(t.TempDir(), "a")
	require.NoError(t, os.WriteFile(path, []byte("a\n"), 0o600))
	_, err := files.Splits(ctx, path, storage.SplitOptions{Size: -1})
	require.ErrorContains(t, err, "must not be negative")
	for _, split := range []storage.Split{{Path: path, Offset: -1}, {Path: path, Length: -1}, {Path: path, Compression: "lzo"}} {
		_, err := split.Open(ctx)
		require.ErrorContains(t, err, path)
	}
	for _, id := range []string{"", "a/b", "..", "a b"} {
		_, err := files.NewOutput(ctx, path, id)
		require.ErrorContains(t, err, "job ID")
	}
}

func TestChangedInputIsNoticed(t *testing.T) {
	files := newFiles(t, storage.Options{})
	ctx := storage.With(t.Context(), files)
	dir := t.TempDir()
	plain, zipped := filepath.Join(dir, "a"), filepath.Join(dir, "a.gz")
	require.NoError(t, os.WriteFile(plain, []byte("one\ntwo\n"), 0o600))
	require.NoError(t, os.WriteFile(zipped, []byte("this is no gzip file"), 0o600))
	splits, err := files.Splits(ctx, dir, storage.SplitOptions{})
	require.NoError(t, err)
	require.Len(t, splits, 2)
	require.NoError(t, os.Truncate(plain, 5))
	for _, split := range splits {
		var last error
		for _, err := range split.Lines(ctx) {
			last = err
		}
		require.ErrorContains(t, last, split.Path)
	}
}

func TestSymbolicLinksInInput(t *testing.T) {
	files := newFiles(t, storage.Options{})
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "in", "deep"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "target"), []byte("a\n"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(dir, "target"), filepath.Join(dir, "in", "link")))
	splits, err := files.Splits(t.Context(), filepath.Join(dir, "in"), storage.SplitOptions{})
	require.NoError(t, err)
	require.Len(t, splits, 1, "what a link points to is read")

	loop := filepath.Join(dir, "in", "deep", "loop")
	require.NoError(t, os.Symlink(filepath.Join(dir, "in"), loop))
	_, err = files.Splits(t.Context(), filepath.Join(dir, "in"), storage.SplitOptions{})
	require.ErrorContains(t, err, "leads back")
	require.NoError(t, os.Remove(loop))
	require.NoError(t, os.Symlink("nowhere", loop))
	_, err = files.Splits(t.Context(), filepath.Join(dir, "in"), storage.SplitOptions{})
	require.ErrorContains(t, err, "not a regular file")
}

func TestCauseOfTheContextIsReported(t *testing.T) {
	stopped := errors.New("the job was stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	_, err := newFiles(t, storage.Options{}).Stat(ctx, "/tmp")
	require.ErrorIs(t, err, stopped)
}
