package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	"github.com/bobbin-yarn/bobbin/standalone/master"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// runMaster runs the command master until the test ends, and returns its first line of output.
func runMaster(t *testing.T, arguments ...string) string {
	read, written := io.Pipe()
	c := newMaster(terminal{stdout: written, console: client.NewConsole(io.Discard)})
	c.SetArgs(append([]string{"--host", "127.0.0.1", "--port", "0", "--web-port", "-1", "--work-dir", t.TempDir()}, arguments...))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		err := c.ExecuteContext(ctx)
		_ = written.Close()
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	line, err := bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

func TestMasterPrintsItsURL(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	state := filepath.Join(t.TempDir(), "state")
	url := runMaster(t, "--conf", "recovery.mode=FILESYSTEM", "--conf", "recovery.directory="+state)
	addresses, err := masterurl.ParseStandalone(url)
	require.NoError(t, err)
	credentials, err := protocol.Load(config.Default())
	require.NoError(t, err, "the master has made the secret")
	connection, err := grpc.NewClient(addresses[0], credentials.DialOptions()...)
	require.NoError(t, err)
	defer func() { require.NoError(t, connection.Close()) }()
	require.Eventually(t, func() bool {
		reply, err := protocol.NewClusterClient(connection).Status(t.Context(), &protocol.StatusRequest{})
		var shown master.Status
		return err == nil && json.Unmarshal(reply.GetJson(), &shown) == nil && shown.Phase == cluster.PhaseAlive
	}, time.Minute, 10*time.Millisecond)
	require.DirExists(t, state)
}

func TestMasterRefusesWrongOptions(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for want, arguments := range map[string][]string{
		"--port 70000":              {"--port", "70000"},
		"--web-port -2":             {"--web-port", "-2"},
		"want key=value":            {"--conf", "x"},
		"recovery.directory":        {"--conf", "recovery.mode=FILESYSTEM"},
		"nobody can reach":          {"--host", "0.0.0.0"},
		"authenticate.secret (from": {"--conf", "authenticate.secret=short"},
	} {
		c := newMaster(terminal{stdout: io.Discard, console: client.NewConsole(io.Discard)})
		c.SetArgs(append([]string{"--host", "127.0.0.1", "--port", "0", "--web-port", "0"}, arguments...))
		c.SilenceErrors, c.SilenceUsage = true, true
		require.ErrorContains(t, c.ExecuteContext(t.Context()), want)
	}
}

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{"127.0.1.1": true, "::1": true, "192.0.2.1": false, "no host": false} {
		require.Equal(t, want, isLoopback(t.Context(), host), host)
	}
}
