//go:build integration

package kerberos

import (
	"path/filepath"
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
}
