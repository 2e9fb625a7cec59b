package client

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMetricTargets(t *testing.T) {
	f := newFakeYARN(t)
	cluster := f.cluster(nil)
	targets, err := cluster.MetricTargets(t.Context())
	require.NoError(t, err)
	require.Equal(t, []MetricTarget{}, targets, "JSON needs a list")

	f.listed = []map[string]any{
		{"id": fakeID, "name": "count", "user": "ann", "queue": "default", "state": "RUNNING", "trackingUrl": "https://rm:8090/proxy/" + fakeID + "/"},
		{"id": "application_1700000000000_0002", "name": "hidden", "state": "RUNNING"},
	}
	targets, err = cluster.MetricTargets(t.Context())
	require.NoError(t, err)
	require.Equal(t, []MetricTarget{{Targets: []string{"rm:8090"}, Labels: map[string]string{
		"__scheme__": "https", "__metrics_path__": "/proxy/" + fakeID + "/metrics",
		"application_id": fakeID, "application": "count", "user": "ann", "queue": "default",
	}}}, targets)
	require.Equal(t, "RUNNING", f.asked[1].Get("states"))
}
