package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
)

// serveTeam runs the command history with flags that serve a directory of logs. It returns the
// server's address and the command's messages.
func serveTeam(t *testing.T, directory string, flags ...string) (url string, messages *bytes.Buffer) {
	t.Helper()
	messages = &bytes.Buffer{}
	console := client.NewConsole(messages)
	h, err := openHistoryIn(terminal{console: console}, "file://"+directory)
	require.NoError(t, err)
	c := &cobra.Command{}
	team := addTeamServer(c)
	require.NoError(t, c.ParseFlags(flags))
	require.NoError(t, team.check(nil))
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- team.serve(ctx, terminal{stdout: writer, console: console}, h) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		h.close()
	})
	printed := make([]byte, 200)
	n, err := reader.Read(printed)
	require.NoError(t, err)
	return strings.TrimSpace(string(printed[:n])), messages
}

func TestHistoryForATeam(t *testing.T) {
	directory := t.TempDir()
	writeLog(t, directory, "local-1", 1)
	url, messages := serveTeam(t, directory, "--listen", "127.0.0.1:0")
	require.NotContains(t, messages.String(), "--user-header")
	get := func(path, host string) (status int, content string) {
		request, err := http.NewRequest(http.MethodGet, url+path, nil)
		require.NoError(t, err)
		request.Host = host
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		read, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode, string(read)
	}
	status, index := get("", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, index, `href="local-1/1/"`)
	status, page := get("local-1/1/", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "no such file")
	status, _ = get("", "elsewhere.example")
	require.Equal(t, http.StatusForbidden, status, "a name that leads here may be another site's")
}

func TestHistoryForATeamBehindAProxy(t *testing.T) {
	directory := t.TempDir()
	writeLog(t, directory, "local-1", 1)
	url, _ := serveTeam(t, directory, "--listen", "127.0.0.1:0", "--user-header", "X-Remote-User")
	request, err := http.NewRequest(http.MethodGet, url, nil)
	require.NoError(t, err)
	request.Host = "history.example"
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode, "the proxy passes on the name by which readers know it")
}

func TestHistoryOpenToTheNetworkIsAWarning(t *testing.T) {
	_, messages := serveTeam(t, t.TempDir(), "--listen", "0.0.0.0:0")
	require.Contains(t, messages.String(), "see --user-header")
}

func TestFlagsOfATeamServer(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--listen", "nowhere"}, "want HOST:PORT"},
		{[]string{"--listen", "127.0.0.1:0", "local-1"}, "leave out the application-id"},
		{[]string{"--user-header", "X"}, "give --listen, too"},
		{[]string{"--listen", "127.0.0.1:0", "--trusted-proxies", "proxy"}, "want IP addresses"},
	} {
		code, _, stderr := run(append([]string{"history", "--dir", "file://" + t.TempDir()}, test.args...)...)
		require.Equal(t, client.ExitUsage, code, test.args)
		require.Contains(t, stderr, test.want)
	}
}
