package role

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/supervise"
)

func TestDriverAddresses(t *testing.T) {
	for name, test := range map[string]struct {
		manager    string
		settings   map[string]string
		host, bind string
	}{
		"towards the ResourceManager": {manager: "127.0.0.1", host: "127.0.0.1", bind: "127.0.0.1"},
		"as set":                      {manager: "127.0.0.1", settings: map[string]string{"driver.host": "outside"}, host: "outside", bind: "outside"},
		"behind another machine": {
			manager: "127.0.0.1", settings: map[string]string{"driver.host": "outside", "driver.bindAddress": "10.0.0.1"}, host: "outside", bind: "10.0.0.1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			site := fmt.Sprintf("<configuration><property><name>yarn.resourcemanager.hostname</name><value>%s</value></property></configuration>", test.manager)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(site), 0o600))
			t.Setenv("HADOOP_CONF_DIR", dir)
			settings, err := config.FromMap(test.settings)
			require.NoError(t, err)
			cluster, err := client.Connect(settings, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			defer cluster.Close()
			host, bind, err := (&clientMode{settings: settings, cluster: cluster}).addresses(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{test.host, test.bind}, []string{host, bind})
		})
	}
}

func TestDriverThatCannotListenNamesSettings(t *testing.T) {
	settings := config.Default()
	mode := &clientMode{settings: settings, host: "outside", bind: "192.0.2.1", terminal: logOnly(slog.New(slog.DiscardHandler))}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte("<configuration/>"), 0o600))
	t.Setenv("HADOOP_CONF_DIR", dir)
	var err error
	mode.cluster, err = client.Connect(settings, mode.logger)
	require.NoError(t, err)
	defer mode.cluster.Close()
	_, err = mode.startDriver("application_1_0001", nil)
	require.ErrorContains(t, err, "192.0.2.1")
	require.ErrorContains(t, err, "driver.bindAddress")
	require.Equal(t, client.ExitUsage, client.ExitCode(err))
}

func TestExitStatusInClientMode(t *testing.T) {
	failed := errors.New("application_1_0001 failed")
	// late returns the error of a driver function that ignored the end of its context, and returns
	// err an hour later.
	late := func(err error) error {
		returned := make(chan error, 1)
		time.AfterFunc(time.Hour, func() { returned <- err })
		return &supervise.NotReturnedError{Cause: errApplicationOver, Returned: returned}
	}
	for name, test := range map[string]struct {
		exitOnError string
		outcome     error
		failure     func() error
		want        error
		status      int
		waited      time.Duration
	}{
		"success":                        {"true", nil, func() error { return nil }, nil, 0, 0},
		"failure":                        {"true", failed, func() error { return withStatus(7) }, failed, 7, 0},
		"killed":                         {"true", failed, func() error { return nil }, failed, 1, 0},
		"not returned":                   {"true", failed, func() error { return late(withStatus(7)) }, failed, 1, 0},
		"returned late":                  {"false", failed, func() error { return late(nil) }, failed, 1, time.Hour},
		"failed late":                    {"false", failed, func() error { return late(withStatus(7)) }, failed, 7, time.Hour},
		"lost by the cluster":            {"true", nil, func() error { return withStatus(7) }, withStatus(7), 7, 0},
		"lost by the cluster, and going": {"true", nil, func() error { return late(nil) }, errApplicationOver, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				settings, err := config.FromMap(map[string]string{"yarn.am.clientModeExitOnError": test.exitOnError})
				require.NoError(t, err)
				console := client.NewConsole(io.Discard)
				defer console.Close()
				began := time.Now()
				err = (&clientMode{settings: settings, terminal: &terminal{console: console}}).result(t.Context(), test.outcome, test.failure())
				require.Equal(t, test.waited, time.Since(began))
				if test.want == nil {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, test.want)
				var ended *failedApplication
				require.ErrorAs(t, err, &ended)
				require.Equal(t, test.status, ended.status)
			})
		})
	}
}

func TestInterruptedProgramDoesNotWaitForDriverFunction(t *testing.T) {
	settings, err := config.FromMap(map[string]string{"yarn.am.clientModeExitOnError": "false"})
	require.NoError(t, err)
	console := client.NewConsole(io.Discard)
	defer console.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	killed := errors.New("application_1_0001 was killed")
	err = (&clientMode{settings: settings, terminal: &terminal{console: console}}).result(ctx, killed, &supervise.NotReturnedError{Cause: context.Canceled})
	require.ErrorIs(t, err, killed)
}

func TestMutedLogger(t *testing.T) {
	var logged bytes.Buffer
	console := client.NewConsole(&logged)
	defer console.Close()
	shown := &terminal{console: console}
	shown.setLogger(config.Default())
	logger := shown.logger.With("a", 1)
	logger.Info("not a problem")
	logger.Warn("before")
	shown.mute()
	logger.Error("after")
	require.Contains(t, logged.String(), "before")
	require.NotContains(t, logged.String(), "after")
	require.NotContains(t, logged.String(), "not a problem")
}

func TestExitStatusOfDriverFunction(t *testing.T) {
	require.Equal(t, 1, exitStatus(errors.New("x")))
	require.Equal(t, 7, exitStatus(fmt.Errorf("wrapped: %w", withStatus(7))))
}

type withStatus int

func (w withStatus) Error() string   { return "status" }
func (w withStatus) ExitStatus() int { return int(w) }
