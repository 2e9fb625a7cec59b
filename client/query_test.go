package client

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStatusOfAnApplicationThatIsOver(t *testing.T) {
	f := newFakeYARN(t)
	f.life = []map[string]any{{"state": "FAILED", "finalStatus": "FAILED", "diagnostics": killedAM, "startedTime": 1700000000000, "finishedTime": 1700000009000}}
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
	f.life = []map[string]any{running()}
	report, err := f.cluster(nil).Kill(context.Background(), fakeID)
	require.NoError(t, err)
	require.Equal(t, "KILLED", report.State)
	require.Equal(t, "killed by user ann: yarn-submit kill", report.Message)
}

func TestListRefusesAStateThatIsNone(t *testing.T) {
	_, err := newFakeYARN(t).cluster(nil).List(context.Background(), Selection{States: []string{"DONE"}})
	require.ErrorContains(t, err, "DONE")
	require.Equal(t, ExitUsage, ExitCode(err))
}
