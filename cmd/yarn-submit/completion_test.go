package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// complete returns the completions of the last of words.
func complete(t *testing.T, words ...string) []string {
	t.Helper()
	t.Setenv("HADOOP_CONF_DIR", "")
	out := &bytes.Buffer{}
	require.Equal(t, 0, execute(append([]string{"__complete"}, words...), out, &bytes.Buffer{}))
	suggested, _, found := strings.Cut(out.String(), "\n:")
	if !found {
		return nil // the output contains only the completion directive
	}
	return strings.Split(suggested, "\n")
}

func TestCompletion(t *testing.T) {
	require.Contains(t, complete(t, "wa"), "wait\tFollow an application to its end, and end as it does")
	require.NotContains(t, strings.Join(complete(t, ""), "\n"), "__run")
	keys := complete(t, "submit", "--conf", "executor.c")
	require.Len(t, keys, 1)
	require.True(t, strings.HasPrefix(keys[0], "executor.cores=\t"), keys[0])
	require.Equal(t, []string{"cluster", "client"}, complete(t, "submit", "--deploy-mode", ""))
	require.Empty(t, complete(t, "status", "app"), "there is no cluster")
	require.Equal(t, []string{"bash", "zsh", "fish"}, complete(t, "completion", ""))
}

func TestCompletionScripts(t *testing.T) {
	for shell, word := range map[string]string{"bash": "__start_yarn-submit", "zsh": "#compdef yarn-submit", "fish": "complete -c yarn-submit"} {
		out := &bytes.Buffer{}
		require.Equal(t, 0, execute([]string{"completion", shell}, out, &bytes.Buffer{}))
		require.Contains(t, out.String(), word)
	}
	said := &bytes.Buffer{}
	require.Equal(t, 2, execute([]string{"completion", "csh"}, &bytes.Buffer{}, said))
	require.Contains(t, said.String(), `"csh" is none of bash, zsh, fish`)
}

func TestManualPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	require.Equal(t, 0, execute([]string{"man", dir}, &bytes.Buffer{}, &bytes.Buffer{}))
	for _, page := range []string{"yarn-submit.1", "yarn-submit-submit.1", "yarn-submit-wait.1"} {
		content, err := os.ReadFile(filepath.Join(dir, page))
		require.NoError(t, err)
		require.Contains(t, string(content), ".TH")
	}
	require.NoFileExists(t, filepath.Join(dir, "yarn-submit-__run.1"))
	logs, err := os.ReadFile(filepath.Join(dir, "yarn-submit-logs.1"))
	require.NoError(t, err)
	require.Contains(t, string(logs), ".TP\n\\fB--tail\\fP \\fIN\\fP\nonly the last N lines of each file\n")
	require.Contains(t, string(logs), ".TP\n\\fB-f\\fP, \\fB--follow\\fP \\fI\\fP\nprint lines")
}
