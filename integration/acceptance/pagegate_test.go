//go:build integration

package acceptance

import (
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

var pageAddressInLog = regexp.MustCompile(`msg="serving the application's page" url=(http://\S+/)`)

// TestPageRefusesRequestsThatBypassTheProxy sends requests for pages directly to the
// ApplicationMaster, not through the ResourceManager's web proxy. The ApplicationMaster
// redirects each request to the proxy, whatever the request's headers are, except requests from
// the proxy's host. On a cluster on loopback, all requests are from the proxy's host.
func TestPageRefusesRequestsThatBypassTheProxy(t *testing.T) {
	t.Parallel()
	_, id := startWaiting(t)
	logs := yarnSubmit(t, "logs", id)
	require.Equal(t, 0, logs.code, logs.stderr)
	found := pageAddressInLog.FindStringSubmatch(logs.stdout)
	require.NotNil(t, found, logs.stdout)
	own := found[1]
	proxy := shared.hadoop.ResourceManager().Address(cluster.HTTP)
	host, _, err := net.SplitHostPort(proxy)
	require.NoError(t, err)
	elsewhere := !net.ParseIP(host).IsLoopback()

	direct := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, path := range []string{"?page=jobs", "api/status", "metrics", "api/profile?type=heap&seconds=1&driver=true", "?action=kill"} {
		method := http.MethodGet
		if path == "?action=kill" {
			method = http.MethodPut
		}
		request, err := http.NewRequestWithContext(t.Context(), method, own+path, nil)
		require.NoError(t, err)
		request.Header.Set("Cookie", "proxy-user="+currentUser(t)) // the proxy adds this cookie
		request.Header.Set("X-Forwarded-For", host)
		answer, err := direct.Do(request)
		require.NoError(t, err)
		content, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		switch {
		case !elsewhere && method == http.MethodGet:
			assert.Equal(t, http.StatusOK, answer.StatusCode, path)
			continue
		case !elsewhere:
			assert.Equal(t, http.StatusForbidden, answer.StatusCode, "the request has no token")
			continue
		}
		assert.Equal(t, http.StatusFound, answer.StatusCode, path)
		assert.Equal(t, "http://"+proxy+"/proxy/redirect/"+id+"/"+path, answer.Header.Get("Location"))
		assert.Less(t, len(content), 300, "only the link")
	}
	answer, err := http.Get(own + "?page=jobs") // follows the redirection
	require.NoError(t, err)
	content, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	assert.Equal(t, http.StatusOK, answer.StatusCode)
	assert.Contains(t, string(content), id)
	if elsewhere {
		assert.True(t, strings.HasPrefix(answer.Request.URL.String(), "http://"+proxy+"/proxy/"), "%s", answer.Request.URL)
	}
	assert.Equal(t, yarnrest.StateRunning, application(t, id).State)
}
