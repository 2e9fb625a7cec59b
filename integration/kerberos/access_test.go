//go:build kerberos

package kerberos

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
	"github.com/bobbin-yarn/bobbin/storage"
)

// Users in the access control lists of alice's application: viewer may view it, modifier may
// kill it.
const (
	viewer   = "vera"
	modifier = "max"
)

// as returns the environment variables with which yarn-submit runs as a user.
func (s *kerberosCluster) as(user string) []string {
	return []string{"BOBBIN_KERBEROS_PRINCIPAL=" + user, "BOBBIN_KERBEROS_KEYTAB=" + s.Keytab(user)}
}

// testOtherUsersAreRefused submits an application as alice. The viewer may view it and the
// modifier may kill it. bob may do neither.
func (s *kerberosCluster) testOtherUsersAreRefused(t *testing.T) {
	for _, user := range []string{viewer, modifier} {
		require.NoError(t, s.Kerberos().AddKeytab(t.Context(), s.Keytab(user), user))
	}
	r := s.run(t, "submit", "--detach", "--num-executors", "1", "--conf", "acls.enable=true", "--conf", "ui.view.acls="+viewer, "--conf", "modify.acls="+modifier,
		s.programs+"/pi", "9000000")
	require.Equal(t, 0, r.code, r.stderr)
	s.submitted++
	id := strings.TrimSpace(r.stdout)
	_, number, _ := strings.Cut(id, "_")
	require.Eventually(t, func() bool { // until the NodeManagers have the logs
		r = s.run(t, "logs", id)
		return r.code == 0 && strings.Contains(r.stdout, "container_"+number)
	}, testTimeout, 200*time.Millisecond, "%+v", &r)
	for _, refused := range []struct{ user, command string }{{cluster.Bob, "kill"}, {cluster.Bob, "logs"}, {viewer, "kill"}} {
		r = s.runWith(t, s.as(refused.user), refused.command, id)
		assert.Equal(t, 3, r.code, r.stderr)
		assert.Contains(t, r.stderr, refused.user, refused.command)
		assert.Empty(t, r.stdout)
	}
	r = s.runWith(t, s.as(viewer), "logs", id)
	assert.Equal(t, 0, r.code, r.stderr)
	assert.Contains(t, r.stdout, "container_"+number)
	status := func(environment []string) (report struct{ User, State, TrackingURL string }) {
		r := s.runWith(t, environment, "status", "--json", id)
		require.Equal(t, 0, r.code, r.stderr)
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &report))
		return report
	}
	assert.NotEmpty(t, status(nil).TrackingURL)
	assert.NotEmpty(t, status(s.as(viewer)).TrackingURL)
	assert.Empty(t, status(s.as(cluster.Bob)).TrackingURL, "bob sees no more than that it runs")
	if s.options.SPNEGO {
		s.testOtherUsersSeeNoPages(t, id)
	}
	if s.options.YARN[httpsPolicyKey] != "" {
		s.testPageByHTTPS(t, id)
	} else if !s.options.HTTPS {
		s.testPageByHTTP(t, id)
	}
	r = s.runWith(t, s.as(modifier), "kill", id)
	require.Equal(t, 0, r.code, r.stderr)
	assert.Equal(t, "KILLED", status(nil).State)
	r = s.run(t, "list", "--json")
	require.Equal(t, 0, r.code, r.stderr)
	var listed []struct{ ApplicationID, User, State string }
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &listed))
	require.Len(t, listed, s.submitted)
	for _, application := range listed {
		require.Equal(t, cluster.Alice, application.User)
	}
}

// testOtherUsersSeeNoPages requests the pages of alice's running application from web servers
// as different users. bob must be refused.
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
	_, text = ask(viewer, http.MethodGet, apps, "")
	assert.Contains(t, text, "amContainerLogs")
	code, text = ask(viewer, http.MethodPut, apps+"/state", `{"state":"KILLED"}`)
	assert.Equal(t, http.StatusForbidden, code, text)
	_, text = ask(cluster.Bob, http.MethodGet, apps, "")
	assert.NotContains(t, text, "amContainerLogs")

	// The ApplicationMaster's page through the web proxy.
	for _, path := range []string{"/", "/api/status"} {
		for _, user := range []string{cluster.Alice, viewer} {
			code, text = ask(user, http.MethodGet, manager+"/proxy/"+id+path, "")
			assert.Equal(t, http.StatusOK, code, text)
		}
		code, text = ask(cluster.Bob, http.MethodGet, manager+"/proxy/"+id+path, "")
		assert.Equal(t, http.StatusForbidden, code, text)
		assert.Contains(t, text, `the user "bob" may not see this application`)
	}
	// The logs on the NodeManager.
	logs := seen.App.AMContainerLogs + "/stderr/?start=0"
	for _, user := range []string{cluster.Alice, viewer} {
		code, text = ask(user, http.MethodGet, logs, "")
		assert.Equal(t, http.StatusOK, code, text)
		assert.Contains(t, text, "serving the application's page")
	}
	_, text = ask(cluster.Bob, http.MethodGet, logs, "")
	assert.Contains(t, text, "User [bob] is not authorized to view the logs")
}

// testAggregatedLogsAreHidden checks that bob cannot read the logs of alice's finished
// application in HDFS.
func (s *kerberosCluster) testAggregatedLogsAreHidden(t *testing.T, id string) {
	directory := "/tmp/logs/alice/bucket-logs-tfile/" + id[len(id)-4:] + "/" + id
	files := s.filesOf(t, cluster.Alice)
	var logs []storage.Info
	require.Eventually(t, func() bool { // until the NodeManagers have moved the logs to HDFS
		var err error
		logs, err = files.List(t.Context(), directory)
		return err == nil && len(logs) > 0 && !slices.ContainsFunc(logs, func(log storage.Info) bool { return strings.HasSuffix(log.Name, ".tmp") })
	}, testTimeout, 200*time.Millisecond, "%s: %v", directory, &logs)
	for _, log := range logs {
		_, err := s.filesOf(t, cluster.Bob).Open(t.Context(), log.Path)
		assert.ErrorIs(t, err, fs.ErrPermission)
	}
	r := s.runWith(t, s.as(cluster.Bob), "logs", id)
	assert.Equal(t, 3, r.code, r.stderr)
	assert.Contains(t, r.stderr, cluster.Bob)
	assert.Empty(t, r.stdout)
}
