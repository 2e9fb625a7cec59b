package storage

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGlob(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a/1.log", "a/2.log", "a/x.txt", "b/1.log", "b/c/1.log", "b/_tmp/1.log", "_hidden/1.log", "a[1]/1.log", "file"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte("line\n"), 0o600))
	}
	files := New(Options{})
	defer func() { require.NoError(t, files.Close()) }()
	for pattern, want := range map[string][]string{
		"a/*.log":               {"a/1.log", "a/2.log"},
		"*/1.log":               {"_hidden/1.log", "a/1.log", "a[1]/1.log", "b/1.log"},
		"?/[2-9].log":           {"a/2.log"},
		"?/[^2-9].log":          {"a/1.log", "b/1.log"},
		"a/{1,x}.*":             {"a/1.log", "a/x.txt"},
		"{a,b/c}/1.log":         {"a/1.log", "b/c/1.log"},
		"{a/{1,2},b/{1,9}}.log": {"a/1.log", "a/2.log", "b/1.log"},
		"{a/*,a/1*}.log":        {"a/1.log", "a/2.log"},
		"*/*/1.log":             {"b/_tmp/1.log", "b/c/1.log"},
		"a[1]/1.log":            {"a[1]/1.log"}, // a directory of this name exists
		`a\[1\]/*`:              {"a[1]/1.log"},
		"file/*":                nil,
		"*/1.log/x":             nil,
		"nothing*":              nil,
		"[":                     nil,
	} {
		infos, err := files.Glob(t.Context(), root+"/"+pattern)
		if want == nil {
			require.Error(t, err, pattern)
			require.ErrorContains(t, err, "file://"+root)
			continue
		}
		require.NoError(t, err, pattern)
		var got []string
		for _, info := range infos {
			name, err := filepath.Rel("file://"+root, info.Path)
			require.NoError(t, err)
			got = append(got, name)
		}
		require.Equal(t, want, got, pattern)
	}
	_, err := files.Glob(t.Context(), root+"/nothing*")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "no file or directory matches")
	_, err = files.Glob(t.Context(), root+"/{a")
	require.ErrorContains(t, err, "not a valid pattern")
}

func TestSplitsOfAPatternSkipHiddenNames(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"1/a", "1/_a", "_2/a", "3"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte("line\n"), 0o600))
	}
	files := New(Options{})
	defer func() { require.NoError(t, files.Close()) }()
	for pattern, want := range map[string][]string{
		"*":   {"1/a", "3"},
		"*/*": {"1/a"},
		"_*":  {"_2/a"},
	} {
		splits, err := files.Splits(t.Context(), filepath.Join(root, pattern), SplitOptions{})
		require.NoError(t, err)
		var got []string
		for _, split := range splits {
			got = append(got, split.Path[len("file://"+root+"/"):])
		}
		require.Equal(t, want, got, pattern)
	}
	_, err := files.Splits(t.Context(), filepath.Join(root, "x*"), SplitOptions{})
	require.ErrorIs(t, err, fs.ErrNotExist)
}
