package ui

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/ui/uitest"
)

// The fixtures of package uitest, which other packages use too.
var (
	later      = uitest.Later
	at, plain  = uitest.At, uitest.Plain
	busy       = uitest.Busy
	everyPage  = uitest.EveryPage
	snapshotOf = uitest.Snapshot
	hostile    = uitest.Hostile
)

func micros64(seconds float64) events.Micros { return events.MicrosOf(at(seconds).Time) }

// of returns a handler of the pages of s, whose current time is later.
func of(s *events.Snapshot) *Pages {
	return New(Options{Snapshot: func() *events.Snapshot { return s }, Now: func() time.Time { return later }})
}

func ask(p http.Handler, method, query, body string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	p.ServeHTTP(answer, httptest.NewRequest(method, "/?"+query, strings.NewReader(body)))
	return answer
}

// open requests a page and returns it as parsed HTML and as text.
func open(t *testing.T, p http.Handler, query string) (*html.Node, string) {
	t.Helper()
	answer := ask(p, http.MethodGet, query, "")
	require.Equal(t, http.StatusOK, answer.Code, query)
	document, err := html.Parse(strings.NewReader(answer.Body.String()))
	require.NoError(t, err)
	return document, textOf(document)
}

// textOf returns the text of an element, with white space reduced to single spaces.
func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
