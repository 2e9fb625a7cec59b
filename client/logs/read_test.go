package logs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
)

// withLogs returns a cluster with an application of two attempts. The node does not know the first
// attempt any more. The second attempt has an executor that has ended, and a running executor that
// is not in the container list.
func withLogs(t *testing.T) *fakeYARN {
	f := newFakeYARN(t)
	f.reports = []map[string]any{running()}
	f.attempts = fmt.Sprintf(`[{"id":1,"appAttemptId":"appattempt_1","containerId":"container_1_01","nodeHttpAddress":%q},`+
		`{"id":2,"appAttemptId":"appattempt_2","containerId":"container_2_01","nodeHttpAddress":%[1]q}]`, f.address())
	f.containers["appattempt_2"] = fmt.Sprintf(`[{"containerId":"container_2_01","nodeHttpAddress":"http://%s"},{"containerId":"container_2_03","nodeHttpAddress":"http://%[1]s"}]`, f.address())
	f.files["container_2_01/stdout"] = "driver's\n"
	f.files["container_2_01/launch_container.sh"] = "#!"
	f.files["container_2_01/containers.jsonl"] = fmt.Sprintf(`{"container":"container_2_02","executor":"1","host":"h","nodeHttpAddress":%q,"state":"started"}`+"\n"+
		`{"container":"container_2_02","executor":"1","nodeHttpAddress":%[1]q,"state":"completed","exitStatus":-105}`+"\n"+`{"contai`, f.address())
	f.files["container_2_02/stderr"] = "one\ntwo\nthree"
	f.files["container_2_03/stderr"] = strings.Repeat("a longer line than most\n", 2000)
	return f
}

// read calls Logs and returns one string for each file that Logs has passed on.
func read(t *testing.T, f *fakeYARN, selection Selection, hadoop map[string]string) (files []string, said string, err error) {
	t.Helper()
	out := &bytes.Buffer{}
	err = f.cluster(hadoop).Logs(context.Background(), fakeID, selection, client.NewConsole(out), func(file File, content io.Reader) error {
		text, err := io.ReadAll(content)
		if len(text) > 60 {
			text = fmt.Appendf(nil, "%d bytes", len(text))
		}
		files = append(files, fmt.Sprintf("%s %s %s %d %s: %s", file.Container, file.Executor, file.Name, file.Attempt, file.Host, text))
		return err
	})
	return files, out.String(), err
}

func TestLogsOfAllContainers(t *testing.T) {
	f := withLogs(t)
	files, said, err := read(t, f, Selection{}, nil)
	require.NoError(t, err, said)
	at := f.address()
	require.Equal(t, []string{
		"container_2_01 driver stdout 2 " + at + ": driver's\n",
		"container_2_02 1 stderr 2 " + at + ": one\ntwo\nthree",
		"container_2_03  stderr 2 " + at + ": 48000 bytes",
	}, files)
	require.Contains(t, said, "warning: no logs of container_1_01: "+at+" has removed them, or the container never started (Unknown container)")

	_, said, err = read(t, f, Selection{}, map[string]string{"yarn.log-aggregation-enable": "true", "yarn.nodemanager.remote-app-log-dir": t.TempDir()})
	require.NoError(t, err)
	require.Contains(t, said, "neither "+at+" nor HDFS below /")
}

func TestLogsOfOneContainer(t *testing.T) {
	f := withLogs(t)
	files, _, err := read(t, f, Selection{Container: "container_2_02", Tail: 2}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"container_2_02 1 stderr 2 " + f.address() + ": two\nthree"}, files)

	_, _, err = read(t, f, Selection{Container: "container_9"}, nil)
	require.ErrorContains(t, err, "no container container_9")
}

func TestLogsTail(t *testing.T) {
	f := withLogs(t)
	var lines int
	for _, tail := range []int{1, 2, 1999, 2000, 3000} {
		err := f.cluster(nil).Logs(context.Background(), fakeID, Selection{Container: "container_2_03", Tail: tail}, client.NewConsole(io.Discard),
			func(_ File, content io.Reader) error {
				text, err := io.ReadAll(content)
				lines = strings.Count(string(text), "a longer line than most\n")
				return err
			})
		require.NoError(t, err)
		require.Equal(t, min(tail, 2000), lines)
	}
}

func TestLogsFailIfThereAreNone(t *testing.T) {
	f := newFakeYARN(t)
	f.reports = []map[string]any{running()}
	_, _, err := read(t, f, Selection{}, nil)
	require.ErrorContains(t, err, "no container yet")
	require.Equal(t, client.ExitCluster, client.ExitCode(err))

	// The node of the only container does not answer.
	f.attempts = `{"id":1,"appAttemptId":"appattempt_1","containerId":"container_1_01","nodeHttpAddress":"127.0.0.1:1"}`
	_, said, err := read(t, f, Selection{}, nil)
	require.ErrorContains(t, err, "no logs that could be read")
	require.Contains(t, said, "127.0.0.1:1")

	err = f.cluster(nil).Logs(context.Background(), "application_1", Selection{}, client.NewConsole(io.Discard), nil)
	require.ErrorContains(t, err, `"application_1" is no application id`)
	require.Equal(t, client.ExitUsage, client.ExitCode(err))
}
