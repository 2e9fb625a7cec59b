//go:build integration

package acceptance

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// firstLine returns the first line of stdout, or "" if stdout is empty so far.
func (s *submitted) firstLine() string {
	select {
	case line := <-s.id:
		s.id <- line
		return line
	default:
		return ""
	}
}

// TestFollowedLogs pauses a NodeManager while tasks write lines, and checks that `logs
// --follow` prints each line once. This includes the last lines, for which `logs` must switch
// to HDFS, because log aggregation moves the files there as soon as the tasks end.
func TestFollowedLogs(t *testing.T) {
	t.Parallel()
	options := clusterOptions()
	options.Nodes = []cluster.NodeSpec{{Host: "127.0.0.91", Rack: "/one"}, {Host: "127.0.0.92", Rack: "/other"}}
	options.YARN = cluster.Properties{"yarn.log-aggregation-enable": "true", "yarn.nodemanager.remote-app-log-dir": "/logs"}
	own := ownCluster(t, options)
	environment := []string{"HADOOP_CONF_DIR=" + own.hadoop.ConfDir()}
	const tasks, lines = 4, 400
	done := commandLine{environment: environment, args: []string{"run", "--detach", "--tasks", "4", "--num-executors", "2", "--executor-cores", "2", "--",
		"sh", "-c", fmt.Sprintf(`i=0; while [ $i -lt %d ]; do echo "line $i of task {index}"; i=$((i+1)); sleep 0.02; done; printf 'no end of task {index}'`, lines)}}.run(t)
	require.Equal(t, 0, done.code)
	id := done.applicationID(t)

	following := commandLine{environment: environment, args: []string{"logs", "--follow", id}}.start(t)
	await(t, "lines come", func(context.Context) bool { return strings.Contains(following.firstLine(), " | ") })
	paused := own.hadoop.Nodes()[0].NodeManager
	require.NoError(t, syscall.Kill(paused.PID(), syscall.SIGSTOP))
	// The pause is at least as long as the timeout of one request of `logs --follow`.
	away := time.NewTimer(3 * time.Second)
	<-away.C
	require.NoError(t, syscall.Kill(paused.PID(), syscall.SIGCONT))

	followed := following.wait(t)
	require.Equal(t, 0, followed.code)
	seen := map[string]int{}
	form := regexp.MustCompile(`^(driver|executor [12])( task-\d-0\.out)? +\| (.*)$`)
	for line := range strings.Lines(followed.stdout) {
		parts := form.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if assert.NotNil(t, parts, "%q", line) && parts[2] != "" {
			seen[parts[3]]++
		}
	}
	for task := range tasks {
		for line := range lines {
			assert.Equal(t, 1, seen[fmt.Sprintf("line %d of task %d", line, task)], "line %d of task %d", line, task)
		}
		assert.Equal(t, 1, seen[fmt.Sprintf("no end of task %d", task)])
	}
	assert.Len(t, seen, tasks*(lines+1))

	asJSON := commandLine{environment: environment, args: []string{"logs", "--follow", "--json", id}}.run(t)
	assert.Equal(t, 0, asJSON.code)
	assert.Contains(t, asJSON.stdout, `"file":"task-3-0.out","line":"line 399 of task 3"}`)
	again := regexp.MustCompile(`"file":"task-\d-0\.out","line":"line \d+ of task \d"`).FindAllString(asJSON.stdout, -1)
	assert.Len(t, again, tasks*lines, "all is read again, from HDFS")
}

func TestRunPrintsTheLogsOfItsTasks(t *testing.T) {
	t.Parallel()
	done := yarnSubmit(t, "run", "--logs", "--tasks", "2", "--num-executors", "1", "--retries", "0", "--", "sh", "-c", "echo said by {index}; exit {index}")
	assert.Equal(t, 1, done.code, "the second task's")
	id, lines, _ := strings.Cut(done.stdout, "\n")
	assert.Regexp(t, `^application_\d+_\d+$`, id)
	for task := range 2 {
		assert.Equal(t, 1, strings.Count(lines, fmt.Sprintf("executor 1 task-%d-0.out | said by %[1]d\n", task)))
	}
	assert.Contains(t, lines, "driver ")
	assert.Equal(t, 2, yarnSubmit(t, "run", "--logs", "--detach", "--tasks", "1", "--", "true").code)
	assertNothingLeft(t, id)
}

func TestLogsInClientMode(t *testing.T) {
	t.Parallel()
	done := yarnSubmit(t, "submit", "--deploy-mode", "client", "--json", "--num-executors", "1", program("trouble"), "succeed", "1")
	require.Equal(t, 0, done.code)
	id := regexp.MustCompile(`application_\d+_\d+`).FindString(done.stdout)
	logs := yarnSubmit(t, "logs", id)
	require.Equal(t, 0, logs.code)
	assert.Contains(t, logs.stdout, "==> stderr of the launcher (container_")
	assert.NotContains(t, logs.stdout, "of the driver (")
}
