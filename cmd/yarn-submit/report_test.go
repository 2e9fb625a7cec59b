package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
)

func TestReportOfAnEndedApplication(t *testing.T) {
	directory := t.TempDir()
	writeLog(t, directory, "local-1", 1)
	file := filepath.Join(t.TempDir(), "report.html")
	code, stdout, stderr := run("report", "--dir", "file://"+directory, "local-1", "-o", file)
	require.Zero(t, code, stderr)
	require.Empty(t, stdout)
	report, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(report), "no such file")

	code, stdout, stderr = run("report", "--dir", "file://"+directory, "local-1", "-o", "-")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "no such file")
}

func TestReportsThatCannotBeWritten(t *testing.T) {
	directory := t.TempDir()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no directory": {[]string{"submit", "--report", directory + "/none/r.html", "./app"}, "its directory does not exist"},
		"detached":     {[]string{"submit", "--report", directory + "/r.html", "--detach", "./app"}, "use yarn-submit report after the end"},
		"no log":       {[]string{"submit", "--report", directory + "/r.html", "--conf", "eventLog.enabled=false", "./app"}, "eventLog.enabled is false"},
	} {
		code, _, stderr := run(test.args...)
		require.Equal(t, client.ExitUsage, code, name)
		require.Contains(t, stderr, test.want, name)
	}
}
