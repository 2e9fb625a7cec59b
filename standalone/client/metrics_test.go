package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
)

func TestMetricTargets(t *testing.T) {
	m, s := startFakeMaster(t,
		cluster.WorkerStatus{ID: "w1", Host: "a1", WebURL: "http://a1:8081", State: cluster.WorkerAlive},
		cluster.WorkerStatus{ID: "w2", Host: "a2", WebURL: "http://a2:8081", State: cluster.WorkerDead})
	m.webURL = "http://m:8080/"
	targets, err := s.MetricTargets(t.Context())
	require.NoError(t, err)
	require.Equal(t, []client.MetricTarget{
		{Targets: []string{"m:8080"}, Labels: map[string]string{"__scheme__": "http", "__metrics_path__": "/metrics", "process": "master"}},
		{Targets: []string{"a1:8081"}, Labels: map[string]string{"__scheme__": "http", "__metrics_path__": "/metrics", "process": "worker", "host": "a1"}},
	}, targets)
}
