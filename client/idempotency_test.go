package client

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
)

const otherID = "application_1700000000000_0002"

// keyed returns an element of a list of applications: an application of this user with a key.
func keyed(t *testing.T, id, key, state string, started int64) map[string]any {
	t.Helper()
	user, err := security.CurrentUser()
	require.NoError(t, err)
	status := map[string]string{"FINISHED": "SUCCEEDED", "FAILED": "FAILED", "KILLED": "KILLED"}[state]
	return map[string]any{"id": id, "user": user.Effective, "state": state, "finalStatus": status, "startedTime": started, "applicationTags": tagOf(key)}
}

func TestTagOfAKey(t *testing.T) {
	require.Equal(t, "bobbin-key:pipeline-7/step.1", tagOf("pipeline-7/step.1"))
	require.Empty(t, tagOf(""))
	tags := map[string]bool{}
	for _, key := range []string{"A", "a b", "ä", "a,b", strings.Repeat("x", 200), "a\n"} {
		tag := tagOf(key)
		require.Regexp(t, `^bobbin-key-sha256:[0-9a-f]{64}$`, tag)
		require.False(t, tags[tag])
		tags[tag] = true
	}
	require.NotEqual(t, tagOf("a"), tagOf("A"), "the ResourceManager writes tags in lower case")
}

func TestSubmitFollowsTheApplicationOfItsKey(t *testing.T) {
	for name, listed := range map[string][]map[string]any{
		"that runs":                             {keyed(t, fakeID, "k", "RUNNING", 5)},
		"the first of two, beside what is over": {keyed(t, otherID, "k", "RUNNING", 7), keyed(t, "application_1_0009", "k", "FINISHED", 1), keyed(t, fakeID, "k", "ACCEPTED", 5)},
		"that is over, the last one":            {keyed(t, otherID, "k", "FINISHED", 5), keyed(t, fakeID, "k", "FINISHED", 7), keyed(t, "application_1_0009", "k", "KILLED", 8)},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeYARN(t)
			f.listed = listed
			f.reports = []map[string]any{succeeded()}
			b := newBench(t, f, map[string]string{"yarn.submit.idempotencyKey": "k"})
			var ids []string
			b.job.Submitted = func(id string) { ids = append(ids, id) }
			report, err := b.cluster.Submit(context.Background(), b.job)
			require.NoError(t, err)
			require.Equal(t, fakeID, report.ApplicationID)
			require.Equal(t, []string{fakeID}, ids)
			require.Nil(t, f.submitted)
			require.Contains(t, b.output.String(), fakeID+" was submitted with the same idempotency key")
		})
	}
}

func TestSubmitTagsAnApplicationWithItsKey(t *testing.T) {
	for name, listed := range map[string][]map[string]any{
		"none before":     nil,
		"one was killed":  {keyed(t, otherID, "k", "KILLED", 5)},
		"one failed":      {keyed(t, otherID, "k", "FAILED", 5)},
		"one of another":  {keyed(t, otherID, "other", "RUNNING", 5)},
		"one of somebody": {{"id": otherID, "user": "somebody", "state": "RUNNING", "startedTime": 5, "applicationTags": tagOf("k")}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeYARN(t)
			f.listed = listed
			f.listedAfter = append(listed, keyed(t, fakeID, "k", "ACCEPTED", 9), keyed(t, "application_1700000000000_0003", "k", "ACCEPTED", 10))
			f.reports = []map[string]any{succeeded()}
			b := newBench(t, f, map[string]string{"yarn.submit.idempotencyKey": "k", "yarn.tags": "a"})
			report, err := b.cluster.Submit(context.Background(), b.job)
			require.NoError(t, err)
			require.Equal(t, fakeID, report.ApplicationID)
			require.Equal(t, map[string]any{"tag": []any{"a", "bobbin-key:k"}}, f.submitted["application-tags"])
			require.Empty(t, f.killed, "who came later gives way")
		})
	}
}

func TestSubmitGivesWayToAnEarlierApplicationOfItsKey(t *testing.T) {
	f := newFakeYARN(t)
	f.listedAfter = []map[string]any{keyed(t, fakeID, "k", "ACCEPTED", 9), keyed(t, otherID, "k", "RUNNING", 8)}
	f.other = otherID
	f.reports = []map[string]any{succeeded()}
	b := newBench(t, f, map[string]string{"yarn.submit.idempotencyKey": "k"})
	var ids []string
	b.job.Submitted = func(id string) { ids = append(ids, id) }
	report, err := b.cluster.Submit(context.Background(), b.job)
	require.NoError(t, err)
	require.Equal(t, otherID, report.ApplicationID)
	require.Equal(t, []string{otherID}, ids)
	require.Equal(t, "gives way to "+otherID+", which was submitted before with the same idempotency key", f.killed)
	require.Empty(t, tree(t, b.staging))
}

func TestKeyNeedsClusterMode(t *testing.T) {
	b := newBench(t, newFakeYARN(t), map[string]string{"yarn.submit.idempotencyKey": "k", "submit.deployMode": "client"})
	_, err := b.cluster.Start(context.Background(), b.job)
	require.ErrorContains(t, err, "cluster mode")
	require.Equal(t, ExitUsage, ExitCode(err))
}
