//go:build kerberos

package kerberos

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// testCommands runs shell commands as tasks of a detached application, and then all yarn-submit
// commands that show something about an application.
func (s *kerberosCluster) testCommands(t *testing.T) {
	login := []string(nil)
	if s.shortTokens() {
		login = s.keytabFlags(cluster.Alice)
	}
	run := append([]string{
		"run", "--detach", "--collect", "*.txt=out", "--num-executors", "1", "--tasks", "2", "--name", "commands", "--idempotency-key", "once",
	}, login...)
	run = append(run, "--", "sh", "-c", "echo said {index}; echo {index} > {index}.txt")
	r := s.run(t, run...)
	require.Equal(t, 0, r.code, r.stderr)
	s.submitted++
	id := strings.TrimSpace(r.stdout)
	r = s.run(t, run...)
	require.Equal(t, 0, r.code, r.stderr)
	require.Equal(t, id, strings.TrimSpace(r.stdout), "it has the same idempotency key")

	workspace := t.TempDir()
	r = s.runIn(t, workspace, nil, "wait", "--collect", "*.txt=out", id)
	require.Equal(t, 0, r.code, r.stderr)
	for name, want := range map[string]string{"out/0/0.txt": "0\n", "out/1/1.txt": "1\n"} {
		content, err := os.ReadFile(filepath.Join(workspace, name))
		require.NoError(t, err)
		require.Equal(t, want, string(content))
	}

	for _, args := range [][]string{
		{"put", filepath.Join(workspace, "out"), "/user/alice/copied"},
		{"cat", "/user/alice/copied/*/1.txt"},
		{"rm", "-r", "/user/alice/copied"},
	} {
		r = s.run(t, append([]string{"fs"}, args...)...)
		require.Equal(t, 0, r.code, r.stderr)
		if args[0] == "cat" {
			require.Equal(t, "1\n", r.stdout)
		}
	}

	r = s.run(t, "logs", id)
	require.Equal(t, 0, r.code, r.stderr)
	require.Contains(t, r.stdout, "said 0")
	require.Contains(t, r.stdout, "said 1")
	if s.options.YARN["yarn.log-aggregation-enable"] == "true" {
		s.testAggregatedLogsAreHidden(t, id)
	}
	r = s.run(t, "status", "--json", id)
	require.Equal(t, 0, r.code, r.stderr)
	var status struct {
		User, State, FinalStatus string
		Times                    struct{ Submitted, Finished time.Time }
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &status))
	require.Equal(t, cluster.Alice, status.User)
	require.Equal(t, "FINISHED SUCCEEDED", status.State+" "+status.FinalStatus)
	require.False(t, status.Times.Submitted.IsZero())
	require.True(t, status.Times.Finished.After(status.Times.Submitted))
	r = s.run(t, "list", "--json", "--name", "commands", "--state", "FINISHED")
	require.Equal(t, 0, r.code, r.stderr)
	var listed []struct {
		ApplicationID string
		Started       time.Time
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &listed))
	require.Len(t, listed, 1)
	require.Equal(t, id, listed[0].ApplicationID)
	require.True(t, status.Times.Submitted.Equal(listed[0].Started))
	s.testCommandsOfAJobFile(t)
}

// testCommandsOfAJobFile submits a job file, and runs commands about the application while it runs and
// when it has ended.
func (s *kerberosCluster) testCommandsOfAJobFile(t *testing.T) {
	dir := t.TempDir()
	release, job, lines := filepath.Join(dir, "release"), filepath.Join(dir, "job.yaml"), filepath.Join(dir, "lines")
	require.NoError(t, os.WriteFile(job, []byte("name: described\nsteps:\n  wait:\n    command: until test -e "+release+"; do sleep 0.1; done; echo released\n"), 0o600))
	require.NoError(t, os.WriteFile(lines, []byte("b\na\nb\n"), 0o600))
	login := []string{"--num-executors", "1"}
	if s.shortTokens() {
		login = append(login, s.keytabFlags(cluster.Alice)...)
	}
	r := s.run(t, append([]string{"run", "--detach", job}, login...)...)
	require.Equal(t, 0, r.code, r.stderr)
	s.submitted++
	id := strings.TrimSpace(r.stdout)
	require.Equal(t, id, s.running(t, "described"))

	var following sync.WaitGroup
	defer following.Wait()
	var followed commandResult
	following.Go(func() { followed = s.run(t, "logs", "--follow", id) })
	profile := s.run(t, "profile", "--driver", "--type", "heap", "-o", filepath.Join(dir, "heap"), id)
	targets := s.run(t, "metrics-sd")
	require.NoError(t, os.WriteFile(release, nil, 0o600))
	require.Equal(t, 0, profile.code, profile.stderr)
	require.Equal(t, 0, targets.code, targets.stderr)
	require.Contains(t, targets.stdout, `"application_id": "`+id+`"`)
	following.Wait()
	require.Equal(t, 0, followed.code, followed.stderr)
	require.Contains(t, followed.stdout, "released")

	s.submitted++
	for _, command := range []struct {
		args []string
		want string // expected text on stdout
	}{
		{[]string{"wait", id}, ""},
		{[]string{"history", "--json"}, id},
		{[]string{"report", "-o", "-", id}, id},
		{[]string{"fs", "put", lines, "/user/alice/lines"}, ""},
		{append(append([]string{"stream"}, login...), "--map", "cat", "--reduce", "wc -l", "/user/alice/lines", "/user/alice/streamed"), ""},
		{[]string{"fs", "cat", "/user/alice/streamed/part-*"}, "3"},
		{[]string{"fs", "rm", "-r", "/user/alice/streamed"}, ""},
	} {
		r := s.run(t, command.args...)
		require.Equal(t, 0, r.code, "%v: %s", command.args, r.stderr)
		require.Contains(t, r.stdout, command.want, command.args)
	}
}
