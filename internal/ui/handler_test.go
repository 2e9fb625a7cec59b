package ui

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestResponses checks that responses meet the requirements of YARN's web proxy, and that
// browsers load nothing from other servers.
func TestResponses(t *testing.T) {
	pages := of(snapshotOf(busy(plain)))
	for query, want := range map[string]struct {
		status      int
		contentType string
	}{
		"":                       {http.StatusOK, "text/html; charset=utf-8"},
		"page=job&id=1":          {http.StatusOK, "text/html; charset=utf-8"},
		"page=job&id=77":         {http.StatusNotFound, "text/html; charset=utf-8"},
		"page=job&id=-1":         {http.StatusNotFound, "text/html; charset=utf-8"},
		"page=task&set=1":        {http.StatusNotFound, "text/html; charset=utf-8"},
		"page=nothing":           {http.StatusNotFound, "text/html; charset=utf-8"},
		"asset=ui.css":           {http.StatusOK, "text/css; charset=utf-8"},
		"asset=ui.js":            {http.StatusOK, "text/javascript; charset=utf-8"},
		"asset=icon.svg":         {http.StatusOK, "image/svg+xml"},
		"asset=../page.html":     {http.StatusNotFound, "text/plain; charset=utf-8"},
		"asset=page.html":        {http.StatusNotFound, "text/plain; charset=utf-8"},
		"events=1":               {http.StatusNotFound, "text/plain; charset=utf-8"},
		"page=jobs&jobs.sort=%%": {http.StatusOK, "text/html; charset=utf-8"},
	} {
		answer := ask(pages, http.MethodGet, query, "")
		require.Equal(t, want.status, answer.Code, query)
		require.Equal(t, want.contentType, answer.Header().Get("Content-Type"), query)
		require.NotEmpty(t, answer.Body.String(), query)
		require.Equal(t, policy, answer.Header().Get("Content-Security-Policy"), query)
		require.Equal(t, "nosniff", answer.Header().Get("X-Content-Type-Options"), query)
		if want.status == http.StatusOK {
			require.Equal(t, fmt.Sprint(answer.Body.Len()), answer.Header().Get("Content-Length"), query)
		}
	}
	require.NotContains(t, policy, "unsafe")
	for _, method := range []string{http.MethodPost, http.MethodDelete, http.MethodOptions} {
		require.Equal(t, http.StatusMethodNotAllowed, ask(pages, method, "", "").Code, method)
	}
}

func TestAPageIsSentOnlyIfItHasChanged(t *testing.T) {
	model := events.NewModel(events.Limits{})
	model.Consume(busy(plain))
	pages := New(Options{Snapshot: model.Snapshot, Now: func() time.Time { return later }})
	version := func(query string) string {
		document, _ := open(t, pages, query)
		for n := range document.Descendants() {
			if n.Type == html.ElementNode && n.Data == "html" {
				return attribute(n, "data-version")
			}
		}
		return ""
	}
	first := version("page=jobs")
	require.NotEmpty(t, first)
	same := ask(pages, http.MethodGet, "page=jobs&since="+first, "").Body.String()
	require.Less(t, len(same), 200)
	require.Contains(t, same, `data-version="`+first+`"`)

	model.Consume(&events.Batch{Events: []events.Event{&events.JobEnded{Time: at(601), Job: 8, State: events.StateCancelled}}})
	_, shown := open(t, pages, "page=jobs&since="+first)
	require.Contains(t, shown, "cancelled")
	require.NotEqual(t, first, version("page=jobs&since="+first))

	document, _ := open(t, pages, "page=jobs&since="+first)
	for n := range document.Descendants() {
		require.NotContains(t, attribute(n, "href"), "since")
	}
}

func TestARunningTasksTimeIsRenewed(t *testing.T) {
	now := later
	snapshot := snapshotOf(busy(plain))
	pages := New(Options{Snapshot: func() *events.Snapshot { return snapshot }, Now: func() time.Time { return now }})
	before := version(snapshot, now, false)
	now = now.Add(renewal)
	require.NotEqual(t, before, version(snapshot, now, false))
	_, shown := open(t, pages, "page=stage&id=7&since="+before)
	require.Contains(t, shown, "8 min 30 s")
}

func TestAnEndedApplicationIsNotLive(t *testing.T) {
	b := busy(plain)
	b.Events = append(b.Events, &events.ApplicationEnded{Time: at(500), State: events.StateFailed, Error: "too many executors failed"})
	pages := New(Options{Snapshot: func() *events.Snapshot { return snapshotOf(b) }, Streams: true, Now: func() time.Time { return later },
		Kill: &Kill{User: func(*http.Request) (string, bool) { return "ann", true }}})
	answer := ask(pages, http.MethodGet, "", "").Body.String()
	require.Contains(t, answer, `data-live=""`)
	require.Contains(t, answer, "too many executors failed")
	require.NotContains(t, answer, "data-token")
}

func TestAHistoryIsLiveWhileItIsRead(t *testing.T) {
	b := busy(plain)
	b.Events = append(b.Events, &events.ApplicationEnded{Time: at(500), State: events.StateSucceeded})
	partial := true
	pages := New(Options{Snapshot: func() *events.Snapshot { return snapshotOf(b) }, Streams: true, Partial: func() bool { return partial }, Now: func() time.Time { return later }})
	loading := ask(pages, http.MethodGet, "", "").Body.String()
	require.Contains(t, loading, `data-live="stream"`)
	require.Contains(t, loading, "still being read")
	partial = false
	loaded := ask(pages, http.MethodGet, "", "").Body.String()
	require.Contains(t, loaded, `data-live=""`)
	require.NotContains(t, loaded, "still being read")
}

func TestAPageOfSeveralViewersIsRenderedOnce(t *testing.T) {
	snapshot := snapshotOf(busy(plain))
	var taken atomic.Int32
	pages := New(Options{Snapshot: func() *events.Snapshot { taken.Add(1); return snapshot }, Now: func() time.Time { return later }})
	first := ask(pages, http.MethodGet, "page=jobs", "").Body.Bytes()
	require.Equal(t, first, ask(pages, http.MethodGet, "page=jobs&since=x", "").Body.Bytes())
	require.Len(t, pages.rendered, 1)
	for i := range 2 * maxRenderings {
		ask(pages, http.MethodGet, fmt.Sprintf("page=jobs&n=%d", i), "")
	}
	require.LessOrEqual(t, len(pages.rendered), maxRenderings)
}

func TestAStreamSaysWhenThereIsSomethingNew(t *testing.T) {
	model := events.NewModel(events.Limits{})
	pages := New(Options{Snapshot: model.Snapshot, Streams: true, Now: func() time.Time { return later }})
	server := httptest.NewServer(pages)
	defer server.Close()
	defer pages.Close()
	answer, err := http.Get(server.URL + "/?events=1")
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	lines := bufio.NewScanner(answer.Body)
	message := func() string {
		for lines.Scan() {
			if line, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return line
			}
		}
		return ""
	}
	first := message()
	require.NotEmpty(t, first)
	model.Consume(busy(plain))
	require.NotEqual(t, first, message())
	pages.Close()
	require.Empty(t, message(), "the stream ends")
}

func TestKill(t *testing.T) {
	const own = "http://rm.example:8088"
	var killed []string
	pages := New(Options{
		Snapshot: func() *events.Snapshot { return snapshotOf(busy(plain)) }, Now: func() time.Time { return later },
		Kill: &Kill{
			User: func(r *http.Request) (string, bool) {
				user := r.Header.Get("User")
				return user, user == "ann" || user == "bob"
			},
			Origins: func() []string { return []string{own} },
			Do:      func(user string) { killed = append(killed, user) },
		},
	})
	send := func(method, query, user, origin, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/?"+query, strings.NewReader(body))
		r.Header.Set("User", user)
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		answer := httptest.NewRecorder()
		pages.ServeHTTP(answer, r)
		return answer
	}
	tokenIn := func(user string) string {
		_, after, found := strings.Cut(send(http.MethodGet, "", user, "", "").Body.String(), `data-token="`)
		if !found {
			return ""
		}
		token, _, _ := strings.Cut(after, `"`)
		return token
	}
	token := tokenIn("ann")
	require.Len(t, token, 64)
	require.NotEqual(t, token, tokenIn("bob"))
	require.Empty(t, tokenIn("viewer"))
	require.Empty(t, tokenIn(""))

	for name, test := range map[string]struct{ method, query, user, origin, body string }{
		"by GET":                   {http.MethodGet, "action=kill", "ann", own, token},
		"by POST":                  {http.MethodPost, "action=kill", "ann", own, token},
		"from a foreign origin":    {http.MethodPut, "action=kill", "ann", "http://evil.example", token},
		"from no origin":           {http.MethodPut, "action=kill", "ann", "null", token},
		"from another scheme":      {http.MethodPut, "action=kill", "ann", "https://rm.example:8088", token},
		"without a token":          {http.MethodPut, "action=kill", "ann", own, ""},
		"with a wrong token":       {http.MethodPut, "action=kill", "ann", own, strings.Repeat("0", 64)},
		"with a longer token":      {http.MethodPut, "action=kill", "ann", own, token + "0"},
		"with a huge body":         {http.MethodPut, "action=kill", "ann", own, token + strings.Repeat("0", 1<<20)},
		"with another user's":      {http.MethodPut, "action=kill", "bob", own, token},
		"with a token in the link": {http.MethodPut, "action=kill&token=" + token, "ann", own, ""},
		"by a viewer":              {http.MethodPut, "action=kill", "viewer", own, token},
		"by no user":               {http.MethodPut, "action=kill", "", own, token},
		"another action":           {http.MethodPut, "action=pause", "ann", own, token},
	} {
		answer := send(test.method, test.query, test.user, test.origin, test.body)
		if test.method != http.MethodGet {
			require.GreaterOrEqual(t, answer.Code, 400, name)
		}
		require.Empty(t, killed, name)
	}
	require.Equal(t, http.StatusOK, send(http.MethodPut, "action=kill", "ann", own, token).Code)
	require.Equal(t, http.StatusOK, send(http.MethodPut, "action=kill", "bob", "", tokenIn("bob")).Code, "a program sends no origin")
	require.Equal(t, []string{"ann", "bob"}, killed)

	require.Equal(t, http.StatusNotFound, ask(of(snapshotOf(busy(plain))), http.MethodPut, "action=kill", token).Code)
}

func TestLocalPages(t *testing.T) {
	pages := New(Options{Snapshot: func() *events.Snapshot { return snapshotOf(busy(plain)) }, Streams: true})
	server, err := ServeLocally(0, pages, nil)
	require.NoError(t, err)
	defer server.Close()
	for host, status := range map[string]int{
		"": http.StatusOK, "localhost": http.StatusOK, "localhost:80": http.StatusOK, "127.0.0.1": http.StatusOK, "[::1]:90": http.StatusOK,
		"evil.example": http.StatusForbidden, "evil.example:80": http.StatusForbidden, "192.0.2.1": http.StatusForbidden, "127.0.0.1.evil.example": http.StatusForbidden, "localhost.": http.StatusForbidden,
	} {
		request, err := http.NewRequest(http.MethodGet, server.URL(), nil)
		require.NoError(t, err)
		if host != "" {
			request.Host = host
		}
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, status, answer.StatusCode, host)
		require.Equal(t, status == http.StatusOK, strings.Contains(string(body), "nightly counts"), host)
	}
	address, err := url.Parse(server.URL())
	require.NoError(t, err)
	require.Greater(t, len(address.Path), 20, "nobody guesses it")
	for _, path := range []string{"/", "/other/", address.Path + "other"} {
		address.Path = path
		answer, err := http.Get(address.String())
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusNotFound, answer.StatusCode, path)
	}

	_, err = ServeLocally(-1, pages, nil)
	require.Error(t, err)
}

// TestAnOpenStreamDoesNotDelayClose tries again if Close needs its whole timeout, as it can on
// a busy machine.
func TestAnOpenStreamDoesNotDelayClose(t *testing.T) {
	took := closeTimeout
	for attempt := 0; took >= closeTimeout && attempt < 5; attempt++ {
		pages := New(Options{Snapshot: func() *events.Snapshot { return snapshotOf(busy(plain)) }, Streams: true})
		server, err := ServeLocally(0, pages, nil)
		require.NoError(t, err)
		stream, err := http.Get(server.URL() + "?events=1")
		require.NoError(t, err)
		began := time.Now()
		server.Close()
		took = time.Since(began)
		_, _ = io.Copy(io.Discard, stream.Body) // the stream may end within a message
		require.NoError(t, stream.Body.Close())
	}
	require.Less(t, took, closeTimeout)
}
