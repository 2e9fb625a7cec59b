package client

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

func TestDoctorWithoutACluster(t *testing.T) {
	t.Setenv("HADOOP_CONF_DIR", t.TempDir())
	findings := Examine(t.Context(), config.Default(), slog.New(slog.DiscardHandler))
	require.Len(t, findings, 1)
	require.Equal(t, "configuration", findings[0].Check)
	require.Equal(t, LevelProblem, findings[0].Level)
	require.Contains(t, findings[0].Remedy, "HADOOP_CONF_DIR")
}

func TestDoctorFindsWhatDoesNotAnswer(t *testing.T) {
	f := newFakeYARN(t) // serves REST, and no RPC
	e := &examination{cluster: f.cluster(map[string]string{"yarn.resourcemanager.address": "127.0.0.1:1"}), settings: config.Default(), log: slog.New(slog.DiscardHandler)}
	e.hadoop = e.cluster.hadoop
	e.managers(t.Context())
	e.queues(t.Context())
	levels := map[string]string{}
	for _, finding := range e.findings {
		levels[finding.Check] = finding.Level
	}
	require.Equal(t, LevelProblem, levels["ResourceManager 127.0.0.1:1"], "%+v", e.findings)
	require.Equal(t, LevelOK, levels["REST API "+f.address()])
	require.Equal(t, LevelOK, levels["clock"])
	require.Equal(t, LevelOK, levels["queues"])
	require.Equal(t, LevelOK, levels["nodes"])
}

func TestDoctorComparesClocks(t *testing.T) {
	f := newFakeYARN(t)
	for difference, want := range map[time.Duration]string{0: LevelOK, -20 * time.Second: LevelOK, time.Minute: LevelWarning, -10 * time.Minute: LevelProblem} {
		e := &examination{cluster: f.cluster(nil)}
		e.cluster.identity = &Identity{secure: true}
		e.clock("rm", difference)
		require.Equal(t, want, e.findings[0].Level, difference)
	}
}
