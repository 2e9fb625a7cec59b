//go:build integration

package browser

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRequestsOfThePreviousPageDoNotCount opens a page while the previous page still sends
// requests: the server answers the request for the second page only after another one of the
// first page.
func TestRequestsOfThePreviousPageDoNotCount(t *testing.T) {
	polled := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/first":
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, `<script>setInterval(() => fetch("/poll"), 10)</script>`)
		case "/poll":
			select {
			case polled <- struct{}{}:
			default:
			}
		case "/second":
			<-polled
		}
	}))
	defer server.Close()
	b := open(t)
	require.NoError(t, b.Open(t.Context(), server.URL+"/first"))
	assert.Contains(t, b.Requests(), server.URL+"/first")
	require.NoError(t, b.Open(t.Context(), server.URL+"/second"))
	assert.Contains(t, b.Requests(), server.URL+"/second")
	assert.NotContains(t, b.Requests(), server.URL+"/poll")
}
