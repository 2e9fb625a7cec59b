//go:build integration

package kerberos

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
)

// keepOthersOut submits as alice an application that bob must neither see nor kill.
func (s *kerberosCluster) testOtherUsersAreRefused(t *testing.T) {
	r := s.run(t, "submit", "--detach", "--num-executors", "1", s.programs+"/pi", "9000000")
	require.Equal(t, 0, r.code, r.stderr)
	s.submitted++
	id := strings.TrimSpace(r.stdout)
	_, number, _ := strings.Cut(id, "_")
	require.Eventually(t, func() bool { // the nodes have the logs
		r = s.run(t, "logs", id)
		return r.code == 0 && strings.Contains(r.stdout, "container_"+number)
	}, time.Minute, 200*time.Millisecond, "%+v", &r)
	asBob := []string{"BOBBIN_KERBEROS_PRINCIPAL=" + cluster.Bob, "BOBBIN_KERBEROS_KEYTAB=" + s.Keytab(cluster.Bob)}
	for _, command := range []string{"kill", "logs"} {
		r = s.runWith(t, asBob, command, id)
		assert.Equal(t, 3, r.code, r.stderr)
		assert.Contains(t, r.stderr, "bob", command)
		assert.Empty(t, r.stdout)
	}
	status := func(environment []string) (report struct{ User, State, TrackingURL string }) {
		r := s.runWith(t, environment, "status", "--json", id)
		require.Equal(t, 0, r.code, r.stderr)
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &report))
		return report
	}
	assert.NotEmpty(t, status(nil).TrackingURL)
	assert.Empty(t, status(asBob).TrackingURL, "bob sees no more than that it runs")
	if s.options.SPNEGO {
		s.testOtherUsersSeeNoPages(t, id)
	}
	r = s.run(t, "kill", id)
	require.Equal(t, 0, r.code, r.stderr)
	r = s.run(t, "list", "--json")
	require.Equal(t, 0, r.code, r.stderr)
	var listed []struct{ ApplicationID, User, State string }
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &listed))
	require.Len(t, listed, s.submitted)
	for _, application := range listed {
		require.Equal(t, cluster.Alice, application.User)
	}
}

// keepOthersOffPages asks web servers about alice's running application as bob.
func (s *kerberosCluster) testOtherUsersSeeNoPages(t *testing.T, id string) {
	ask := func(user, method, address, body string) (status int, content string) {
		login, err := kerberos.Open(t.Context(), kerberos.Options{Principal: user, Keytab: s.Keytab(user), Config: s.Kerberos().Config()})
		require.NoError(t, err)
		defer login.Close()
		request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		response, err := (&http.Client{Transport: login.RoundTripper(http.DefaultTransport)}).Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(text)
	}
	manager := "http://" + s.ResourceManager().Address(cluster.HTTP)
	apps := manager + "/ws/v1/cluster/apps/" + id
	code, text := ask(cluster.Bob, http.MethodPut, apps+"/state", `{"state":"KILLED"}`)
	assert.Equal(t, http.StatusForbidden, code, text)
	_, text = ask(cluster.Alice, http.MethodGet, apps, "")
	assert.Contains(t, text, "amContainerLogs")
	var seen struct {
		App struct{ AMContainerLogs string }
	}
	require.NoError(t, json.Unmarshal([]byte(text), &seen))
	_, text = ask(cluster.Bob, http.MethodGet, apps, "")
	assert.NotContains(t, text, "amContainerLogs")

	// The page, by the proxy.
	for _, path := range []string{"/", "/api/status"} {
		code, text = ask(cluster.Alice, http.MethodGet, manager+"/proxy/"+id+path, "")
		assert.Equal(t, http.StatusOK, code, text)
		code, text = ask(cluster.Bob, http.MethodGet, manager+"/proxy/"+id+path, "")
		assert.Equal(t, http.StatusForbidden, code, text)
		assert.Contains(t, text, `the user "bob" may not see this application`)
	}
	// The logs on the node.
	logs := seen.App.AMContainerLogs + "/stderr/?start=0"
	code, text = ask(cluster.Alice, http.MethodGet, logs, "")
	assert.Equal(t, http.StatusOK, code, text)
	_, text = ask(cluster.Bob, http.MethodGet, logs, "")
	assert.Contains(t, text, "User [bob] is not authorized to view the logs")
}
