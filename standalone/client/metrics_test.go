package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

func TestMetricTargets(t *testing.T) {
	m, s := startFakeMaster(t,
		cluster.WorkerStatus{ID: "w1", Host: "a1", WebURL: "http://a1:8081", State: cluster.WorkerAlive},
		cluster.WorkerStatus{ID: "w2", Host: "a2", WebURL: "http://a2:8081", State: cluster.WorkerDead})
	m.webURL = "http://m:8080/"
	m.status.Applications = []cluster.ApplicationStatus{{ID: "app-1", Name: "counts", User: "ann", WebURL: "http://a1:4040/secret/"}, {ID: "app-2"}}
	targets, err := s.MetricTargets(t.Context())
	require.NoError(t, err)
	require.Equal(t, []client.MetricTarget{
		{Targets: []string{"m:8080"}, Labels: map[string]string{"__scheme__": "http", "__metrics_path__": "/metrics", "process": "master"}},
		{Targets: []string{"a1:8081"}, Labels: map[string]string{"__scheme__": "http", "__metrics_path__": "/metrics", "process": "worker", "host": "a1"}},
		{Targets: []string{"a1:4040"}, Labels: map[string]string{
			"__scheme__": "http", "__metrics_path__": "/secret/metrics", "process": "driver", "application_id": "app-1", "application": "counts", "user": "ann",
		}},
	}, targets)
}

func TestProfileOfADriversApplication(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /secret/api/profile", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("executor") != "" {
			http.Error(w, "no executor 9 is registered", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "a profile: "+r.URL.RawQuery)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	m, s := startFakeMaster(t)
	m.status.Applications = []cluster.ApplicationStatus{{ID: "app-1", WebURL: server.URL + "/secret/"}, {ID: "app-2"}}
	m.replies = []*protocol.DriverReply{{DriverId: "driver-1", WebUrl: server.URL + "/secret/"}}
	for _, id := range []string{"app-1", "driver-1"} {
		profile, err := s.Profile(t.Context(), id, client.ProfileOptions{Type: "heap", Duration: time.Second})
		require.NoError(t, err)
		require.Equal(t, "a profile: seconds=1&type=heap", string(profile))
	}
	_, err := s.Profile(t.Context(), "app-1", client.ProfileOptions{Type: "heap", Duration: time.Second, Executor: "9"})
	require.ErrorContains(t, err, "the driver refuses: no executor 9 is registered")
	require.Equal(t, client.ExitCluster, client.ExitCode(err))
	_, err = s.Profile(t.Context(), "app-2", client.ProfileOptions{Type: "heap"})
	require.ErrorContains(t, err, "the driver of app-2 serves no profiles to this machine")
	require.Equal(t, client.ExitUsage, client.ExitCode(err))
}
