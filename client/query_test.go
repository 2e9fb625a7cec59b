package client

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
)

func TestStatusOfAnEndedApplication(t *testing.T) {
	f := newFakeYARN(t)
	f.reports = []map[string]any{{"state": "FAILED", "finalStatus": "FAILED", "diagnostics": killedAM, "startedTime": 1700000000000, "finishedTime": 1700000009000}}
	report, err := f.cluster(nil).Status(context.Background(), fakeID)
	require.NoError(t, err)
	require.Contains(t, report.Message, "exit status 137")
	out := &bytes.Buffer{}
	report.Write(out)
	for _, want := range []string{fakeID, "FAILED", "exit status 137", "2023-11-14"} {
		require.Contains(t, out.String(), want)
	}
	require.Contains(t, report.Times.line(), "finished 9.0s")
}

func TestStatusOfAnUnknownApplication(t *testing.T) {
	_, err := newFakeYARN(t).cluster(nil).Status(context.Background(), fakeID)
	require.ErrorContains(t, err, "does not know "+fakeID)
	require.Equal(t, ExitCluster, ExitCode(err))
	for _, id := range []string{"", "x", "application_1_1", "application_1700000000000_0001x", "job_1700000000000_0001"} {
		require.Equal(t, ExitUsage, ExitCode(CheckApplicationID(id)), id)
	}
}

func TestKillWaitsForTheEnd(t *testing.T) {
	f := newFakeYARN(t)
	f.reports = []map[string]any{running()}
	report, err := f.cluster(nil).Kill(context.Background(), fakeID)
	require.NoError(t, err)
	require.Equal(t, "KILLED", report.State)
	require.Equal(t, "killed by user ann: yarn-submit kill", report.Message)
}

func TestListRefusesAnUnknownState(t *testing.T) {
	_, err := newFakeYARN(t).cluster(nil).List(context.Background(), Selection{States: []string{"DONE"}})
	require.ErrorContains(t, err, "DONE")
	require.Equal(t, ExitUsage, ExitCode(err))
}

func TestListAsksForTheTypesOfTheUsersApplications(t *testing.T) {
	f := newFakeYARN(t)
	hadoop := conf.FromMap(map[string]string{"yarn.resourcemanager.webapp.address": f.address()})
	for own, want := range map[string]string{"NIGHTLY": "BOBBIN,NIGHTLY", "BOBBIN": "BOBBIN"} {
		settings, err := config.FromMap(map[string]string{"yarn.applicationType": own})
		require.NoError(t, err)
		cluster, err := newCluster(hadoop, settings, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		defer cluster.Close()
		_, err = cluster.List(context.Background(), Selection{})
		require.NoError(t, err)
		require.Equal(t, want, f.asked[len(f.asked)-1].Get("applicationTypes"))
	}
}
