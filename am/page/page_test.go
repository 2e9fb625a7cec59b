package page

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/allocator"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
)

func get(t *testing.T, url string) (body, contentType string) {
	t.Helper()
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	content, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(content), response.Header.Get("Content-Type")
}

func TestAStatusIsReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taken := 0
		shown := &statusCache{take: func() Status {
			taken++
			return Status{Attempt: taken}
		}}
		var readers sync.WaitGroup
		for range 100 {
			readers.Go(func() { assert.Equal(t, 1, shown.latest().Attempt) })
		}
		readers.Wait()
		time.Sleep(maxAge)
		require.Equal(t, 2, shown.latest().Attempt)
	})
}

func TestThePageIsRestricted(t *testing.T) {
	for name, test := range map[string]struct {
		manager string
		status  int
	}{
		"the proxy is elsewhere":           {"192.0.2.1", http.StatusFound},
		"the proxy does not name its user": {"127.0.0.1", http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			settings, err := config.FromMap(map[string]string{"acls.enable": "true"})
			require.NoError(t, err)
			server, err := Serve(Options{
				BindAddress: "127.0.0.1", Owner: "owner", Settings: settings, ActiveRM: func() int { return 0 }, Logger: slog.New(slog.DiscardHandler),
				Hadoop: conf.FromMap(map[string]string{"yarn.resourcemanager.hostname": test.manager}),
			})
			require.NoError(t, err)
			defer server.Close()
			for _, path := range []string{"", StatusPath, "else"} {
				response, err := http.DefaultTransport.RoundTrip(httptest.NewRequest(http.MethodGet, server.URL("127.0.0.1")+path, nil))
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
				require.Equal(t, test.status, response.StatusCode, path)
			}
		})
	}
}

func TestTheTrackingURLShowsTheStatus(t *testing.T) {
	until := time.Unix(3600, 0).UTC()
	status := Status{
		Application: "application_1_0001", Name: "<script>", Started: time.Unix(0, 0).UTC(),
		Executors:  allocator.Counts{Requested: 2, Running: 1, Decommissioning: 1, MaxFailures: 4},
		Failures:   []allocator.FailureCount{{Reason: "beyond its memory", Count: 3, Counts: true, Last: "executor 7 was killed"}},
		Exclusions: []allocator.Exclusion{{Host: "bad1", Reason: "2 executors failed there", Until: &until}},
		Notes:      []string{"no other node is left"},
		Tasks:      TaskCounts{Total: 16, Done: 4},
		TaskSets: []TaskSetCounts{{ID: 73, Name: "count", Description: "the words", Group: "nightly", Pool: "urgent", State: "running", TaskCounts: TaskCounts{Total: 16, Done: 4},
			Counters: map[string]int64{"words": 77}, Metrics: driver.Metrics{RunNanos: 1_540_000_000, BytesRead: 5 << 20}}},
		Details: []ExecutorDetail{{ID: "1", Host: "a1", LogURLs: map[string]string{"stderr": "http://a1/logs"}, ResidentBytes: 30 << 20}},
	}
	server, err := serve("127.0.0.1", func(page http.Handler) http.Handler { return page }, func() Status { return status })
	require.NoError(t, err)
	defer server.Close()

	page, kind := get(t, server.URL("127.0.0.1"))
	require.Contains(t, kind, "text/html")
	require.Contains(t, page, "4 of 16 tasks done")
	require.Contains(t, page, "http://a1/logs")
	for _, shown := range []string{"beyond its memory", "executor 7 was killed", "bad1", "1970-01-01 01:00:00", "no other node is left",
		"<td class=\"n\">73</td><td>count: the words</td><td>nightly</td><td>urgent</td>",
		"words 77", "<td class=\"n\">1.5</td><td class=\"n\">5</td>"} {
		require.Contains(t, page, shown)
	}
	require.NotContains(t, page, "<script>", "names are the user's, and are escaped")

	document, kind := get(t, server.URL("127.0.0.1")+StatusPath)
	require.Equal(t, "application/json", kind)
	var again Status
	require.NoError(t, json.Unmarshal([]byte(document), &again))
	require.Equal(t, status, again)

	posted, err := http.Post(server.URL("127.0.0.1"), "text/plain", nil)
	require.NoError(t, err)
	defer posted.Body.Close()
	require.Equal(t, http.StatusMethodNotAllowed, posted.StatusCode, "nothing can be changed through it")
}
