package page

import (
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/allocator"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/profiling"
	"github.com/bobbin-yarn/bobbin/internal/ui"
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
				BindAddress: "127.0.0.1", Owner: "owner", Settings: settings, Snapshot: events.NewModel(events.Limits{}).Snapshot, ActiveRM: func() int { return 0 }, Logger: slog.New(slog.DiscardHandler),
				Hadoop: conf.FromMap(map[string]string{"yarn.resourcemanager.hostname": test.manager}),
			})
			require.NoError(t, err)
			defer server.Close()
			for _, path := range []string{"", "?page=job&id=3", "?asset=ui.js", StatusPath, "metrics", profiling.Path, "?page=profile&type=heap&seconds=1", "else"} {
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
		Executors:  allocator.ExecutorCounts{Requested: 2, Running: 1, Decommissioning: 1, MaxFailures: 4},
		Failures:   []allocator.FailureCount{{Reason: "beyond its memory", Count: 3, CountsAsFailure: true, Last: "executor 7 was killed"}},
		Exclusions: []allocator.Exclusion{{Host: "bad1", Reason: "2 executors failed there", Until: &until}},
		Notes:      []string{"no other node is left"},
		Tasks:      TaskCounts{Total: 16, Done: 4},
		TaskSets: []TaskSetCounts{{ID: 73, Name: "count", Description: "the words", Group: "nightly", Pool: "urgent", State: "running", TaskCounts: TaskCounts{Total: 16, Done: 4},
			Counters: map[string]int64{"words": 77}, Metrics: driver.Metrics{RunNanos: 1_540_000_000, BytesRead: 5 << 20}}},
		Details: []ExecutorDetail{{ID: "1", Host: "a1", LogURLs: map[string]string{"stderr": "http://a1/logs"}, ResidentBytes: 30 << 20}},
	}
	model := events.NewModel(events.Limits{})
	model.Consume(&events.Batch{Events: []events.Event{&events.ApplicationStarted{Time: events.At(until), ID: "application_1_0001", Name: "nightly counts"}}})
	pages := ui.New(ui.Options{Snapshot: model.Snapshot})
	server, err := serve("127.0.0.1", func(page http.Handler) http.Handler { return page }, Options{
		Status:  func() Status { return status },
		Metrics: func(set *metrics.Set) { MetricTable.AddTo(set, allocator.Status{Failures: status.Failures}) },
	}, nil, pages)
	require.NoError(t, err)
	defer server.Close()

	page, kind := get(t, server.URL("127.0.0.1"))
	require.Contains(t, kind, "text/html")
	require.Contains(t, page, "nightly counts")

	document, kind := get(t, server.URL("127.0.0.1")+StatusPath)
	require.Equal(t, "application/json", kind)
	var again Status
	require.NoError(t, json.Unmarshal([]byte(document), &again))
	require.Equal(t, status, again)

	values, kind := get(t, server.URL("127.0.0.1")+"metrics")
	require.Equal(t, "text/plain; version=0.0.4; charset=utf-8", kind)
	require.Contains(t, values, "\nbobbin_executors_ended_total{reason=\"beyond its memory\"} 3\n")

	posted, err := http.Post(server.URL("127.0.0.1"), "text/plain", nil)
	require.NoError(t, err)
	defer posted.Body.Close()
	require.Equal(t, http.StatusMethodNotAllowed, posted.StatusCode)
}

func TestWhoMayKill(t *testing.T) {
	for name, test := range map[string]struct {
		settings, hadoop map[string]string
		allowed, refused []string
	}{
		"no lists":                       {nil, nil, []string{"owner", "stranger", ""}, nil},
		"no lists, YARN has its own":     {nil, map[string]string{"yarn.acl.enable": "true"}, []string{"owner"}, []string{"stranger", "", "dr.who"}},
		"lists":                          {map[string]string{"acls.enable": "true", "ui.view.acls": "viewer,ender", "modify.acls": "ender", "admin.acls": "chief"}, nil, []string{"owner", "ender", "chief"}, []string{"viewer", "stranger", ""}},
		"lists of all, YARN has its own": {map[string]string{"acls.enable": "true", "ui.view.acls": "*", "modify.acls": "*"}, map[string]string{"yarn.acl.enable": "true"}, []string{"stranger"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			settings, err := config.FromMap(test.settings)
			require.NoError(t, err)
			hadoop := map[string]string{"yarn.resourcemanager.webapp.address": "127.0.0.1:80"}
			maps.Copy(hadoop, test.hadoop)
			killed := make(chan string, 1)
			server, err := Serve(Options{
				BindAddress: "127.0.0.1", Owner: "owner", Settings: settings, ActiveRM: func() int { return 0 }, Logger: slog.New(slog.DiscardHandler),
				Hadoop: conf.FromMap(hadoop), Snapshot: events.NewModel(events.Limits{}).Snapshot, Kill: func(user string) { killed <- user },
			})
			require.NoError(t, err)
			defer server.Close()
			send := func(method, user, origin, query, body string) (int, string) {
				request, err := http.NewRequest(method, server.URL("127.0.0.1")+query, strings.NewReader(body))
				require.NoError(t, err)
				request.AddCookie(&http.Cookie{Name: proxyUserCookie, Value: url.QueryEscape(user)})
				request.Header.Set("Origin", origin)
				answer, err := http.DefaultClient.Do(request)
				require.NoError(t, err)
				defer answer.Body.Close()
				content, err := io.ReadAll(answer.Body)
				require.NoError(t, err)
				return answer.StatusCode, string(content)
			}
			tokenOf := func(user string) string {
				_, page := send(http.MethodGet, user, "", "", "")
				_, after, _ := strings.Cut(page, `data-token="`)
				token, _, _ := strings.Cut(after, `"`)
				return token
			}
			for _, user := range test.refused {
				require.NotRegexp(t, "^[0-9a-f]{64}$", tokenOf(user), user)
				code, _ := send(http.MethodPut, user, "http://127.0.0.1", "?action=kill", tokenOf("owner"))
				require.Equal(t, http.StatusForbidden, code, user)
			}
			for _, user := range test.allowed {
				code, _ := send(http.MethodPut, user, "http://elsewhere", "?action=kill", tokenOf(user))
				require.Equal(t, http.StatusForbidden, code)
				require.Empty(t, killed)
				code, text := send(http.MethodPut, user, "http://127.0.0.1", "?action=kill", tokenOf(user))
				require.Equal(t, http.StatusOK, code, text)
				require.Equal(t, user, <-killed)
			}
		})
	}
}

func TestWhoMaySeeThePageOfASecureCluster(t *testing.T) {
	secure := map[string]string{"hadoop.security.authentication": "kerberos", "yarn.acl.enable": "true"}
	for name, test := range map[string]struct {
		settings, hadoop map[string]string
		allowed, refused []string
	}{
		"YARN's lists are off": {nil, map[string]string{"hadoop.security.authentication": "kerberos"}, []string{"owner", "stranger", ""}, nil},
		// The proxy sends the name dr.who for every user whom it does not authenticate.
		"no lists":         {nil, secure, []string{"owner", "dr.who"}, []string{"stranger", ""}},
		"lists":            {map[string]string{"acls.enable": "true", "ui.view.acls": "viewer"}, secure, []string{"owner", "viewer"}, []string{"stranger", "", "dr.who"}},
		"without Kerberos": {nil, map[string]string{"yarn.acl.enable": "true"}, []string{"owner", "stranger", ""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			settings, err := config.FromMap(test.settings)
			require.NoError(t, err)
			hadoop := map[string]string{"yarn.resourcemanager.webapp.address": "127.0.0.1:80"}
			maps.Copy(hadoop, test.hadoop)
			server, err := Serve(Options{
				BindAddress: "127.0.0.1", Owner: "owner", Settings: settings, ActiveRM: func() int { return 0 }, Logger: slog.New(slog.DiscardHandler),
				Hadoop: conf.FromMap(hadoop), Snapshot: events.NewModel(events.Limits{}).Snapshot,
			})
			require.NoError(t, err)
			defer server.Close()
			see := func(user string) int {
				request, err := http.NewRequest(http.MethodGet, server.URL("127.0.0.1"), nil)
				require.NoError(t, err)
				request.AddCookie(&http.Cookie{Name: proxyUserCookie, Value: url.QueryEscape(user)})
				answer, err := http.DefaultClient.Do(request)
				require.NoError(t, err)
				defer answer.Body.Close()
				return answer.StatusCode
			}
			for _, user := range test.allowed {
				require.Equal(t, http.StatusOK, see(user), user)
			}
			for _, user := range test.refused {
				require.Equal(t, http.StatusForbidden, see(user), user)
			}
		})
	}
}
