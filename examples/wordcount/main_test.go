package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/integration/text"
	"github.com/bobbin-yarn/bobbin/storage"
)

func countLocally(t *testing.T, args ...string) error {
	t.Helper()
	return bobbin.RunLocal(t.Context(), "local[2]", func(ctx context.Context) error { return run(ctx, args) })
}

func TestTheCountsAreRight(t *testing.T) {
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	texts := map[string]string{
		"plain":   strings.Repeat("to be or not to be\n", 500),
		"odd":     "\xff\xfe a\u00a0b\u2003c\u0085d\r\n\x00 \x00\n\n\t" + strings.Repeat("long", 5000),
		"empty":   "",
		"_hidden": "not counted",
	}
	want := map[string]int64{}
	for name, content := range texts {
		require.NoError(t, os.WriteFile(filepath.Join(in, name), []byte(content), 0o600))
		if !strings.HasPrefix(name, "_") {
			for word, n := range text.Count([]byte(content)) {
				want[word] += n
			}
		}
	}
	require.NoError(t, countLocally(t, "-split", "1000", "file://"+in, "file://"+out))
	got, err := text.ReadCounts(t.Context(), storage.New(storage.Options{}), out)
	require.NoError(t, err)
	require.Empty(t, text.Difference(want, got))
	require.FileExists(t, filepath.Join(out, "part-00000"))

	require.ErrorIs(t, countLocally(t, "file://"+in, "file://"+out), fs.ErrExist, "an output is never overwritten")
}

func TestAFailedRunLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	require.ErrorIs(t, countLocally(t, "file://"+dir+"/missing", "file://"+dir+"/out"), fs.ErrNotExist)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestUsage(t *testing.T) {
	require.ErrorContains(t, countLocally(t, "only-one"), "usage: wordcount")
	require.Error(t, countLocally(t, "-unknown"))
}
