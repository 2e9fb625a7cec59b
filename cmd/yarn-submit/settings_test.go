package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// withDefaults writes a defaults file, which the processes of the test read, and returns its path.
func withDefaults(t *testing.T, text string) string {
	t.Helper()
	directory := directoryWith(t, map[string]string{"bobbin-defaults.conf": text})
	t.Setenv("BOBBIN_CONF_DIR", directory)
	return filepath.Join(directory, "bobbin-defaults.conf")
}

func TestSettingsAreShownWithoutSecrets(t *testing.T) {
	const secret, password = "0123456789abcdef", "hunter2"
	withDefaults(t, "authenticate.secret "+secret+"\nexecutorEnv.DB_PASSWORD "+password+"\nexecutorEnv.TZ UTC\n")
	directory := directoryWith(t, map[string]string{"job.yaml": "environment: {API_TOKEN: " + password + ", LANG: C}\nsteps: {a: {command: [x]}}\n"})
	for name, args := range map[string][]string{
		"verbose": {"submit", "--verbose", "--conf", "executorEnv.OPTIONS=--password " + password, "x"},
		"dry run": {"run", "job.yaml", "--dry-run", "--verbose"},
		"json":    {"run", "job.yaml", "--dry-run", "--json"},
		"error":   {"submit", "--conf", "executorEnv.MY-TOKEN=" + password, "x"},
		"no key":  {"master", "--conf", "authenticate.secret:" + secret},
	} {
		_, stdout, stderr := asProcess(t, directory, args...)
		require.Contains(t, stdout+stderr, config.Redacted, name)
		require.NotContains(t, stdout+stderr, secret, name)
		require.NotContains(t, stdout+stderr, password, name)
		if name != "error" && name != "no key" {
			require.Regexp(t, `executorEnv.TZ(=|": \{\s*"value": ")UTC`, stdout+stderr, name)
		}
		if name == "json" {
			var dry dryRun
			require.NoError(t, json.Unmarshal([]byte(stdout), &dry))
			require.Equal(t, map[string]string{"API_TOKEN": config.Redacted, "LANG": "C"}, dry.Plan.Steps[0].Environment)
		}
	}
}

func TestEveryCommandReadsTheDefaultsFile(t *testing.T) {
	path := withDefaults(t, "# of this site\n\nexecutor.memory lots\n")
	for _, args := range [][]string{
		{"submit", "x"}, {"run", "--tasks", "1", "x"}, {"status", "application_1_0001"}, {"logs", "application_1_0001"}, {"kill", "application_1_0001"},
		{"wait", "application_1_0001"}, {"list"}, {"master"}, {"worker", "bobbin://127.0.0.1:1"},
	} {
		code, _, stderr := asProcess(t, t.TempDir(), args...)
		require.Equal(t, client.ExitUsage, code, "%v: %s", args, stderr)
		require.Contains(t, stderr, `executor.memory="lots" (from `+path+`:3)`, args)
	}
}

func TestFlagsAndPropertiesFileOverrideTheDefaultsFile(t *testing.T) {
	path := withDefaults(t, "executor.cores 2\nexecutor.memory 2g\nyarn.queue site\n")
	directory := directoryWith(t, map[string]string{"mine.conf": "executor.memory 3g\n"})
	code, stdout, stderr := asProcess(t, directory, "run", "--dry-run", "--properties-file", "mine.conf", "--queue", "fast", "--tasks", "1", "--", "x")
	require.Equal(t, 0, code, stderr)
	for _, line := range []string{"executor.cores=2  (" + path + ":1)\n", "executor.memory=3g  (mine.conf:1)\n", "yarn.queue=fast  (the command line)\n"} {
		require.Contains(t, stdout, line)
	}
}

func TestTheDefaultsFileOfAUser(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, ".bobbin"), 0o700))
	path := filepath.Join(home, ".bobbin", "bobbin-defaults.conf")
	require.NoError(t, os.WriteFile(path, []byte("executor.instances 7\n"), 0o600))
	c := ownProcess("submit", "--verbose", "--master", "local", "/bin/true")
	c.Env = append(c.Env, "HOME="+home, "BOBBIN_CONF_DIR=")
	output, err := c.CombinedOutput()
	require.NoError(t, err, string(output))
	require.Contains(t, string(output), "executor.instances=7  ("+path+":1)\n")
}

// TestAJobOnThisMachineGetsTheDefaultsFile uses a defaults file with settings that have no effect
// on a local master.
func TestAJobOnThisMachineGetsTheDefaultsFile(t *testing.T) {
	withDefaults(t, "executorEnv.GREETING hello\nhadoop.dfs.replication 2\nyarn.queue batch\nmaster local[2]\n")
	code, stdout, stderr := asProcess(t, t.TempDir(), "run", "--tasks", "1", "--", "sh", "-c", "echo $GREETING")
	require.Equal(t, 0, code, stderr)
	require.Equal(t, "hello\n", stdout)
}
