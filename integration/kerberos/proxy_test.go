//go:build kerberos

package kerberos

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// testProxyUser submits as the gateway, which may impersonate alice and not bob.
func (s *kerberosCluster) testProxyUser(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache")
	require.NoError(t, s.Kerberos().Init(t.Context(), cache, cluster.Gateway, cluster.Password))
	gateway := []string{"KRB5CCNAME=FILE:" + cache}
	files := s.filesOf(t, cluster.Alice)

	out := "/user/alice/out-gateway"
	r := s.runWith(t, gateway, "submit", "--proxy-user", cluster.Alice, "--num-executors", "1", s.programs+"/wordcount", "/user/alice/text", out)
	require.Equal(t, 0, r.code, r.stderr)
	infos, err := files.List(t.Context(), out)
	require.NoError(t, err)
	require.NotEmpty(t, infos)
	for _, info := range infos {
		require.Equal(t, cluster.Alice, info.Owner)
	}
	forAlice := append(gateway, "BOBBIN_SUBMIT_PROXY_USER="+cluster.Alice)
	r = s.runWith(t, forAlice, "list", "--limit", "0", "--json")
	require.Equal(t, 0, r.code, r.stderr)
	require.NotContains(t, r.stdout, `"user": "gateway"`)

	for _, mode := range []string{"cluster", "client"} {
		r = s.runWith(t, gateway, "submit", "--deploy-mode", mode, "--proxy-user", cluster.Bob, s.programs+"/pi", "4")
		require.Equal(t, 3, r.code, r.stderr)
		require.Contains(t, r.stderr, "is not allowed to impersonate bob")
		require.Contains(t, r.stderr, "hadoop.proxyuser.gateway.users")
		require.NotContains(t, r.stderr, "uploaded")
	}
	r = s.runWith(t, gateway, "submit", "--proxy-user", cluster.Alice, "--principal", cluster.Gateway, "--keytab", s.Keytab(cluster.Gateway), s.programs+"/pi", "4")
	require.Equal(t, 2, r.code, r.stderr)
	require.Contains(t, r.stderr, "do not go together")
	if !s.options.SPNEGO {
		s.testCommandsOfProxyUser(t, forAlice)
	}
}

// testCommandsOfProxyUser runs commands as the gateway for alice. environment is that of the
// gateway. The web servers must not ask for tickets, as they would know the gateway only.
func (s *kerberosCluster) testCommandsOfProxyUser(t *testing.T, environment []string) {
	command := func(args ...string) (stdout string) {
		t.Helper()
		r := s.runWith(t, environment, args...)
		require.Equal(t, 0, r.code, "%v: %s", args, r.stderr)
		return strings.TrimSpace(r.stdout)
	}
	require.Contains(t, command("submit", "--deploy-mode", "client", "--num-executors", "1", s.programs+"/pi", "4"), "Pi is roughly 3.")

	id := command("run", "--detach", "--num-executors", "1", "--tasks", "1", "--", "echo", "said")
	command("wait", id)
	require.Contains(t, command("logs", id), "said")
	var status struct{ User, State string }
	require.NoError(t, json.Unmarshal([]byte(command("status", "--json", id)), &status))
	require.Equal(t, cluster.Alice+" FINISHED", status.User+" "+status.State)

	id = command("submit", "--detach", "--num-executors", "1", s.programs+"/pi", "9000000")
	command("kill", id)
	require.NoError(t, json.Unmarshal([]byte(command("status", "--json", id)), &status))
	require.Equal(t, cluster.Alice+" KILLED", status.User+" "+status.State)

	local := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(local, []byte("of the gateway"), 0o600))
	command("fs", "put", local, "/user/alice/put")
	require.Equal(t, "of the gateway", command("fs", "cat", "/user/alice/put"))
	info, err := s.filesOf(t, cluster.Alice).Stat(t.Context(), "/user/alice/put")
	require.NoError(t, err)
	require.Equal(t, cluster.Alice, info.Owner)
}
