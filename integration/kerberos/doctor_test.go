//go:build integration

package kerberos

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// testDoctor runs `yarn-submit doctor` on a healthy cluster, with and without a login of the
// user.
func (s *kerberosCluster) testDoctor(t *testing.T) {
	arguments := []string{"doctor", "--json"}
	if s.options.HA {
		arguments = append(arguments, "--from-node")
		s.submitted++
	}
	r := s.run(t, arguments...)
	require.Equal(t, 0, r.code, r.stdout+r.stderr)
	var findings []client.Finding
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &findings))
	found := map[string]string{}
	for _, finding := range findings {
		require.NotEqual(t, client.LevelProblem, finding.Level, "%+v", finding)
		found[finding.Check] += finding.Result + "\n"
	}
	require.Contains(t, found["login"], "alice@BOBBIN.TEST")
	require.Contains(t, found["login"], cmp.Or(s.options.Encryption, "aes256-cts-hmac-sha1-96"))
	require.Contains(t, found["krb5.conf"], s.Kerberos().Address)
	require.Contains(t, found["delegation token"], "its renewer is rm")
	require.Contains(t, found["block"], "written and read")
	require.Contains(t, found["NodeManagers"], "answer")
	if s.options.HA {
		require.Contains(t, found["from a node"], "has written and read a block in HDFS")
		require.Contains(t, found["from a node"], "a container reaches this machine at ")
	}
	rest := "answers any reader"
	if s.options.SPNEGO {
		rest = "asks for Kerberos (SPNEGO), and accepts alice@BOBBIN.TEST"
	}
	require.Contains(t, found["REST API "+s.ResourceManager().Address(cluster.HTTP)], rest)
	protection := "auth"
	switch configured := s.options.Core["hadoop.rpc.protection"]; {
	case strings.Contains(configured, "privacy"):
		protection = "auth-conf"
	case configured == "integrity":
		protection = "auth-int"
	}
	for _, daemon := range []string{"NameNode " + s.NameNode().Address(cluster.RPC), "ResourceManager " + s.ResourceManager().Address(cluster.RPC)} {
		require.Contains(t, found[daemon], "answers with Kerberos, protection "+protection)
	}

	r = s.runWith(t, []string{"KRB5CCNAME=FILE:/nonexistent"}, "doctor")
	require.Equal(t, 3, r.code, r.stderr)
	require.Regexp(t, `(?m)^PROBLEM +login +no Kerberos ticket: .*run kinit`, r.stdout)
}
