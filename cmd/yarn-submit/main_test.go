package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// asCommand is an environment variable that makes this test binary run as yarn-submit.
const asCommand = "YARN_SUBMIT_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, config.EnvironmentPrefix) || strings.HasPrefix(name, "HADOOP_") || strings.HasPrefix(name, "YARN_CONF") {
			os.Unsetenv(name)
		}
	}
	os.Exit(withoutDefaults(m.Run))
}

// withoutDefaults runs tests with an empty defaults file, so that the defaults files of this
// machine and its user have no effect.
func withoutDefaults(tests func() int) int {
	directory, err := os.MkdirTemp("", "yarn-submit-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(directory)
	if err := errors.Join(os.WriteFile(filepath.Join(directory, "bobbin-defaults.conf"), nil, 0o600), os.Setenv("BOBBIN_CONF_DIR", directory)); err != nil {
		panic(err)
	}
	return tests()
}

// run executes a command line in this process.
func run(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = execute(args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestWrongUsage(t *testing.T) {
	text := filepath.Join(t.TempDir(), "notes")
	require.NoError(t, os.WriteFile(text, []byte("#!/bin/sh\n"), 0o700))
	for _, test := range []struct {
		args []string
		want string // text that the last line of stderr must contain
	}{
		{nil, "no command: want one of"},
		{[]string{"sumbit"}, `unknown command "sumbit", did you mean submit?`},
		{[]string{"submit"}, "no program to submit"},
		{[]string{"submit", "--num-executor", "2", "x"}, "unknown flag --num-executor, did you mean --num-executors?"},
		{[]string{"submit", "--jars", "a.jar", "y"}, "unknown flag --jars"},
		{[]string{"submit", "--conf", "executor.memroy=1g", "x"}, `unknown key "executor.memroy", did you mean executor.memory?`},
		{[]string{"submit", "--conf", "spark.executor.memory=1g", "x"}, `write "executor.memory"`},
		{[]string{"submit", "--conf", "nothing", "x"}, "want key=value"},
		{[]string{"submit", "--executor-memory", "lots", "x"}, `executor.memory="lots" (from the command line): want a size such as 512m or 2g`},
		{[]string{"submit", "--properties-file", "/does/not/exist", "x"}, "/does/not/exist"},
		{[]string{"submit", "--deploy-mode", "clinet", "x"}, "want one of cluster, client, did you mean client?"},
		{[]string{"submit", "--deploy-mode", "client", text}, "run it as a command"},
		{[]string{"submit", "--master", "yran", "x"}, "did you mean yarn?"},
		{[]string{"submit", "--master", "local-cluster[1,1,512]", "--json", "x"}, "--json: with the driver in this process"},
		{[]string{"submit", "--master", "bobbin://h", "--deploy-mode", "client", "x"}, "the program x does not exist"},
		{[]string{"submit", "--master", "bobbin://", "x"}, "it names no host"},
		{[]string{"status", "--master", "bobbin://h:x", "app-1"}, "is no port"},
		{[]string{"master", "--conf", "worker.timeout=0"}, `worker.timeout="0" (from the command line): want 1s or more`},
		{[]string{"worker", "--conf", "worker.cleanup.interval=0", "bobbin://h"}, "want 1ms or more"},
		{[]string{"submit", "--master", "mesos://h", "x"}, "want yarn, bobbin://HOST:PORT[,HOST:PORT], local, local[N]"},
		{[]string{"submit", text}, "set HADOOP_CONF_DIR"},
		{[]string{"run", "--tasks", "2"}, "no command to run"},
		{[]string{"run", "--", "./x"}, "--tasks N"},
		{[]string{"run", "--tasks", "2", "--retries", "-2", "--", "./x"}, "--retries"},
		{[]string{"status"}, "want application-id"},
		{[]string{"status", "a", "b"}, "want application-id"},
		{[]string{"status", "application_1700000000000_0001"}, "set HADOOP_CONF_DIR"},
		{[]string{"decommission", "--master", "bobbin://h"}, "want the id or host of a worker"},
		{[]string{"decommission", "node-7"}, "give --master bobbin://HOST:PORT; nodes of YARN are decommissioned with"},
		{[]string{"logs", "--tails", "1", "x"}, "did you mean --tail?"},
	} {
		code, stdout, stderr := run(test.args...)
		require.Equal(t, client.ExitUsage, code, "%v: %s", test.args, stderr)
		lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
		require.True(t, strings.HasPrefix(lines[len(lines)-1], "yarn-submit: "), stderr)
		require.Contains(t, lines[len(lines)-1], test.want)
		require.Empty(t, stdout)
	}
}

func TestVersionAndHelpNeedNoCluster(t *testing.T) {
	code, stdout, _ := run("version")
	require.Zero(t, code)
	require.True(t, strings.HasPrefix(stdout, "yarn-submit "), stdout)
	code, stdout, _ = run("version", "--json")
	require.Zero(t, code)
	require.Contains(t, stdout, `"platform": "linux/`)
	code, stdout, _ = run("submit", "--help")
	require.Zero(t, code)
	require.Contains(t, stdout, "--executor-memory SIZE")
	require.NotContains(t, stdout, hiddenRun)
}

func TestVerbosePrintsEverySettingAndItsSource(t *testing.T) {
	properties := filepath.Join(t.TempDir(), "bobbin.conf")
	require.NoError(t, os.WriteFile(properties, []byte("executor.cores 3\nexecutor.instances 7\n"), 0o600))
	t.Setenv("BOBBIN_EXECUTOR_MEMORY", "3g")
	_, _, stderr := run("submit", "--verbose", "--properties-file", properties, "--num-executors", "4", "--conf", "executorEnv.A=b", "x")
	for _, want := range []string{
		"executor.memory=3g  (environment variable BOBBIN_EXECUTOR_MEMORY)\n", "executor.cores=3  (" + properties + ":1)\n",
		"executor.instances=4  (the command line)\n", "task.maxFailures=4  (default)\n", "executorEnv.A=b  (the command line)\n",
	} {
		require.Contains(t, stderr, want)
	}
}

// ownProcess returns a command that runs this test binary as yarn-submit in a new process.
func ownProcess(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asCommand+"=1")
	return c
}

func TestLocalMasterRunsTheProgramInPlace(t *testing.T) {
	c := ownProcess("submit", "--master", "local[2]", "--executor-cores", "3", "--conf", "executorEnv.GREETING=hi there", "--conf", "hadoop.dfs.replication=1",
		"/bin/sh", "-c", `echo "$BOBBIN_LAUNCH_PROPERTIES $GREETING $1"; exit 9`, "name", "--flag")
	output, err := c.Output()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 9, exit.ExitCode())
	require.Equal(t, `{"executor.cores":"3","executorEnv.GREETING":"hi there","hadoop.dfs.replication":"1","master":"local[2]"} hi there --flag`+"\n", string(output))

	output, err = ownProcess("submit", "--master", "local", "/does/not/exist").CombinedOutput()
	require.ErrorAs(t, err, &exit)
	require.Equal(t, client.ExitUsage, exit.ExitCode())
	require.Contains(t, string(output), "/does/not/exist")
}

func TestRunOnThisMachineSucceeds(t *testing.T) {
	output, err := ownProcess("run", "--master", "local[2]", "--tasks", "2", "--", "echo", "task {index} of {tasks}").Output()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	require.ElementsMatch(t, []string{"task 0 of 2", "task 1 of 2"}, lines)
}

func TestRunShipsACommandThatIsAFileHere(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("tools", 0o700))
	require.NoError(t, os.WriteFile("tools/count.sh", []byte("#!/bin/sh\n"), 0o600))
	settings, err := config.Load(config.Sources{Flags: map[string]string{"yarn.files": "data.txt"}})
	require.NoError(t, err)
	for _, test := range []struct{ command, want, files, name string }{
		{"tools/count.sh", "./count.sh", "data.txt,tools/count.sh", "count.sh"},
		{"./tools/count.sh", "./count.sh", "data.txt,./tools/count.sh", "count.sh"},
		{"/bin/echo", "/bin/echo", "data.txt", "echo"},
		{"count.sh", "count.sh", "data.txt", "count.sh"},
		{"./missing.sh", "./missing.sh", "data.txt", "missing.sh"},
	} {
		args, changed, err := shipCommand([]string{test.command, "{index}"}, settings)
		require.NoError(t, err)
		require.Equal(t, []string{test.want, "{index}"}, args)
		require.Equal(t, test.files, strings.Join(config.Files.In(changed), ","))
		require.Equal(t, test.name, config.AppName.In(changed))
	}
}

func TestRunReturnsTheCommandsStatus(t *testing.T) {
	failed := errors.New("application_1 failed")
	for diagnostics, want := range map[string]int{
		"command: task 3 exited with status 7\noutput": 7,
		"command: task 3 exited with status 200\n":     client.ExitFailed,
		"something else": client.ExitFailed,
	} {
		err := withCommandStatus(&client.Report{Diagnostics: diagnostics}, failed)
		require.ErrorIs(t, err, failed)
		var carried *commandStatus
		if errors.As(err, &carried) {
			require.Equal(t, want, carried.status)
		} else {
			require.Equal(t, want, client.ExitFailed, diagnostics)
		}
	}
	require.NoError(t, withCommandStatus(&client.Report{}, nil))
	require.Equal(t, failed, withCommandStatus(nil, failed))
}

func TestVersionFlag(t *testing.T) {
	_, command, _ := run("version")
	code, flag, _ := run("--version")
	require.Equal(t, 0, code)
	require.Equal(t, command, flag)
}

// TestHint checks that the error for a cluster that does not answer names the configuration that
// contains the cluster's address.
func TestHint(t *testing.T) {
	t.Setenv("HADOOP_CONF_DIR", "/etc/hadoop")
	away := &yarnrest.UnavailableError{Service: "ResourceManager"}
	require.Contains(t, hint(fmt.Errorf("listing: %w", away)), "yarn-site.xml in HADOOP_CONF_DIR=/etc/hadoop names its address")
	require.Empty(t, hint(&yarnrest.UnavailableError{Service: "NodeManager"}))
	require.Empty(t, hint(&yarnrest.UnavailableError{Service: "ResourceManager", Context: context.Canceled}), "the user ended it")
	require.Empty(t, hint(errors.New("other")))
}
