package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// script writes a shell script that the tests run as yarn-submit, and returns its path.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
	return path
}

func TestManualUsesTheSourcesTimeAndNoSettings(t *testing.T) {
	t.Setenv("BOBBIN_MASTER", "set by the builder")
	program := script(t, `case $1 in
man) echo "page of $SOURCE_DATE_EPOCH in $TZ for $BOBBIN_MASTER" >"$2/yarn-submit.1" ;;
completion) echo "for $2" ;;
esac
`)
	entries, err := manual(t.Context(), program, t.TempDir(), at)
	require.NoError(t, err)
	contents := map[string]string{}
	for _, e := range entries {
		contents[e.name] = string(e.content)
	}
	require.Equal(t, map[string]string{
		"man/yarn-submit.1":            "page of 1700000000 in UTC for \n",
		"completions/yarn-submit.bash": "for bash\n", "completions/yarn-submit.fish": "for fish\n", "completions/_yarn-submit": "for zsh\n",
	}, contents)
}

func TestManualFailsIfTheProgramWritesNone(t *testing.T) {
	_, err := manual(t.Context(), script(t, "exit 0\n"), t.TempDir(), at)
	require.ErrorContains(t, err, "yarn-submit man wrote no page")
	_, err = manual(t.Context(), script(t, "echo 'unknown command' >&2\nexit 2\n"), t.TempDir(), at)
	require.ErrorContains(t, err, "yarn-submit man: exit status 2: unknown command")
}
