package logs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
)

// archived returns a directory with a file of aggregated logs, which a NodeManager of Hadoop 3.4
// has written, and the id of the application.
func archived(t *testing.T, format, layout string) (root, application string) {
	t.Helper()
	root = t.TempDir()
	application, bring := aggregated(t, root, format, layout)
	bring()
	return root, application
}

// aggregated is like archived, but the file exists only after bring was called.
func aggregated(t *testing.T, root, format, layout string) (application string, bring func()) {
	t.Helper()
	found, err := filepath.Glob("../../internal/hadoop/aggregatedlog/testdata/" + format + ".*")
	require.NoError(t, err)
	require.Len(t, found, 1)
	content, err := os.ReadFile(found[0])
	require.NoError(t, err)
	_, application, _ = strings.Cut(filepath.Base(found[0]), ".")
	return application, func() {
		dir := filepath.Join(root, "ann", layout, application)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "h1_45454"), content, 0o644))
	}
}

func TestAggregatedLogsOfAForgottenApplication(t *testing.T) {
	for format, layout := range map[string]string{
		"tfile-none": "bucket-logs-tfile/0001", "tfile-gz": "logs", "indexed-gz": "bucket-logs-ifile/0001",
	} {
		t.Run(format, func(t *testing.T) {
			root, id := archived(t, format, layout)
			f := newFakeYARN(t)
			cluster := f.cluster(map[string]string{"yarn.nodemanager.remote-app-log-dir": root})
			var files []string
			out := &bytes.Buffer{}
			err := cluster.Logs(t.Context(), id, Selection{Tail: 1}, client.NewConsole(out), func(file File, content io.Reader) error {
				text, err := io.ReadAll(content)
				files = append(files, fmt.Sprintf("%s %s %d %s: %s", file.Executor, file.Name, file.Attempt, file.Host, text))
				return err
			})
			require.NoError(t, err)
			require.Equal(t, []string{
				"driver stdout 1 h1:45454: ", "1 stdout 1 h1:45454: ",
				"1 task-0-0.out 1 h1:45454: line 300 of task 0\n", "1 task-1-0.out 1 h1:45454: line 300 of task 1\n",
			}, withoutOutput(files))
			require.Empty(t, out.String())
		})
	}
}

// withoutOutput removes the driver's stdout from the text of each file.
func withoutOutput(files []string) []string {
	for i, file := range files {
		if strings.HasPrefix(file, "driver stdout") {
			files[i] = "driver stdout 1 h1:45454: "
		}
	}
	return files
}

func TestArchiveSkipsIncompleteFiles(t *testing.T) {
	root, id := archived(t, "indexed-gz", "bucket-logs-ifile/0001")
	dir := filepath.Join(root, "ann", "bucket-logs-ifile", "0001", id)
	for name, content := range map[string]string{"h2_45454.tmp": "", "h3_45454": "just begun", "h4_1.har": ""} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	out := &bytes.Buffer{}
	told := func(warning string) { out.WriteString(warning) }
	cluster := newFakeYARN(t).cluster(map[string]string{"yarn.nodemanager.remote-app-log-dir": root})
	a, err := cluster.openArchive(t.Context(), id, "", told)
	require.NoError(t, err)
	require.Len(t, a.nodes, 1, "files that are being written are left out")
	require.Len(t, a.containers(), 2)
	require.Contains(t, out.String(), "h4_1.har is a Hadoop archive")
	require.NoError(t, a.close())

	a, err = cluster.openArchive(t.Context(), id, "bob", told)
	require.NoError(t, err)
	require.Empty(t, a.containers(), "the logs are another user's")
	require.NoError(t, a.close())
}

// TestFollowLogsFindsExecutorsInTheArchive checks that executors are found if only the container
// list in HDFS names them.
func TestFollowLogsFindsExecutorsInTheArchive(t *testing.T) {
	root, id := archived(t, "indexed-gz", "bucket-logs-ifile/0001")
	f := newFakeYARN(t)
	f.other = id
	ended := succeeded()
	ended["user"], ended["logAggregationStatus"] = "ann", "SUCCEEDED"
	f.reports = []map[string]any{ended}
	f.attempts = fmt.Sprintf(`{"id":1,"appAttemptId":"appattempt_1","containerId":"container%s_01_000001","nodeHttpAddress":%q}`,
		strings.TrimPrefix(id, "application"), f.address())
	cluster := f.cluster(map[string]string{"yarn.nodemanager.remote-app-log-dir": root, "yarn.log-aggregation-enable": "true"})
	lines := map[string]int{}
	require.NoError(t, cluster.followLogs(context.Background(), &follower{id: id, console: client.NewConsole(io.Discard), pause: 1, write: func(line Line) error {
		lines[line.Executor+" "+line.File]++
		return nil
	}}))
	require.Equal(t, 301, lines["1 task-0-0.out"])
	require.Equal(t, 301, lines["1 task-1-0.out"])
}

// In TestFollowLogsContinuesInTheArchive, the nodes remove logs before the logs are read to the
// end.
func TestFollowLogsContinuesInTheArchive(t *testing.T) {
	root, id := archived(t, "tfile-gz", "bucket-logs-tfile/0001")
	f := newFakeYARN(t)
	f.other = id
	ended := succeeded()
	ended["user"], ended["logAggregationStatus"] = "ann", "SUCCEEDED"
	f.reports = []map[string]any{running(), running(), ended}
	container := "container" + strings.TrimPrefix(id, "application") + "_01_000001"
	executor := strings.TrimSuffix(container, "1") + "2"
	f.attempts = fmt.Sprintf(`{"id":1,"appAttemptId":"appattempt_1","containerId":%q,"nodeHttpAddress":%q}`, container, f.address())
	f.containers["appattempt_1"] = fmt.Sprintf(`[{"containerId":%q,"nodeHttpAddress":"http://%s"}]`, executor, f.address())
	f.files[executor+"/task-0-0.out"] = "to stderr\nline 1 of task 0\nline 2 of"
	cluster := f.cluster(map[string]string{"yarn.nodemanager.remote-app-log-dir": root, "yarn.log-aggregation-enable": "true"})
	seen := map[string]int{}
	err := cluster.followLogs(context.Background(), &follower{id: id, console: client.NewConsole(io.Discard), pause: 1, write: func(line Line) error {
		seen[line.Executor+" "+line.File+" "+line.Text]++
		f.mu.Lock()
		clear(f.files)
		f.mu.Unlock()
		return nil
	}})
	require.NoError(t, err)
	for task := range 2 {
		for line := range 300 {
			require.Equal(t, 1, seen[fmt.Sprintf("1 task-%d-0.out line %d of task %d", task, line+1, task)]+
				seen[fmt.Sprintf(" task-%d-0.out line %d of task %d", task, line+1, task)], "line %d of task %d", line+1, task)
		}
	}
}

// In TestFollowedLogsMovedWhileTheyAreReadAreComplete, a node lists only some files, after it has
// moved all files to HDFS.
func TestFollowedLogsMovedWhileTheyAreReadAreComplete(t *testing.T) {
	m := newMoved(t)
	m.moveLogs()
	m.containers["appattempt_1"] = fmt.Sprintf(`[{"containerId":%q,"nodeHttpAddress":"http://%s"}]`, m.executor, m.address())
	m.grow(m.master+"/stdout", "")
	m.grow(m.executor+"/task-1-0.out", m.task(1)[:len("to stderr\nline 1 of task 1\n")])
	cluster := m.cluster(map[string]string{"yarn.nodemanager.remote-app-log-dir": m.root, "yarn.log-aggregation-enable": "true"})
	text := map[string]string{}
	require.NoError(t, cluster.followLogs(t.Context(), &follower{id: m.other, console: client.NewConsole(io.Discard), pause: 1, write: func(line Line) error {
		text[line.File] += line.Text + "\n"
		return nil
	}}))
	require.Equal(t, m.task(0), text["task-0-0.out"])
	require.Equal(t, m.task(1), text["task-1-0.out"])
}
