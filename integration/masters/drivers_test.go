//go:build integration

package masters

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
)

// standaloneCluster returns the master for drivers in a standalone cluster. It skips the test
// if BOBBIN_TEST_MASTERS does not select this master.
func standaloneCluster(t *testing.T) master {
	t.Helper()
	const name = "standalone-cluster"
	i := slices.IndexFunc(shared.masters, func(m master) bool { return m.name == name })
	if i < 0 {
		t.Skip(mastersVariable + " does not name " + name)
	}
	return shared.masters[i]
}

// runCommand runs a yarn-submit command with the standalone cluster as master, and waits for
// its end.
func runCommand(t *testing.T, command string, args ...string) outcome {
	t.Helper()
	return yarnSubmit(t, []string{"BOBBIN_MASTER=" + shared.url}, append([]string{command}, args...)...).wait(t)
}

// driverID waits until yarn-submit prints the driver's id, and returns the id.
func (s *submitted) driverID(t *testing.T) string {
	t.Helper()
	id := ""
	await(t, "the driver's id is on stdout", func() bool {
		line, _, whole := strings.Cut(s.stdout.String(), "\n")
		id = line
		return whole || s.hasEnded()
	})
	require.Regexp(t, `^driver-[\w-]+$`, id)
	return id
}

func TestStatusAndListShowADriverInTheCluster(t *testing.T) {
	m := standaloneCluster(t)
	done := m.run(t, append([]string{"--name", "quick"}, twoSmallExecutors...), "trouble", "succeed", "4")
	require.Zero(t, done.code)
	id := strings.TrimSpace(done.stdout)

	var report client.Report
	require.NoError(t, json.Unmarshal([]byte(runCommand(t, "status", "--json", id).stdout), &report))
	assert.Equal(t, []string{id, "quick", "FINISHED", "SUCCEEDED"}, []string{report.ApplicationID, report.Name, report.State, report.FinalStatus})

	var listed []client.ListedApplication
	require.NoError(t, json.Unmarshal([]byte(runCommand(t, "list", "--json", "--limit", "2").stdout), &listed))
	require.Len(t, listed, 2, "the driver and its application")
	assert.Equal(t, []string{"quick", "quick"}, []string{listed[0].Name, listed[1].Name})
	application := listed[0].ApplicationID
	require.Regexp(t, regexp.MustCompile(`^app-`), application, "it started later")

	logs := runCommand(t, "logs", id)
	require.Zero(t, logs.code)
	assert.Regexp(t, `==> stderr of the driver \(`+id+`, `, logs.stdout)
	assert.Contains(t, logs.stdout, application, "of its executors too")
	assert.Contains(t, logs.stdout, `msg="job ended"`)
}

func TestLogsFollowADriverInTheCluster(t *testing.T) {
	m := standaloneCluster(t)
	waiting := startWaitingProgram(t, m)
	id := waiting.driverID(t)
	following := yarnSubmit(t, []string{"BOBBIN_MASTER=" + shared.url}, "logs", "--follow", id)
	await(t, "what was said before is there", func() bool { return strings.Contains(following.stdout.String(), `msg="job submitted"`) })
	waiting.release(t)
	require.Zero(t, waiting.wait(t).code)
	followed := following.wait(t)
	require.Zero(t, followed.code)
	assert.Regexp(t, `(?m)^driver +\| .* msg="job ended" .*state=succeeded`, followed.stdout)
	assert.Regexp(t, `(?m)^executor \d+ +\| `, followed.stdout)
}

func TestSubmissionPrintsLogsOfItsDriverInTheCluster(t *testing.T) {
	m := standaloneCluster(t)
	done := m.run(t, append([]string{"--logs"}, twoSmallExecutors...), "trouble", "flaky", "1")
	require.Zero(t, done.code)
	assert.Regexp(t, `(?m)^driver +\| succeeded in try 1$`, done.stdout)
}

func TestIdempotencyKeyOfADriverInTheCluster(t *testing.T) {
	m := standaloneCluster(t)
	key := []string{"--idempotency-key", "a build of " + testMark(t)}
	waiting := startWaitingProgram(t, m, key...)
	again := m.submit(t, slices.Concat(twoSmallExecutors, key), "trouble", "succeed", "4")
	assert.Equal(t, waiting.driverID(t), again.driverID(t))
	waiting.release(t)
	require.Zero(t, again.wait(t).code)
	assert.Contains(t, again.stderr.String(), "was submitted with the same idempotency key")
	require.Zero(t, waiting.wait(t).code)
	late := m.run(t, slices.Concat(twoSmallExecutors, key), "trouble", "succeed", "4")
	require.Zero(t, late.code)
	assert.Equal(t, waiting.driverID(t), strings.TrimSpace(late.stdout))
}

func TestKillADriverInTheCluster(t *testing.T) {
	m := standaloneCluster(t)
	waiting := startWaitingProgram(t, m)
	id := waiting.driverID(t)
	require.Zero(t, runCommand(t, "kill", id).code)
	done := waiting.wait(t)
	assert.Equal(t, 1, done.code)
	assert.Contains(t, done.stderr, id+" was killed")
	await(t, "its executors end", func() bool { return len(executors(t)) == 0 })

	other := startWaitingProgram(t, m)
	id = other.driverID(t)
	require.NoError(t, other.command.Process.Signal(os.Interrupt))
	done = other.wait(t)
	assert.Equal(t, 1, done.code)
	assert.Contains(t, done.stderr, "interrupted (Ctrl-C): killing "+id)
	await(t, "its executors end", func() bool { return len(executors(t)) == 0 })
}

func TestSupervisedDriverIsRestarted(t *testing.T) {
	m := standaloneCluster(t)
	file := filepath.Join(t.TempDir(), "was-here")
	require.Equal(t, 1, m.run(t, twoSmallExecutors, "trouble", "second-time", file).code)
	require.NoError(t, os.Remove(file))
	require.Zero(t, m.run(t, append([]string{"--supervise"}, twoSmallExecutors...), "trouble", "second-time", file).code)
}

func TestYarnSubmitExitsWithTheCommandsStatus(t *testing.T) {
	m := standaloneCluster(t)
	args := slices.Concat([]string{"run"}, m.args, twoSmallExecutors, []string{"--executor-memory", "256m", "--driver-memory", "256m", "--tasks", "1", "--retries", "0", "--", "sh", "-c", "exit 9"})
	assert.Equal(t, 9, yarnSubmit(t, nil, args...).wait(t).code)
}

func TestUnknownIDsAndMastersAreRefused(t *testing.T) {
	standaloneCluster(t)
	unknown := runCommand(t, "status", "driver-none")
	assert.Equal(t, client.ExitCluster, unknown.code)
	assert.Contains(t, unknown.stderr, "driver-none")
	assert.Equal(t, client.ExitUsage, runCommand(t, "kill", "application_1_0001").code)
	away := yarnSubmit(t, nil, "list", "--master", "bobbin://127.0.0.1:1").wait(t)
	assert.Equal(t, client.ExitCluster, away.code)
	assert.Contains(t, away.stderr, "master 127.0.0.1:1 cannot be reached: is it running?")
}
