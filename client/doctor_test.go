package client

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

func TestDoctorWithoutACluster(t *testing.T) {
	t.Setenv("HADOOP_CONF_DIR", t.TempDir())
	findings := RunDoctor(t.Context(), config.Default(), slog.New(slog.DiscardHandler))
	require.Len(t, findings, 1)
	require.Equal(t, "configuration", findings[0].Check)
	require.Equal(t, LevelProblem, findings[0].Level)
	require.Contains(t, findings[0].Remedy, "HADOOP_CONF_DIR")
}

func TestDoctorFindsWhatDoesNotAnswer(t *testing.T) {
	f := newFakeYARN(t) // serves REST requests, but no RPCs
	e := &doctorRun{cluster: f.cluster(map[string]string{"yarn.resourcemanager.address": "127.0.0.1:1"}), settings: config.Default(), log: slog.New(slog.DiscardHandler)}
	e.hadoop = e.cluster.hadoop
	e.managers(t.Context())
	e.queues(t.Context())
	levels := map[string]string{}
	for _, finding := range e.findings {
		require.Equal(t, finding.Level == LevelOK, finding.Remedy == "", "%+v", finding)
		levels[finding.Check] = finding.Level
	}
	require.Equal(t, LevelProblem, levels["ResourceManager 127.0.0.1:1"], "%+v", e.findings)
	require.Equal(t, LevelOK, levels["REST API "+f.address()])
	require.Equal(t, LevelOK, levels["clock"])
	require.Equal(t, LevelOK, levels["queues"])
	require.Equal(t, LevelOK, levels["nodes"])
}

func TestDoctorSaysWhetherTheProxyUserIsPermitted(t *testing.T) {
	f := newFakeYARN(t)
	refused := errors.New("User: gateway is not allowed to impersonate bob")
	for name, test := range map[string]struct {
		run   doctorRun
		level string
		want  string // expected part of the result
	}{
		"permitted":  {doctorRun{accepted: 2}, LevelOK, "gateway acts for bob, which 2 daemons permit"},
		"refused":    {doctorRun{accepted: 1, impersonation: refused}, LevelProblem, "is not allowed to impersonate bob"},
		"no answers": {doctorRun{}, LevelProblem, "no daemon has answered"},
	} {
		t.Run(name, func(t *testing.T) {
			test.run.cluster = f.cluster(nil)
			test.run.cluster.identity = &Identity{User: "bob", real: "gateway", secure: true}
			test.run.proxyUser()
			require.Len(t, test.run.findings, 1)
			finding := test.run.findings[0]
			require.Equal(t, test.level, finding.Level)
			require.Contains(t, finding.Result, test.want)
			require.Equal(t, test.level == LevelOK, finding.Remedy == "")
			if test.level == LevelProblem {
				require.Equal(t, "hadoop.proxyuser.gateway.users", finding.Key)
			}
		})
	}
}

func TestDoctorComparesClocks(t *testing.T) {
	f := newFakeYARN(t)
	for difference, want := range map[time.Duration]string{0: LevelOK, -20 * time.Second: LevelOK, time.Minute: LevelWarning, -10 * time.Minute: LevelProblem} {
		e := &doctorRun{cluster: f.cluster(nil)}
		e.cluster.identity = &Identity{secure: true}
		e.clock("rm", difference)
		require.Equal(t, want, e.findings[0].Level, difference)
	}
}

func TestDoctorWritesAndReadsABlock(t *testing.T) {
	f := newFakeYARN(t) // the default file system is the local disk
	settings, err := config.FromMap(map[string]string{"yarn.stagingDir": "file://" + t.TempDir()})
	require.NoError(t, err)
	e := &doctorRun{cluster: f.cluster(nil), settings: settings, log: slog.New(slog.DiscardHandler)}
	e.hadoop = e.cluster.hadoop
	e.fileSystem(t.Context())
	require.Len(t, e.findings, 2, "there are no delegation tokens")
	require.Equal(t, Finding{Check: "block", Level: LevelOK, Result: "written and read; dfs.data.transfer.protection is not set"}, e.findings[1])
	files := e.cluster.OpenFileSystems()
	defer files.Close()
	left, err := files.List(t.Context(), config.StagingDir.In(settings)+"/"+e.cluster.user+"/.bobbin")
	require.NoError(t, err)
	require.Empty(t, left)

	e.findings = nil
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	e.block(ended, files, t.TempDir())
	require.Equal(t, LevelProblem, e.findings[0].Level)
	require.Equal(t, "dfs.data.transfer.protection", e.findings[0].Key)
	require.Contains(t, e.findings[0].Remedy, "reach the datanodes")
}

func TestDoctorFindsNodesThatDoNotAnswer(t *testing.T) {
	f := newFakeYARN(t)
	e := &doctorRun{cluster: f.cluster(nil)}
	e.nodeManagers(t.Context(), []yarnrest.Node{{HTTPAddress: f.address()}})
	require.Equal(t, LevelOK, e.findings[0].Level, "%+v", e.findings)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	e.nodeManagers(ended, []yarnrest.Node{{HTTPAddress: f.address()}, {HTTPAddress: "127.0.0.1:1"}})
	require.Equal(t, LevelWarning, e.findings[1].Level)
	require.Contains(t, e.findings[1].Result, "2 of 2 asked do not answer")
	require.Equal(t, "yarn.nodemanager.webapp.address", e.findings[1].Key)
}
